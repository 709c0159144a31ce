package dev.platter.image;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** What is no disk of ours, and what nobody means when they name a raw disk. */
public final class ForeignFormat {
  /** How many bytes of a file tell, but of a tar, whose 257 come first. */
  public static final int LONGEST = 32;

  private static final String TAR = "ustar";
  private static final int TAR_AT = 257;

  private static final Map<String, String> STARTS = new LinkedHashMap<>();

  static {
    STARTS.put("KDMV", "a VMDK");
    STARTS.put("COWD", "a VMDK");
    STARTS.put("# Disk DescriptorFile", "a VMDK");
    STARTS.put("vhdxfile", "a VHDX");
    STARTS.put("conectix", "a VHD");
    STARTS.put("<<< ", "a VDI");
    STARTS.put("QED\0", "a QED");
    STARTS.put("\u001f\u008b", "packed with gzip");
    STARTS.put("\u00fd7zXZ\0", "packed with xz");
    STARTS.put("(\u00b5/\u00fd", "packed with zstd");
    for (var i = 'P'; i <= '_'; i++) { // frames to be skipped
      STARTS.put(i + "*M\u0018", "packed with zstd or LZ4");
    }
    STARTS.put("BZh", "packed with bzip2");
    STARTS.put("PK\u0003\u0004", "a ZIP archive");
  }

  private ForeignFormat() {}

  /** What a file with these first bytes is; empty if it can be a raw disk or a qcow2. */
  public static Optional<String> of(byte[] first) {
    var text = new String(first, StandardCharsets.ISO_8859_1);
    var lower = text.stripLeading().toLowerCase(Locale.ROOT);
    if (lower.startsWith("<!doctype html") || lower.startsWith("<html")) {
      return Optional.of("a web page");
    }
    if (text.startsWith(TAR, TAR_AT)) {
      return Optional.of("a tar archive");
    }
    return STARTS.entrySet().stream()
        .filter(start -> text.startsWith(start.getKey()))
        .map(Map.Entry::getValue)
        .findFirst();
  }
}

package dev.platter.image.tar;

import dev.platter.image.BadImageException;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads an archive front to back, holding at most one header and one long name in memory.
 *
 * <p>Understands ustar, GNU long names and binary sizes, and pax headers. Where tars disagree about
 * an odd archive it does as Go's {@code archive/tar}, since that is what container runtimes read
 * layers with: links and devices have no content whatever their size says, and an archive may end
 * without its zero blocks and without the padding of its last entry ({@code umoci insert} writes
 * such), but not inside a header or content. Refused: sparse files, and global pax headers that
 * rename or resize every entry, which no tool writes and readers treat differently.
 *
 * <p>What follows the end of the archive is not read, and the stream is not closed: both are the
 * caller's.
 */
public final class TarReader {
  /** The most a long name or a pax header may take. */
  static final int MAX_HEADER_DATA = 1 << 20;

  private final InputStream in;
  private final byte[] block = new byte[TarHeader.BLOCK];
  private final InputStream content = new Content();
  private long offset;
  private long remaining;
  private int padding;
  private boolean ended;
  private boolean marked;
  private byte[] entryBlock = new byte[0];
  private Map<String, String> entryPax = Map.of();
  private long entryAt;

  public TarReader(InputStream in) {
    this.in = in;
  }

  /** The next entry, after whatever is left of the one before; null at the end. */
  public @Nullable TarEntry next() throws IOException {
    if (ended) {
      return null;
    }
    skipRest();
    @Nullable String longName = null;
    @Nullable String longLink = null;
    Map<String, String> pax = Map.of();
    boolean pending = false;
    while (true) {
      long at = offset;
      if (!readHeaderBlock()) {
        if (pending) {
          throw new BadImageException("the tar ends after a header that belongs to an entry");
        }
        ended = true;
        return null;
      }
      TarHeader header = TarHeader.parse(block, at);
      switch (header.type()) {
        case 'L' -> longName = string(headerData(header, at));
        case 'K' -> longLink = string(headerData(header, at));
        case 'x' -> pax = PaxRecords.parse(headerData(header, at), at);
        case 'g' -> {
          if (PaxRecords.placeFiles(PaxRecords.parse(headerData(header, at), at))) {
            throw new BadImageException(
                "the pax header at byte " + at + " sets a name or size for all entries");
          }
        }
        case 'S' -> throw sparse(at);
        default -> {
          return entry(header, at, longName, longLink, pax);
        }
      }
      pending |= header.type() != 'g';
    }
  }

  /** The bytes of the current entry; ends where the entry ends. Valid until {@link #next}. */
  public InputStream content() {
    return content;
  }

  /**
   * Whether the end was that of an archive. Who cannot tell otherwise that nothing is missing has
   * to ask: one that was cut off between two entries ends without.
   */
  public boolean hasEnd() {
    return marked;
  }

  /** Who owns the current entry, and the like; who wants only the bytes need not ask. */
  public TarAttributes attributes() throws BadImageException {
    return TarAttributes.of(entryBlock, entryPax, entryAt);
  }

  /** Where in the archive the next byte is; after {@link #next}, the first of the content. */
  public long position() {
    return offset;
  }

  private TarEntry entry(
      TarHeader header,
      long at,
      @Nullable String longName,
      @Nullable String longLink,
      Map<String, String> pax)
      throws BadImageException {
    entryBlock = block.clone();
    entryPax = pax;
    entryAt = at;
    String written = prefer(pax.get("path"), longName, header.name());
    TarEntry.Type type = type(header.type(), written);
    String link =
        switch (type) {
          case HARD_LINK, SYMBOLIC_LINK -> prefer(pax.get("linkpath"), longLink, header.linkName());
          case FILE, DIRECTORY, OTHER -> "";
        };
    String name = TarEntry.normalise(written);
    String paxSize = pax.get("size");
    long size = paxSize == null || paxSize.isEmpty() ? header.size() : paxSize(paxSize, at);
    startContent(hasNoContent(header.type()) ? 0 : size);
    return new TarEntry(name, type, remaining, link);
  }

  private static TarEntry.Type type(char flag, String name) {
    return switch (flag) {
      // Before POSIX a directory was a file whose name ends in a slash.
      case '\0' -> name.endsWith("/") ? TarEntry.Type.DIRECTORY : TarEntry.Type.FILE;
      case '0', '7' -> TarEntry.Type.FILE;
      case '1' -> TarEntry.Type.HARD_LINK;
      case '2' -> TarEntry.Type.SYMBOLIC_LINK;
      case '5' -> TarEntry.Type.DIRECTORY;
      default -> TarEntry.Type.OTHER;
    };
  }

  private static boolean hasNoContent(char flag) {
    return flag >= '1' && flag <= '6';
  }

  private static String prefer(@Nullable String pax, @Nullable String gnu, String header) {
    if (pax != null && !pax.isEmpty()) {
      return pax;
    }
    return gnu != null ? gnu : header;
  }

  private static long paxSize(String value, long at) throws BadImageException {
    boolean digits = value.length() <= 16 && value.chars().allMatch(c -> c >= '0' && c <= '9');
    long size = digits ? Long.parseLong(value) : Long.MAX_VALUE;
    if (size > TarHeader.MAX_SIZE) {
      throw new BadImageException("the pax header before byte " + at + " has an impossible size");
    }
    return size;
  }

  static BadImageException sparse(long offset) {
    return new BadImageException(
        "the tar has a sparse file at byte "
            + offset
            + ", which is not taken; pack it without --sparse");
  }

  private byte[] headerData(TarHeader header, long at) throws IOException {
    if (header.size() > MAX_HEADER_DATA) {
      throw new BadImageException(
          "the header at byte " + at + " of the tar claims " + header.size() + " bytes of names");
    }
    startContent(header.size());
    byte[] data = content.readNBytes((int) header.size());
    skipRest();
    return data;
  }

  private static String string(byte[] data) {
    int end = 0;
    while (end < data.length && data[end] != 0) {
      end++;
    }
    return new String(data, 0, end, StandardCharsets.UTF_8);
  }

  private void startContent(long size) {
    remaining = size;
    padding = (int) (-size & (TarHeader.BLOCK - 1));
  }

  private void skipRest() throws IOException {
    byte[] sink = remaining > TarHeader.BLOCK ? new byte[64 << 10] : block;
    while (content.read(sink, 0, sink.length) >= 0) {
      // Read rather than skipped: whoever hashes the stream below must see these bytes.
    }
    // Fewer bytes mean the end of the stream, which the next header finds.
    offset += in.readNBytes(block, 0, padding);
    padding = 0;
  }

  /** False at the end of the archive: two zero blocks, or the end of the stream. */
  private boolean readHeaderBlock() throws IOException {
    int read = in.readNBytes(block, 0, block.length);
    offset += read;
    if (read == 0) {
      return false;
    }
    if (read < block.length) {
      throw truncated();
    }
    if (!isZero()) {
      return true;
    }
    marked = true;
    read = in.readNBytes(block, 0, block.length);
    offset += read;
    if (read == block.length && !isZero()) {
      throw new BadImageException("a lone zero block ends the tar before byte " + offset);
    }
    return false;
  }

  private boolean isZero() {
    for (byte b : block) {
      if (b != 0) {
        return false;
      }
    }
    return true;
  }

  private BadImageException truncated() {
    return new BadImageException(
        "the tar is cut off at byte " + offset, new EOFException("in the middle of an entry"));
  }

  private final class Content extends InputStream {
    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] buffer, int start, int length) throws IOException {
      if (length == 0) {
        return 0;
      }
      if (remaining == 0) {
        return -1;
      }
      int read = in.read(buffer, start, (int) Math.min(length, remaining));
      if (read < 0) {
        throw truncated();
      }
      offset += read;
      remaining -= read;
      return read;
    }
  }
}

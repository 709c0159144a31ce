package dev.platter.image.fill;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.platter.image.BadImageException;
import dev.platter.image.ForeignFormat;
import dev.platter.image.qcow2.Limits;
import dev.platter.image.qcow2.Qcow2Stream;
import dev.platter.image.stream.Forward;
import dev.platter.image.stream.StreamedFormat;
import dev.platter.image.stream.Vdi;
import dev.platter.image.stream.Vhd;
import dev.platter.image.stream.Vhdx;
import dev.platter.image.stream.Vmdk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Locale;

/** What a file can be: a disk in one of many formats, or an archive of files. */
public enum Format {
  RAW,
  QCOW2,
  VMDK,
  VHD,
  VHDX,
  VDI,

  /** Never found out but said: a disk can look like it, and it goes to another place. */
  TAR;

  private static final int HEAD = 512;
  private static final int QCOW2_MAGIC = 0x514649fb;

  /** By the first bytes of the file, unpacked. They are a guest's if the disk is raw. */
  static Format of(ByteBuffer head) throws BadImageException {
    byte[] bytes = new byte[head.remaining()];
    head.get(head.position(), bytes);
    var text = new String(bytes, ISO_8859_1);
    if (isQcow2(head)) {
      return QCOW2;
    }
    if (text.startsWith(Vmdk.MAGIC)) {
      return VMDK;
    }
    if (text.startsWith(Vhd.COOKIE)) {
      return VHD;
    }
    if (text.startsWith(Vhdx.SIGNATURE)) {
      return VHDX;
    }
    if (bytes.length >= Vdi.SIGNATURE_AT + 4
        && ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getInt(Vdi.SIGNATURE_AT)
            == Vdi.SIGNATURE) {
      return VDI;
    }
    var other = ForeignFormat.of(bytes);
    if (other.isPresent()) {
      throw new BadImageException(
          "it is "
              + other.get()
              + ", which is not taken as a disk; raw, qcow2, VMDK in one file, VHD, VHDX and VDI are, and"
              + " each of them packed with gzip, xz or zstd once. The files of a tar go to a volume with"
              + " the format tar");
    }
    return RAW;
  }

  static boolean isQcow2(ByteBuffer head) {
    return head.remaining() >= 4 && head.getInt(0) == QCOW2_MAGIC;
  }

  static ByteBuffer head(Forward file) throws IOException {
    return file.at(0, HEAD);
  }

  /**
   * @param length of the file, -1 if it is not known
   * @param most how large the disk may be
   * @param stated whether somebody said that it is of this format, whatever it looks like
   */
  StreamedFormat open(Forward file, long length, long most, boolean stated) throws IOException {
    return switch (this) {
      case RAW ->
          new RawStream(
              file, length, most, stated ? RawStream.Footer.NONE : RawStream.Footer.MAYBE);
      case QCOW2 -> Qcow2Stream.open(file, length, Limits.DEFAULT);
      case VMDK -> Vmdk.open(file);
      case VHD ->
          Vhd.isDynamic(head(file))
              ? Vhd.open(file)
              : new RawStream(file, length, most, RawStream.Footer.REQUIRED);
      case VHDX -> Vhdx.open(file);
      case VDI -> Vdi.open(file);
      case TAR -> throw new IllegalStateException("an archive is not opened as a disk");
    };
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}

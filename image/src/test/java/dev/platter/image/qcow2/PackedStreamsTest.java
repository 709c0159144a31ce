package dev.platter.image.qcow2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdCompressCtx;
import dev.platter.image.BadImageException;
import dev.platter.image.testing.MixedBytes;
import dev.platter.image.testing.Qemu;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.zip.Deflater;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Odd streams in compressed clusters: we take exactly those that QEMU takes. */
class PackedStreamsTest {
  private static final int CLUSTER = 4096;
  private static final byte[] BYTES = Arrays.copyOf(MixedBytes.of(1 << 20, 5), 2 * CLUSTER);
  private static final byte[] JUNK = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

  enum Stream {
    ZLIB_OF_A_CLUSTER("zlib", deflate(CLUSTER, Deflater.FULL_FLUSH, true)),
    ZLIB_WITHOUT_AN_END("zlib", deflate(CLUSTER, Deflater.SYNC_FLUSH, false)),
    ZLIB_THEN_JUNK("zlib", join(deflate(CLUSTER, Deflater.NO_FLUSH, true), JUNK)),
    ZLIB_WITHOUT_AN_END_THEN_JUNK("zlib", join(deflate(CLUSTER, Deflater.SYNC_FLUSH, false), JUNK)),
    ZLIB_THAT_WOULD_GO_ON("zlib", deflate(CLUSTER + 1, Deflater.NO_FLUSH, true)),
    ZLIB_THAT_WOULD_GO_ON_FOR_LONG("zlib", deflate(2 * CLUSTER, Deflater.NO_FLUSH, true)),
    ZLIB_THAT_ENDS_EARLY("zlib", deflate(CLUSTER - 1, Deflater.NO_FLUSH, true)),
    ZLIB_OF_NOTHING("zlib", deflate(0, Deflater.NO_FLUSH, true)),
    ZLIB_THAT_IS_JUNK("zlib", JUNK),
    ZSTD_OF_A_CLUSTER("zstd", zstd(0, CLUSTER)),
    ZSTD_WITH_CHECKSUM("zstd", zstdWithChecksum()),
    ZSTD_THEN_JUNK("zstd", join(zstd(0, CLUSTER), JUNK)),
    ZSTD_OF_TWO_FRAMES("zstd", join(zstd(0, 1000), zstd(1000, CLUSTER))),
    ZSTD_AFTER_A_SKIPPABLE_FRAME(
        "zstd", join(new byte[] {0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 9}, zstd(0, CLUSTER))),
    ZSTD_THAT_WOULD_GO_ON("zstd", zstd(0, CLUSTER + 1)),
    ZSTD_THAT_ENDS_EARLY("zstd", zstd(0, CLUSTER - 1)),
    ZSTD_CUT_IN_ITS_CHECKSUM("zstd", cut(zstdWithChecksum(), 2)),
    ZSTD_THAT_IS_JUNK("zstd", JUNK);

    final String type;
    final byte[] packed;

    Stream(String type, byte[] packed) {
      this.type = type;
      this.packed = packed;
    }
  }

  @TempDir Path dir;

  @ParameterizedTest
  @EnumSource
  void streamIsTakenIfQemuTakesIt(Stream stream) throws IOException {
    Path image = dir.resolve("disk.qcow2");
    String options = "cluster_size=4k,compression_type=" + stream.type;
    Qemu.img("create", "-f", "qcow2", "-o", options, image, "64k");
    Qemu.io(image, "qcow2", "write -c -P 1 0 4k");
    plant(image, stream.packed);
    int status = Qemu.imgStatus("convert", "-O", "raw", image, dir.resolve("taken.raw"));
    if (status == 0) {
      SameAsQemu.check(image);
    } else {
      try (Qcow2Reader reader = Qcow2Reader.open(image, Limits.DEFAULT)) {
        assertThatThrownBy(() -> reader.read(0, ByteBuffer.allocate(1)))
            .isInstanceOf(BadImageException.class)
            .hasMessageContaining("does not unpack to a cluster");
      }
    }
  }

  /** Puts a stream where the first cluster's is, and as many sectors as a cluster may have. */
  private static void plant(Path image, byte[] packed) throws IOException {
    byte[] bytes = Files.readAllBytes(image);
    ByteBuffer old = ByteBuffer.wrap(bytes);
    int l2 = (int) (old.getLong((int) old.getLong(40)) & 0x00fffffffffffe00L);
    long offsetMask = (1L << 58) - 1;
    long host = old.getLong(l2) & offsetMask;
    assertThat(host % 512).isZero();
    old.putLong(l2, 1L << 62 | 15L << 58 | host);
    try (FileChannel file = FileChannel.open(image, StandardOpenOption.WRITE)) {
      file.write(old);
      file.write(ByteBuffer.wrap(packed), host);
      file.truncate(host + packed.length);
    }
  }

  private static byte[] deflate(int length, int flush, boolean finish) {
    try (Deflater deflater = new Deflater(6, true)) {
      deflater.setInput(BYTES, 0, length);
      if (finish) {
        deflater.finish();
      }
      byte[] out = new byte[4 * CLUSTER];
      return Arrays.copyOf(out, deflater.deflate(out, 0, out.length, flush));
    }
  }

  private static byte[] zstd(int from, int to) {
    return Zstd.compress(Arrays.copyOfRange(BYTES, from, to));
  }

  private static byte[] zstdWithChecksum() {
    try (ZstdCompressCtx context = new ZstdCompressCtx()) {
      return context.setChecksum(true).compress(Arrays.copyOf(BYTES, CLUSTER));
    }
  }

  private static byte[] cut(byte[] bytes, int less) {
    return Arrays.copyOf(bytes, bytes.length - less);
  }

  private static byte[] join(byte[]... parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.writeBytes(part);
    }
    return all.toByteArray();
  }
}

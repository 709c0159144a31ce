package dev.platter.image.qcow2;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tables that leave the file, overlap or contradict the format are refused when they are read. */
class HostileTablesTest {
  private static final long COPIED = 1L << 63;
  private static final long PACKED = 1L << 62;

  @TempDir Path dir;
  private ImageBytes image;

  @BeforeEach
  void valid() throws IOException {
    // 512 bytes: a disk of 1 MiB has 32 L2 tables, of which one is in use.
    image = ImageBytes.make(dir, "cluster_size=512");
    assertThat(image.refusal()).isNull();
    assertThat(image.l2Entry(3) & PACKED).isNotZero();
  }

  @Test
  void l1EntryWithReservedBitsIsRefused() throws IOException {
    image.putLong(image.l1(), COPIED | image.l2() | 1);
    assertThat(image.refusal()).contains("reserved bits are set in L1 entry");
    image.putLong(image.l1(), COPIED | image.l2() | 1L << 60);
    assertThat(image.refusal()).contains("reserved bits are set in L1 entry");
  }

  @Test
  void unalignedL2TableIsRefused() throws IOException {
    ImageBytes larger = ImageBytes.make(dir, "cluster_size=4k");
    larger.putLong(larger.l1(), COPIED | larger.l2() + 512);
    assertThat(larger.refusal()).contains("L2 table 0x", "is not aligned");
  }

  @Test
  void l2TableOutsideTheFileIsRefused() throws IOException {
    image.putLong(image.l1(), COPIED | 1L << 40);
    assertThat(image.refusal()).contains("L2 table 0x10000000000 is outside the file");
    long last = (image.size() + 511L) & ~511;
    image.putLong(image.l1(), COPIED | last);
    assertThat(image.refusal()).contains("L2 table 0x%x is outside the file".formatted(last));
  }

  @Test
  void l2TableUsedTwiceIsRefused() throws IOException {
    image.putLong(image.l1() + 8, COPIED | image.l2());
    assertThat(image.refusal())
        .contains("byte 0x%x".formatted(image.l1() + 8))
        .contains("host cluster 0x%x is a table here and a table elsewhere".formatted(image.l2()));
  }

  @Test
  void l2TableOverRefcountTableOrL1IsRefused() throws IOException {
    long valid = image.l2();
    for (long place : new long[] {image.l1(), image.refcountTable()}) {
      image.putLong(image.l1(), COPIED | place);
      assertThat(image.refusal()).contains("is a table here and a table elsewhere");
    }
    image.putLong(image.l1(), COPIED | valid);
    assertThat(image.refusal()).isNull();
  }

  @Test
  void l2TableThatIsADataClusterIsRefused() throws IOException {
    image.putLong(image.l2EntryAt(1), COPIED | image.l2());
    assertThat(image.refusal()).contains("is data here and a table elsewhere");
  }

  @Test
  void dataClusterThatIsTheHeaderIsRefusedOrEmpty() throws IOException {
    // Offset 0 means that there is no cluster, so the header itself cannot be named.
    image.putLong(image.l2EntryAt(1), COPIED);
    assertThat(image.refusal()).isNull();
    image.putLong(image.l2EntryAt(1), PACKED | 8);
    assertThat(image.refusal()).contains("compressed data at 0x8 is outside the file");
  }

  @Test
  void dataClusterUsedTwiceIsRefused() throws IOException {
    image.putLong(image.l2EntryAt(1), image.l2Entry(0));
    assertThat(image.refusal()).contains("is data here and data elsewhere");
  }

  @Test
  void zeroClusterThatKeepsAPlaceCountsAsUsingIt() throws IOException {
    image.putLong(image.l2EntryAt(1), image.l2Entry(0) | 1);
    assertThat(image.refusal()).contains("is data here and data elsewhere");
  }

  @Test
  void dataClusterThatHoldsPackedOnesIsRefused() throws IOException {
    long packed = image.l2Entry(3) & ((1L << 61) - 1) & ~511L;
    image.putLong(image.l2EntryAt(1), COPIED | packed);
    assertThat(image.refusal()).contains("is compressed data here and data elsewhere");
  }

  @Test
  void dataClusterOutsideTheFileIsRefused() throws IOException {
    image.putLong(image.l2EntryAt(1), COPIED | 1L << 50);
    assertThat(image.refusal()).contains("data cluster 0x4000000000000 is outside the file");
  }

  @Test
  void unalignedDataClusterIsRefused() throws IOException {
    ImageBytes larger = ImageBytes.make(dir, "cluster_size=4k");
    larger.putLong(larger.l2EntryAt(1), larger.l2Entry(1) + 512);
    assertThat(larger.refusal()).contains("data cluster 0x", "is not aligned");
  }

  @Test
  void l2EntryWithReservedBitsIsRefused() throws IOException {
    for (int bit : new int[] {1, 8, 56, 61}) {
      ImageBytes one = ImageBytes.make(dir, "cluster_size=512");
      one.putLong(one.l2EntryAt(1), one.l2Entry(1) | 1L << bit);
      assertThat(one.refusal()).as("bit %d", bit).contains("reserved bits are set in L2 entry");
    }
  }

  @Test
  void zeroFlagInVersion2IsRefused() throws IOException {
    ImageBytes old = ImageBytes.make(dir, "compat=0.10,cluster_size=512");
    old.putLong(old.l2EntryAt(1), old.l2Entry(1) | 1);
    assertThat(old.refusal()).contains("has a zero flag, which this image cannot have");
  }

  @Test
  void entriesPastTheEndOfTheDiskAreNotLookedAt() throws IOException {
    ImageBytes larger = ImageBytes.make(dir, "cluster_size=16k");
    larger.putLong(larger.l2EntryAt(64), -1);
    assertThat(larger.refusal()).isNull();
    larger.putLong(larger.l2EntryAt(63), -1);
    assertThat(larger.refusal()).isNotNull();
  }

  @Test
  void contradictingSubclustersAreRefused() throws IOException {
    String options = "cluster_size=16k,extended_l2=on";
    ImageBytes extended = ImageBytes.make(dir, options);
    extended.putLong(extended.l2() + 8, 0x00000001_ffffffffL);
    assertThat(extended.refusal()).contains("a subcluster is both allocated and zero");

    extended = ImageBytes.make(dir, options);
    extended.putLong(extended.l2(), 0);
    assertThat(extended.refusal()).contains("subclusters of a cluster without a place");

    extended = ImageBytes.make(dir, options);
    extended.putLong(extended.l2() + 3 * 16 + 8, 1);
    assertThat(extended.refusal()).contains("a compressed cluster has subclusters");

    extended = ImageBytes.make(dir, options);
    extended.putLong(extended.l2(), extended.bytes.getLong((int) extended.l2()) | 1);
    assertThat(extended.refusal()).contains("has a zero flag, which this image cannot have");
  }

  @Test
  void packedDataOutsideTheFileIsRefused() throws IOException {
    image.putLong(image.l2EntryAt(3), PACKED | image.size());
    assertThat(image.refusal()).contains("compressed data at 0x", "is outside the file");
  }

  @Test
  void damagedPackedDataIsRefusedWhenItIsRead() throws IOException {
    for (String type : new String[] {"zlib", "zstd"}) {
      ImageBytes packed = ImageBytes.make(dir, "cluster_size=4k,compression_type=" + type);
      long host = packed.l2Entry(3) & ((1L << 58) - 1);
      packed.putLong(host, -1);
      assertThat(packed.refusal())
          .contains("byte 0x%x: compressed data does not unpack to a cluster".formatted(host));
    }
  }

  @Test
  void packedDataThatEndsEarlyIsRefused() throws IOException {
    // A final empty deflate block: a valid stream of nothing.
    long host = image.l2Entry(3) & ((1L << 61) - 1);
    image.putLong(host, 0x0300L << 48);
    assertThat(image.refusal()).contains("compressed data does not unpack to a cluster");
  }

  @Test
  void zstdFrameWithAHugeWindowIsRefused() throws IOException {
    ImageBytes packed = ImageBytes.make(dir, "cluster_size=4k,compression_type=zstd");
    long host = packed.l2Entry(3) & ((1L << 58) - 1);
    // Magic, no single segment, window of 128 MiB, then an RLE block that would fill the cluster.
    packed.putLong(host, 0x28b52ffd_00_88_0380L).putLong(host + 8, 0x00_07L << 48);
    assertThat(packed.refusal()).contains("compressed data does not unpack to a cluster");
    // The same with a window of 8 MiB is fine: it is the window that was refused.
    packed.putLong(host, 0x28b52ffd_00_68_0380L);
    assertThat(packed.refusal()).isNull();
  }

  @Test
  void samePackedBytesForManyClustersAreRefused() throws IOException {
    ImageBytes packed = ImageBytes.make(dir, "cluster_size=64k");
    ImageBytes many = ImageBytes.make(dir, "cluster_size=64k");
    for (int i = 4; i < 16; i++) {
      many.putLong(many.l2EntryAt(i), many.l2Entry(3));
    }
    // Twelve more streams of a few bytes could fit into the file: that is still honest enough.
    assertThat(many.refusal()).isNull();
    long tenSectors = 127L << 54;
    for (int i = 3; i < 16; i++) {
      packed.putLong(packed.l2EntryAt(i), packed.l2Entry(3) | tenSectors);
    }
    assertThat(packed.refusal()).contains("compressed clusters claim more bytes than the file has");
  }

  @Test
  void hugeSparseFileWithScatteredClustersStaysInMemory() throws IOException {
    // 16 TiB, each entry of an L2 table points 2 GiB further: one page of the map for each.
    Path huge = dir.resolve("huge.qcow2");
    try (FileChannel file = FileChannel.open(huge, CREATE_NEW, WRITE)) {
      Qcow2Overlay.create(dir.resolve("blank.qcow2"), 16L << 40);
      try (FileChannel blank = FileChannel.open(dir.resolve("blank.qcow2"))) {
        blank.transferTo(0, blank.size(), file);
      }
      long l1 = 3 << 16;
      long l2 = 16 << 16;
      ByteBuffer table = ByteBuffer.allocate(1 << 16);
      for (long i = 1; i < 8000; i++) {
        table.putLong(COPIED | i << 31);
      }
      file.write(ByteBuffer.allocate(8).putLong(COPIED | l2).flip(), l1);
      file.write(table.flip(), l2);
      file.write(ByteBuffer.wrap(new byte[] {7}), 7999L << 31);
    }
    try (Qcow2Reader reader = Qcow2Reader.open(huge, Limits.DEFAULT)) {
      ByteBuffer one = ByteBuffer.allocate(1);
      reader.read(7998L << 16, one);
      assertThat(one.get(0)).isEqualTo((byte) 7);
    }
  }

  @Test
  void hugeSparseFileOfTinyClustersIsRefused() throws IOException {
    Path huge = dir.resolve("huge.qcow2");
    try (FileChannel file = FileChannel.open(huge, CREATE_NEW, WRITE)) {
      file.write(image.bytes, 0);
      file.write(ByteBuffer.allocate(1), 15L << 40);
    }
    assertThatThrownBy(() -> Qcow2Reader.open(huge, Limits.DEFAULT))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("is over the limit of 536870912 clusters");
  }
}

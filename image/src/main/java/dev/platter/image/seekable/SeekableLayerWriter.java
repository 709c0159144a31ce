package dev.platter.image.seekable;

import dev.platter.image.BadImageException;
import dev.platter.image.BootTrace;
import dev.platter.image.Chunk;
import dev.platter.image.Digest;
import dev.platter.image.GuestDisk;
import dev.platter.image.qcow2.OrderedQcow2;
import dev.platter.image.tar.TarWriter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Writes a disk as a layer that every container tool can unpack and that {@link SeekableLayer}
 * reads in pieces: an eStargz, made of these gzip members:
 *
 * <pre>
 *   header of the landmark | the landmark | headers of disk/ and of the file | chunk | chunk | ...
 *   | header of the table of contents, the table, end of the tar | footer
 * </pre>
 *
 * <p>The landmark comes first, as in the layers of the format's own tools, so that the last chunk
 * ends where the table of contents starts. The file is an {@link OrderedQcow2}; its size is a
 * multiple of 64 KiB, so that its chunks need no padding. The same disk gives the same bytes,
 * whatever the number of threads.
 */
public final class SeekableLayerWriter {
  private static final int QEMU = 107;
  private static final int DIRECTORY_MODE = 0555;
  private static final int FILE_MODE = 0444;
  private static final int CHUNK = 256 << 10;
  private static final String OPAQUE = "disk/.wh..wh..opq";
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.-]{0,89}");

  private final int threads;
  private final boolean hiding;

  public SeekableLayerWriter(int threads) {
    this(threads, false);
  }

  private SeekableLayerWriter(int threads, boolean hiding) {
    if (threads < 1) {
      throw new IllegalArgumentException("at least one thread is needed");
    }
    this.threads = threads;
    this.hiding = hiding;
  }

  /**
   * The same, for layers that lie above others and hide what those have in {@code /disk}: so nobody
   * who looks for the disk has to look into them.
   */
  public SeekableLayerWriter hidingBelow() {
    return new SeekableLayerWriter(threads, true);
  }

  /**
   * Writes the layer; the stream stays open. If this fails, what was written is of no use.
   *
   * @param name of the file in {@code /disk}, without the ".qcow2" that is added
   * @param bootOrder as for {@link OrderedQcow2#plan}
   */
  public WrittenLayer write(OutputStream out, String name, GuestDisk disk, long... bootOrder)
      throws IOException {
    return write(out, name, disk, bootOrder, null, PackProgress.NONE);
  }

  /**
   * The same, with the boot order of a trace, which must be of a disk of this size; null for none.
   */
  public WrittenLayer write(
      OutputStream out,
      String name,
      GuestDisk disk,
      @Nullable BootTrace trace,
      PackProgress progress)
      throws IOException {
    if (trace == null) {
      return write(out, name, disk, new long[0], null, progress);
    }
    if (sectors(trace.virtualSize()) != sectors(disk.virtualSize())) {
      throw new BadImageException(
          "the boot trace is of a disk of %d bytes, this one has %d"
              .formatted(trace.virtualSize(), disk.virtualSize()));
    }
    long[] order = Arrays.stream(trace.blocks()).asLongStream().toArray();
    return write(out, name, disk, order, Digest.of(trace.toBytes()), progress);
  }

  /** A qcow2 counts in sectors, and so a disk may have grown by part of one. */
  private static long sectors(long bytes) {
    return Math.ceilDiv(bytes, 512L);
  }

  private WrittenLayer write(
      OutputStream out,
      String name,
      GuestDisk disk,
      long[] bootOrder,
      @Nullable Digest trace,
      PackProgress progress)
      throws IOException {
    if (!NAME.matcher(name).matches()) {
      throw new IllegalArgumentException("'" + name + "' cannot be the name of a disk");
    }
    OrderedQcow2 file = OrderedQcow2.plan(disk, bootOrder);
    int chunkSize = chunkSize(file.size());
    String path = "disk/" + name + ".qcow2";
    List<Chunk> landmark = new ArrayList<>();
    try (var members = new MemberWriter(out, threads);
        var toc = new TocJson(QEMU)) {
      members.add(headers(tar -> tar.fileHeader(Estargz.LANDMARK, FILE_MODE, 1)), (_, _, _) -> {});
      members.add(
          Arrays.copyOf(Estargz.LANDMARK_CONTENT, 512),
          (at, length, _) ->
              landmark.add(new Chunk(0, 1, at, length, Digest.of(Estargz.LANDMARK_CONTENT))));
      members.add(
          headers(
              tar -> {
                tar.directory("disk", DIRECTORY_MODE);
                if (hiding) {
                  tar.fileHeader(OPAQUE, FILE_MODE, 0);
                }
                tar.fileHeader(path, FILE_MODE, file.size());
              }),
          (_, _, _) -> {});

      var chunks = new ChunkStream(members, chunkSize, file.size(), progress);
      file.writeTo(chunks);
      chunks.close();

      toc.file(Estargz.LANDMARK, FILE_MODE, 1, landmark.getFirst().digest(), landmark);
      toc.directory("disk/", DIRECTORY_MODE);
      if (hiding) {
        toc.emptyFile(OPAQUE, FILE_MODE);
      }
      toc.file(path, FILE_MODE, file.size(), chunks.digest(), chunks.written());
      return finish(members, toc.finish(), file, chunkSize, chunks.written(), trace);
    }
  }

  private static WrittenLayer finish(
      MemberWriter members,
      byte[] toc,
      OrderedQcow2 file,
      int chunkSize,
      List<Chunk> chunks,
      @Nullable Digest trace)
      throws IOException {
    long tocOffset = members.flush();
    var last = new ByteArrayOutputStream();
    try (var tar = new TarWriter(last, 0, 0)) {
      tar.file(Estargz.TOC, FILE_MODE, toc.length, new ByteArrayInputStream(toc));
    }
    members.add(last.toByteArray(), (_, _, _) -> {});
    long footerOffset = members.flush();
    members.addEmptyMember(Footer.of(tocOffset));
    long size = members.flush();
    Chunk lastOfBoot = chunks.get((int) ((file.bootPrefix() - 1) / chunkSize));
    return new WrittenLayer(
        members.blobDigest(),
        size,
        members.tarDigest(),
        members.tarSize(),
        Digest.of(toc),
        TocPosition.of(tocOffset, footerOffset - tocOffset, size, "the writer"),
        file.virtualSize(),
        chunkSize,
        lastOfBoot.blobOffset() + lastOfBoot.blobLength(),
        trace);
  }

  /** 256 KiB, or as much more as keeps the table of contents of a huge disk readable. */
  static int chunkSize(long fileSize) throws BadImageException {
    for (int size = CHUNK; size <= Estargz.MAX_CHUNK; size *= 2) {
      if (Math.ceilDiv(fileSize, (long) size) <= Estargz.MAX_CHUNKS) {
        return size;
      }
    }
    throw new BadImageException(
        "the disk holds %d bytes of data, %d is the most for a layer"
            .formatted(fileSize, (long) Estargz.MAX_CHUNK * Estargz.MAX_CHUNKS));
  }

  @FunctionalInterface
  private interface Headers {
    void write(TarWriter tar) throws IOException;
  }

  /** The tar stays open: its end comes after the table of contents. */
  @SuppressWarnings("resource")
  private static byte[] headers(Headers headers) throws IOException {
    var bytes = new ByteArrayOutputStream();
    headers.write(new TarWriter(bytes, QEMU, QEMU));
    return bytes.toByteArray();
  }
}

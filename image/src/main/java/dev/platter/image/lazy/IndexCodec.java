package dev.platter.image.lazy;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.gzip.GzipIndex;
import dev.platter.image.tar.TarEntry;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The stored form of a {@link LayerIndex}, big endian:
 *
 * <pre>
 *   magic and version      8    entries, each            number of files     4
 *   digest of the layer   32      type                1  files, each
 *   diff_id               32      size                8    entry             4
 *   format                 1      offset in the tar   8    digests, 32 each
 *   size of the tar        8      name, target        4 + UTF-8 each
 *   number of entries      4    gzip index, if any   SHA-256 of all before 32
 * </pre>
 *
 * <p>Whatever is read lies within its bounds, and takes no more memory than its bytes account for.
 * The digest at the end finds damage, not malice: an index is as good as where it was kept.
 */
final class IndexCodec {
  static final int MAX_ENTRIES = 1 << 20;

  /** "PLTRLIX" and the version. */
  private static final long MAGIC = 0x50_4c_54_52_4c_49_58_01L;

  /** By their place here they are stored. */
  private static final List<LayerFormat> FORMATS =
      List.of(LayerFormat.BARE, LayerFormat.TAR, LayerFormat.GZIP, LayerFormat.ZSTD);

  private static final List<TarEntry.Type> TYPES =
      List.of(
          TarEntry.Type.FILE,
          TarEntry.Type.DIRECTORY,
          TarEntry.Type.HARD_LINK,
          TarEntry.Type.SYMBOLIC_LINK,
          TarEntry.Type.OTHER);

  private static final int SMALLEST_ENTRY = 1 + 8 + 8 + 4 + 4;
  private static final int DIGEST = 32;

  private IndexCodec() {}

  static void write(LayerIndex index, OutputStream out) throws IOException {
    var bytes = new ByteArrayOutputStream();
    var data = new DataOutputStream(bytes);
    data.writeLong(MAGIC);
    data.write(index.layer().bytes());
    data.write(index.diffId().bytes());
    data.writeByte(FORMATS.indexOf(index.format()));
    data.writeLong(index.plainSize());
    data.writeInt(index.items().size());
    for (LayerIndex.Item item : index.items()) {
      data.writeByte(TYPES.indexOf(item.entry().type()));
      data.writeLong(item.entry().size());
      data.writeLong(item.offset());
      writeText(data, item.entry().name());
      writeText(data, item.entry().linkName());
    }
    data.writeInt(index.grids().size());
    for (Map.Entry<Integer, byte[]> grid : index.grids().entrySet()) {
      data.writeInt(grid.getKey());
      data.write(grid.getValue());
    }
    if (index.gzip() != null) {
      index.gzip().writeTo(data);
    }
    byte[] body = bytes.toByteArray();
    out.write(body);
    out.write(Digest.of(body).bytes());
  }

  private static void writeText(DataOutputStream data, String text) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    data.writeInt(bytes.length);
    data.write(bytes);
  }

  static LayerIndex read(ByteBuffer stored) throws IOException {
    ByteBuffer in = stored.slice();
    if (in.limit() < 8 + DIGEST || in.getLong(0) != MAGIC) {
      throw refused("it does not start as one of this version does");
    }
    byte[] body = new byte[in.limit() - DIGEST];
    in.get(0, body);
    Digest found = Digest.of(body);
    if (!found.equals(digest(in.slice(body.length, DIGEST)))) {
      throw refused("it is damaged");
    }
    try {
      return readBody(in.slice(8, body.length - 8));
    } catch (BufferUnderflowException e) {
      throw refused("it ends too early");
    }
  }

  private static LayerIndex readBody(ByteBuffer in) throws IOException {
    Digest layer = digest(in);
    Digest diffId = digest(in);
    LayerFormat format = pick(FORMATS, in.get(), "format");
    long plainSize = in.getLong();
    List<LayerIndex.Item> items = readItems(in, plainSize);
    Map<Integer, byte[]> grids = readGrids(in, items);
    @Nullable GzipIndex gzip = null;
    if (format == LayerFormat.GZIP) {
      gzip = GzipIndex.read(in.slice());
      check(gzip.plainSize() == plainSize, "size of the gzip index", gzip.plainSize());
    } else {
      check(!in.hasRemaining(), "rest", in.remaining());
    }
    boolean plain = format == LayerFormat.TAR || format == LayerFormat.BARE;
    check(plain || grids.isEmpty(), "number of files", grids.size());
    return new LayerIndex(layer, diffId, format, plainSize, items, grids, gzip);
  }

  private static List<LayerIndex.Item> readItems(ByteBuffer in, long plainSize) throws IOException {
    int count = in.getInt();
    check(
        count >= 0 && count <= MAX_ENTRIES && count <= in.remaining() / SMALLEST_ENTRY,
        "number of entries",
        count);
    var items = new ArrayList<LayerIndex.Item>(count);
    long end = 0;
    for (int i = 0; i < count; i++) {
      TarEntry.Type type = pick(TYPES, in.get(), "type");
      long size = in.getLong();
      long offset = in.getLong();
      check(offset >= end && offset <= plainSize, "offset", offset);
      check(size >= 0 && size <= plainSize - offset, "size", size);
      end = offset + size;
      String name = readText(in);
      items.add(new LayerIndex.Item(new TarEntry(name, type, size, readText(in)), offset));
    }
    return items;
  }

  private static Map<Integer, byte[]> readGrids(ByteBuffer in, List<LayerIndex.Item> items)
      throws IOException {
    int count = in.getInt();
    check(count >= 0 && count <= items.size(), "number of files", count);
    var grids = new TreeMap<Integer, byte[]>();
    int last = -1;
    for (int i = 0; i < count; i++) {
      int entry = in.getInt();
      check(entry > last && entry < items.size(), "file", entry);
      last = entry;
      long length =
          Math.ceilDiv(items.get(entry).entry().size(), GridDigests.CHUNK) * GridDigests.BYTES;
      check(length <= in.remaining(), "digests of file", entry);
      byte[] digests = new byte[(int) length];
      in.get(digests);
      grids.put(entry, digests);
    }
    return grids;
  }

  private static String readText(ByteBuffer in) throws IOException {
    int length = in.getInt();
    check(length >= 0 && length <= in.remaining(), "length of a name", length);
    ByteBuffer bytes = in.slice(in.position(), length);
    in.position(in.position() + length);
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
    } catch (CharacterCodingException e) {
      throw refused("a name is no UTF-8");
    }
  }

  private static Digest digest(ByteBuffer in) {
    byte[] digest = new byte[DIGEST];
    in.get(digest);
    return new Digest(digest);
  }

  private static <T> T pick(List<T> values, byte number, String what) throws IOException {
    check(number >= 0 && number < values.size(), what, number);
    return values.get(number);
  }

  private static void check(boolean good, String what, long value) throws IOException {
    if (!good) {
      throw refused(what + " " + value + " cannot be");
    }
  }

  private static BadImageException refused(String why) {
    return new BadImageException("index of a layer refused: " + why);
  }
}

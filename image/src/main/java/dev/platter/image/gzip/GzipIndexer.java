package dev.platter.image.gzip;

import java.io.IOException;
import java.io.InputStream;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The plain bytes of a gzip stream; having given the last one, an index for random access.
 *
 * <p>A checkpoint is made at the first deflate block after 1 MiB of plain bytes, and at a new
 * member already after one chunk, since nothing can be referred to there. Of the 32 KiB before a
 * checkpoint only bytes that are referred to are kept; stored blocks refer to none.
 *
 * <p>Memory: about 500 KiB and the index. To keep that in bounds checkpoints get rarer, by half for
 * each 16 MiB of windows. A block is never divided, so a stream that is one huge block (some
 * hardware encoders write such) has one checkpoint and {@link GzipIndex#rangeFor} may refuse it.
 */
public final class GzipIndexer extends InputStream {
  private static final int INPUT = 64 << 10;
  private static final int SPACING = 1 << 20;

  private final long maxPlain;
  private final DigestInputStream packed;
  private final MessageDigest span = Sha256.start();
  private final MessageDigest chunk = Sha256.start();
  private final BitInput in;
  private final Inflate inflate;
  private final Members members;
  private final IndexBuilder builder;
  private long plain;
  private int unread;
  private @Nullable GzipIndex index;

  /** Refuses a stream of more than {@code maxPlain} plain bytes. Reads the header at once. */
  public GzipIndexer(InputStream packed, long maxPlain) throws IOException {
    this(packed, maxPlain, SPACING);
  }

  GzipIndexer(InputStream packed, long maxPlain, int spacing) throws IOException {
    this.builder = new IndexBuilder(spacing);
    this.maxPlain = maxPlain;
    this.packed = new DigestInputStream(packed, Sha256.start());
    this.in = new BitInput(this.packed, 0, INPUT, span::update);
    this.inflate = new Inflate(in);
    this.members = Members.fromStart(in, inflate, this::atBlock);
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] into, int from, int length) throws IOException {
    Objects.checkFromIndexSize(from, length, into.length);
    if (length == 0) {
      return 0;
    }
    while (unread == 0) {
      if (index != null) {
        return -1;
      }
      decode();
    }
    int n = Math.min(length, unread);
    System.arraycopy(inflate.out, inflate.position - unread, into, from, n);
    unread -= n;
    return n;
  }

  /** The index of the whole stream, which is read to its end. */
  public GzipIndex finish() throws IOException {
    while (index == null) {
      decode();
    }
    return index;
  }

  @Override
  public void close() throws IOException {
    packed.close();
  }

  private void decode() throws IOException {
    int n = members.next();
    if (n < 0) {
      in.cut();
      builder.endSpan(span.digest());
      if (plain % GzipIndex.CHUNK != 0) {
        builder.chunk(chunk.digest());
      }
      index = builder.build(in.bytePosition(), plain, packed.getMessageDigest().digest());
      return;
    }
    if (n > maxPlain - plain) {
      throw Refused.at(
          in.bytePosition(), "it unpacks to more than the limit of " + maxPlain + " bytes");
    }
    hashChunks(inflate.position - n, n);
    plain += n;
    unread = n;
  }

  private void hashChunks(int from, int length) {
    int left = length;
    while (left > 0) {
      int done = (int) ((plain + length - left) % GzipIndex.CHUNK);
      int n = Math.min(left, GzipIndex.CHUNK - done);
      chunk.update(inflate.out, from + length - left, n);
      left -= n;
      if (done + n == GzipIndex.CHUNK) {
        builder.chunk(chunk.digest());
      }
    }
  }

  private void atBlock(boolean firstOfMember) {
    if (!builder.wantsCheckpoint(plain, firstOfMember)) {
      return;
    }
    in.cut();
    if (plain > 0) {
      builder.endSpan(span.digest());
    } else {
      span.reset(); // the header
    }
    inflate.markWindow(builder.startSpan(in.bitPosition(), plain, inflate.window()));
  }
}

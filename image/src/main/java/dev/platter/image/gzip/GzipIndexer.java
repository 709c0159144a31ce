package dev.platter.image.gzip;

import dev.platter.image.Digest;
import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The plain bytes of a gzip stream; having given the last one, an index for random access.
 *
 * <p>A checkpoint is made at the first deflate block after 1 MiB of plain bytes, and at a new
 * member already after 256 KiB, since nothing can be referred to there. Of the 32 KiB before a
 * checkpoint only bytes that are referred to are kept; stored blocks refer to none.
 *
 * <p>Memory: about 500 KiB and the index. To keep that in bounds checkpoints get rarer, by half for
 * each 16 MiB of windows. A block is never divided, so a stream that is one huge block (some
 * hardware encoders write such) has one checkpoint, and pieces that {@link GzipResume} refuses.
 */
public final class GzipIndexer extends InputStream {
  private static final int INPUT = 64 << 10;
  private static final int SPACING = 1 << 20;

  private final long maxPlain;
  private final InputStream packed;
  private final MessageDigest piece = Digest.sha256();
  private final BitInput in;
  private final Inflate inflate;
  private final Members members;
  private final IndexBuilder builder;
  private long plain;
  private long pieceStart;
  private int unread;
  private @Nullable GzipIndex index;

  /** Refuses a stream of more than {@code maxPlain} plain bytes. Reads the header at once. */
  public GzipIndexer(InputStream packed, long maxPlain) throws IOException {
    this(packed, maxPlain, SPACING);
  }

  GzipIndexer(InputStream packed, long maxPlain, int spacing) throws IOException {
    this.builder = new IndexBuilder(spacing);
    this.maxPlain = maxPlain;
    this.packed = packed;
    this.in = new BitInput(packed, 0, INPUT);
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
    int at = inflate.position - unread;
    System.arraycopy(inflate.out, at, into, from, n);
    piece.update(inflate.out, at, n);
    unread -= n;
    return n;
  }

  /** Starts a new piece with the byte that is read next: something of its own begins there. */
  public void cut() {
    long position = plain - unread;
    if (position > pieceStart) {
      builder.piece(pieceStart, piece.digest());
      pieceStart = position;
    }
  }

  /** The index of the whole stream, which is read to its end. */
  public GzipIndex finish() throws IOException {
    byte[] sink = new byte[INPUT];
    while (index == null) {
      read(sink, 0, sink.length);
    }
    return index;
  }

  @Override
  public void close() throws IOException {
    packed.close();
  }

  /** Only called when all that was decoded is read: spans and pieces end together. */
  private void decode() throws IOException {
    int n = members.next();
    if (n < 0) {
      cut();
      builder.endSpan();
      index = builder.build(in.bytePosition(), plain);
      return;
    }
    if (n > maxPlain - plain) {
      throw Refused.at(
          in.bytePosition(), "it unpacks to more than the limit of " + maxPlain + " bytes");
    }
    plain += n;
    unread = n;
  }

  private void atBlock(boolean firstOfMember) {
    if (!builder.wantsCheckpoint(plain, firstOfMember)) {
      return;
    }
    cut();
    if (plain > 0) {
      builder.endSpan();
    }
    inflate.markWindow(builder.startSpan(in.bitPosition(), plain, inflate.window()));
  }
}

package dev.platter.node.fill;

import dev.platter.image.Digest;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestOutputStream;

/** What is sent: a file as it is, or in an order in which it can be decoded as it comes. */
interface UploadFile {
  long length() throws IOException;

  Digest digest() throws IOException;

  InputStream from(long offset) throws IOException;

  static UploadFile of(Path file) {
    return new AsItIs(file);
  }

  static UploadFile ordered(Written disk) {
    return new Ordered(disk);
  }

  /** Writes the same bytes each time. */
  interface Written {
    long length();

    void writeTo(OutputStream out) throws IOException;
  }

  /** A file. */
  record AsItIs(Path file) implements UploadFile {
    @Override
    public long length() throws IOException {
      return Files.size(file);
    }

    @Override
    public Digest digest() throws IOException {
      try (var in = Files.newInputStream(file)) {
        return hashed(in::transferTo);
      }
    }

    @Override
    public InputStream from(long offset) throws IOException {
      return Channels.newInputStream(FileChannel.open(file).position(offset));
    }
  }

  /** A disk that is written anew. */
  record Ordered(Written disk) implements UploadFile {
    private static final int PIPE = 1 << 20;

    @Override
    public long length() {
      return disk.length();
    }

    @Override
    public Digest digest() throws IOException {
      return hashed(disk::writeTo);
    }

    @Override
    public InputStream from(long offset) throws IOException {
      var in = new PipedInputStream(PIPE);
      var out = new PipedOutputStream(in);
      Thread.ofPlatform()
          .name("order")
          .daemon()
          .start(
              () -> {
                try (out) {
                  disk.writeTo(out);
                } catch (IOException e) {
                  // Who reads finds that there are bytes missing, or has gone.
                }
              });
      in.skipNBytes(offset);
      return in;
    }
  }

  /** Gives its bytes. */
  @FunctionalInterface
  interface Bytes {
    void to(OutputStream out) throws IOException;
  }

  private static Digest hashed(Bytes bytes) throws IOException {
    try (var out = new DigestOutputStream(OutputStream.nullOutputStream(), Digest.sha256())) {
      bytes.to(out);
      return Digest.finish(out.getMessageDigest());
    }
  }
}

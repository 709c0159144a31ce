package dev.platter.node.image;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.ForeignFormat;
import dev.platter.image.qcow2.Limits;
import dev.platter.image.qcow2.Qcow2Reader;
import dev.platter.model.PlatterException;
import dev.platter.plan.StateLayout;
import dev.platter.registry.RegistryException;
import dev.platter.registry.WebFiles;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Fetches one file from the web; whoever runs it holds the lock of its URL. What has come is on the
 * disk every so often, with a note of how much and of which version: a later run hashes that again
 * and goes on behind it, if the server still has that version, else from the start. What is refused
 * leaves nothing behind.
 */
final class WebDownload {
  private static final int BUFFER = 256 << 10;
  private static final long BETWEEN_NOTES = 64 << 20;
  private static final int TRIES = 4;
  private static final byte[] QCOW2 = {'Q', 'F', 'I', (byte) 0xfb};

  /**
   * @param bytes the longest file
   * @param time the longest download; what came until then is kept
   * @param pause before the second try after a connection broke
   */
  record Bounds(long bytes, Duration time, Duration pause) {
    static final Bounds USUAL = new Bounds(1L << 40, Duration.ofHours(12), Duration.ofSeconds(1));
  }

  private final StateLayout layout;
  private final Reserve room;
  private final WebStore store;
  private final WebFiles files;
  private final String url;
  private final URI uri;
  private final Optional<Digest> expected;
  private final Bounds bounds;
  private final Images.BytesDone progress;
  private final long end;

  private MessageDigest sha = Digest.sha256();
  private byte[] first = {};
  private WebFiles.Version version = WebFiles.Version.UNKNOWN;
  private long size = -1;
  private long done;
  private long noted;

  WebDownload(
      StateLayout layout,
      WebFiles files,
      String url,
      Optional<Digest> expected,
      Bounds bounds,
      Images.BytesDone progress) {
    this.layout = layout;
    this.room = new Reserve(layout.web(), url);
    this.store = new WebStore(layout);
    this.files = files;
    this.url = url;
    this.uri = URI.create(url);
    this.expected = expected;
    this.bounds = bounds;
    this.progress = progress;
    this.end = System.nanoTime() + bounds.time.toNanos();
  }

  /**
   * @param begun an answer that has come already
   */
  WebStore.Note run(WebFiles.@Nullable Bytes begun) throws IOException {
    var part = layout.webPart(WebStore.key(url));
    try (var _ = begun;
        var file =
            FileChannel.open(
                part,
                StandardOpenOption.CREATE,
                StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
      if (begun == null) {
        resume(file);
      }
      fetch(file, begun);
      file.force(true);
      return finish(part);
    } catch (BadImageException | PlatterException e) {
      store.forgetPart(url);
      throw e;
    } catch (RegistryException e) {
      if (e.kind() != RegistryException.Kind.UNAVAILABLE || !version.isKnown()) {
        store.forgetPart(url);
      }
      throw e;
    }
  }

  private void resume(FileChannel file) throws IOException {
    var part = store.part(url);
    if (part.isEmpty() || !part.get().version().isKnown() || file.size() < part.get().done()) {
      return;
    }
    version = part.get().version();
    size = part.get().size();
    var buffer = ByteBuffer.allocate(BUFFER);
    while (done < part.get().done()) {
      buffer.clear().limit((int) Math.min(BUFFER, part.get().done() - done));
      int n = file.read(buffer, done);
      if (n < 0) {
        throw new IOException("the part of " + url + " that was here has become shorter");
      }
      take(buffer.flip());
    }
    noted = done;
  }

  private void fetch(FileChannel file, WebFiles.@Nullable Bytes begun) throws IOException {
    long before = done;
    var answer = begun;
    for (int tries = 1; size < 0 || done < size; tries++) {
      try (var bytes = answer != null ? answer : files.getFrom(uri, done, version)) {
        answer = null;
        copy(bytes, file);
        return;
      } catch (RegistryException e) {
        // A connection that brought something is no failure, unless all has to come again.
        if (done > before && version.isKnown()) {
          tries = 0;
        }
        before = done;
        note(file);
        if (e.kind() != RegistryException.Kind.UNAVAILABLE || tries >= TRIES) {
          throw e;
        }
        pause();
      }
    }
  }

  private void copy(WebFiles.Bytes bytes, FileChannel file) throws IOException {
    if (bytes.from() == 0) {
      begin(bytes);
    } else if (bytes.size() != size && size >= 0) {
      throw new BadImageException(
          "the server says that the file has %d bytes, and before that it had %d"
              .formatted(bytes.size(), size));
    }
    size = bytes.size();
    file.truncate(done);
    note(file);
    byte[] buffer = new byte[BUFFER];
    for (int n; (n = bytes.body().read(buffer)) >= 0; ) {
      long at = done;
      var got = ByteBuffer.wrap(buffer, 0, n);
      take(got.duplicate());
      while (got.hasRemaining()) {
        at += file.write(got, at);
      }
      progress.bytes("fetch", done, size);
      if (done - noted >= BETWEEN_NOTES) {
        note(file);
      }
    }
    if (size >= 0 && done < size) {
      throw new BadImageException("the server promised %d bytes and sent %d".formatted(size, done));
    }
    size = done;
  }

  private void begin(WebFiles.Bytes bytes) throws IOException {
    done = 0;
    noted = 0;
    first = new byte[0];
    sha = Digest.sha256();
    version = bytes.version();
    if (bytes.size() > bounds.bytes) {
      throw tooLong();
    }
    room.require(Math.max(0, bytes.size()));
  }

  private BadImageException tooLong() {
    return new BadImageException("the file has more than the limit of " + bounds.bytes + " bytes");
  }

  /** Counts and hashes what came; stops what will not be used as soon as that is known. */
  private void take(ByteBuffer bytes) throws IOException {
    if (first.length < ForeignFormat.LONGEST) {
      int more = Math.min(ForeignFormat.LONGEST - first.length, bytes.remaining());
      first = Arrays.copyOf(first, first.length + more);
      bytes.get(bytes.position(), first, first.length - more, more);
      var other = ForeignFormat.of(first);
      if (other.isPresent()) {
        throw new BadImageException("it is " + other.get() + ", not a raw or qcow2 disk");
      }
    }
    done += bytes.remaining();
    sha.update(bytes);
    if (done > bounds.bytes || (size >= 0 && done > size)) {
      throw tooLong();
    }
    if (System.nanoTime() > end) {
      throw new IOException(
          "it takes more than %d minutes; try again to go on with it"
              .formatted(bounds.time.toMinutes()));
    }
  }

  /** Bytes are on the disk before the note that counts them. */
  private void note(FileChannel file) throws IOException {
    room.require(0);
    file.force(false);
    store.keep(url, new WebStore.Part(version.tag(), version.modified(), size, done));
    noted = done;
  }

  private void pause() throws IOException {
    try {
      Thread.sleep(bounds.pause);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while fetching " + url);
    }
  }

  private WebStore.Note finish(Path part) throws IOException {
    if (done == 0) {
      throw new BadImageException("the file is empty");
    }
    var digest = Digest.finish(sha);
    if (expected.isPresent() && !expected.get().equals(digest)) {
      throw new BadImageException("the file has the digest " + digest + ", not " + expected.get());
    }
    if (first.length >= 4 && Arrays.equals(first, 0, 4, QCOW2, 0, 4)) {
      // Only to look at the header: what is refused later has been copied in vain.
      Qcow2Reader.open(part, Limits.DEFAULT).close();
    }
    var note = new WebStore.Note(url, version.tag(), version.modified(), digest.hex(), done);
    Files.move(part, layout.webFile(digest.toString()), StandardCopyOption.ATOMIC_MOVE);
    store.keep(note);
    store.forgetPart(url);
    return note;
  }
}

package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.status;
import static dev.platter.registry.FakeUploads.Fate.FINE;
import static dev.platter.registry.FakeUploads.Fate.answers;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Uploads that one process leaves and another goes on with. */
class ResumedUploadTest {
  private static final int CHUNK = 1000;
  private static final byte[] BYTES = random();
  private static final Descriptor BLOB = new Descriptor("t", Digest.of(BYTES), BYTES.length);

  @TempDir Path work;

  private static byte[] random() {
    byte[] bytes = new byte[2500];
    new Random(8).nextBytes(bytes);
    return bytes;
  }

  /** As another process would: all it shares with the one before are the notes. */
  private RegistryPush process(Reference image) throws IOException {
    return FakeRegistry.eager(RegistrySettings.defaults(), Credentials.none())
        .push(image)
        .inChunksOf(CHUNK)
        .remembering(UploadNotes.in(work.resolve("notes")));
  }

  private void push(FakeRegistry registry) throws IOException {
    process(registry.image()).blob(BlobContent.of(BLOB, BYTES), PushProgress.NONE);
  }

  /** One chunk arrives, then the registry is down for longer than we wait. */
  private FakeUploads cutAfterOneChunk(FakeRegistry registry) {
    FakeUploads.Fate[] fates = new FakeUploads.Fate[7];
    Arrays.fill(fates, answers(status(503)));
    fates[0] = FINE;
    var uploads = new FakeUploads(registry, BLOB, fates);
    assertThatThrownBy(() -> push(registry)).isInstanceOf(RegistryException.class);
    assertThat(uploads.calls).doesNotContain("DELETE");
    uploads.calls.clear();
    return uploads;
  }

  private List<Path> notes() throws IOException {
    try (Stream<Path> files = Files.list(work.resolve("notes"))) {
      return files.toList();
    }
  }

  @Test
  void anotherProcessGoesOnWhereTheRegistryStands() throws IOException {
    try (var registry = new FakeRegistry()) {
      FakeUploads uploads = cutAfterOneChunk(registry);
      push(registry);
      assertThat(uploads.calls)
          .containsExactly("HEAD", "GET", "PATCH 1000-1999", "PATCH 2000-2499", "PUT", "HEAD");
      assertThat(uploads.received.toByteArray()).isEqualTo(BYTES);
      assertThat(notes()).isEmpty();
    }
  }

  @Test
  void onlyTheUserCanReadANoteAndOldOnesGo() throws IOException {
    try (var registry = new FakeRegistry()) {
      Path old = Files.createDirectories(work.resolve("notes")).resolve("old");
      Files.createFile(old);
      Files.setLastModifiedTime(old, FileTime.from(Instant.now().minus(Duration.ofDays(8))));
      cutAfterOneChunk(registry);
      assertThat(notes()).hasSize(1).doesNotContain(old);
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(notes().getFirst())))
          .isEqualTo("rw-------");
    }
  }

  @Test
  void whatTheRegistryHasForgottenStartsAgain() throws IOException {
    try (var registry = new FakeRegistry()) {
      cutAfterOneChunk(registry);
      var uploads = new FakeUploads(registry, BLOB);
      push(registry);
      assertThat(uploads.calls)
          .containsSubsequence("GET", "POST", "PATCH 0-999", "PATCH 1000-1999", "PUT");
      assertThat(uploads.received.toByteArray()).isEqualTo(BYTES);
      assertThat(notes()).isEmpty();
    }
  }

  @Test
  void anUploadThatHasOtherBytesIsDroppedAndStartsAgain() throws IOException {
    try (var registry = new FakeRegistry()) {
      FakeUploads uploads = cutAfterOneChunk(registry);
      uploads.received.reset();
      uploads.received.write(new byte[CHUNK]);
      push(registry);
      assertThat(uploads.calls).containsSubsequence("GET", "PUT", "DELETE", "POST", "PATCH 0-999");
      assertThat(uploads.received.toByteArray()).isEqualTo(BYTES);
      assertThat(notes()).isEmpty();
    }
  }

  @Test
  void aNoteThatIsNonsenseIsAsGoodAsNone() throws IOException {
    try (var registry = new FakeRegistry()) {
      cutAfterOneChunk(registry);
      Path note = notes().getFirst();
      for (String nonsense : new String[] {"", "file:///etc/passwd", "http://[", "\0"}) {
        var uploads = new FakeUploads(registry, BLOB);
        Files.writeString(note, nonsense);
        push(registry);
        assertThat(uploads.calls).contains("PATCH 0-999").doesNotContain("GET");
      }
    }
  }

  @Test
  void dockersRegistryKeepsWhatArrivedBeforeAnInterrupt() throws Exception {
    try (var registry = new DockerRegistry(work, "")) {
      Reference image = Reference.parse(registry.host() + "/vm:v1");
      var reached = new CountDownLatch(1);
      var content =
          new BlobContent(
              BLOB,
              offset -> {
                if (offset > 0) {
                  reached.countDown();
                  try {
                    Thread.sleep(Duration.ofMinutes(1));
                  } catch (InterruptedException e) {
                    throw new IOException(e);
                  }
                }
                return new ByteArrayInputStream(BYTES);
              });
      try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
        var push =
            threads.submit(
                () -> {
                  process(image).blob(content, PushProgress.NONE);
                  return 0;
                });
        reached.await();
        push.cancel(true);
      }
      var sent = new ArrayList<Long>();
      process(image).blob(BlobContent.of(BLOB, BYTES), (_, bytes) -> sent.add(bytes));
      assertThat(sent).startsWith(1000L, 2000L);
      assertThat(process(image).exists(BLOB)).isTrue();
    }
  }
}

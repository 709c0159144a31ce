package dev.platter.node.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Platform;
import dev.platter.image.oci.Resolved;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Queue;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A layer of a registry that is away, or whose proxy lies about where it ends. */
class PatientBlobsTest {
  private final byte[] blob = new byte[100_000];
  private final Queue<Answer> answers = new ArrayDeque<>();
  private Descriptor descriptor;

  private interface Answer {
    InputStream of(byte[] bytes) throws IOException;
  }

  @BeforeEach
  void prepare() {
    new Random(1).nextBytes(blob);
    descriptor = new Descriptor("application/octet-stream", Digest.of(blob), blob.length);
  }

  private static InputStream away(byte[] bytes) throws IOException {
    throw new IOException("the registry is away");
  }

  private static InputStream all(byte[] bytes) {
    return new ByteArrayInputStream(bytes);
  }

  /** As a proxy that ends an answer properly, and too early. */
  private static Answer only(int most) {
    return bytes -> new ByteArrayInputStream(bytes, 0, Math.min(bytes.length, most));
  }

  private PatientBlobs blobs(boolean wanted) {
    return new PatientBlobs(
        new BlobSource() {
          @Override
          public Resolved resolve(String tagOrDigest, Platform platform) {
            throw new UnsupportedOperationException();
          }

          @Override
          public InputStream open(Descriptor layer) {
            throw new UnsupportedOperationException();
          }

          @Override
          public InputStream open(Descriptor layer, long from, long length) throws IOException {
            return answers.remove().of(Arrays.copyOfRange(blob, (int) from, (int) (from + length)));
          }
        },
        () -> wanted);
  }

  private static byte[] read(InputStream opened) throws IOException {
    try (opened) {
      return opened.readAllBytes();
    }
  }

  @Test
  void aFurtherLayerIsBegunWhenItsRegistryIsBack() throws IOException {
    answers.add(PatientBlobsTest::away);
    answers.add(PatientBlobsTest::away);
    answers.add(PatientBlobsTest::all);
    assertThat(read(blobs(true).open(descriptor))).isEqualTo(blob);
  }

  @Test
  void aTableOfAFurtherLayerIsWaitedForToo() throws IOException {
    answers.add(PatientBlobsTest::away);
    answers.add(PatientBlobsTest::all);
    assertThat(read(blobs(true).open(descriptor, 100, 50)))
        .isEqualTo(Arrays.copyOfRange(blob, 100, 150));
  }

  @Test
  void whoAsksForTheImageFirstIsToldAtOnce() {
    answers.add(PatientBlobsTest::away);
    answers.add(PatientBlobsTest::away);
    assertThatThrownBy(() -> blobs(false).open(descriptor)).hasMessage("the registry is away");
    assertThatThrownBy(() -> blobs(false).open(descriptor, 0, 10))
        .hasMessage("the registry is away");
  }

  @Test
  void anAnswerThatEndsTooEarlyIsAskedForAgainWhereItEnded() throws IOException {
    answers.add(only(40_000));
    answers.add(only(30_000));
    answers.add(PatientBlobsTest::all);
    assertThat(read(blobs(false).open(descriptor))).isEqualTo(blob);
  }

  /** As a registry's client tells it. */
  @Test
  void aRefusalOfAShortAnswerIsTheSame() throws IOException {
    answers.add(
        _ -> {
          return new InputStream() {
            @Override
            public int read() throws IOException {
              throw new BadImageException("ends after 0 of 100000 bytes");
            }
          };
        });
    answers.add(PatientBlobsTest::all);
    assertThat(read(blobs(false).open(descriptor))).isEqualTo(blob);
  }

  @Test
  void aLayerThatEndsTwiceAtTheSamePlaceIsNotWhatTheManifestSays() {
    answers.add(only(40_000));
    answers.add(only(0));
    assertThatThrownBy(() -> read(blobs(true).open(descriptor)))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("ends after 40000 of 100000 bytes");
  }
}

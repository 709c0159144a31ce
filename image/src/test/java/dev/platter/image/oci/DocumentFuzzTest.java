package dev.platter.image.oci;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * Any bytes are a manifest, an index or a config, or are refused with {@link BadImageException};
 * and whatever a tag names, an image can be added to it or it is refused. An ordinary test run
 * tries the inputs in {@code DocumentFuzzTestInputs}; to fuzz one method for 30 seconds:
 *
 * <pre>
 *   JAZZER_FUZZ=1 mvn -pl image test -Dtest=DocumentFuzzTest#anyBytesAreADocumentOrAreRefused \
 *     -Dtest.jvm="-XX:+UseSerialGC -Xmx256m --enable-native-access=ALL-UNNAMED"
 * </pre>
 */
class DocumentFuzzTest {
  private static final NewImage IMAGE = image();
  private static final byte[] CONFIG =
      "{\"os\":\"linux\",\"architecture\":\"arm\",\"rootfs\":{\"diff_ids\":[]}}"
          .getBytes(StandardCharsets.UTF_8);

  private static NewImage image() {
    Digest digest = Digest.of(new byte[0]);
    return new NewImage(
        new Platform("linux", "arm64", "v8"),
        new Layer(new Descriptor(MediaTypes.OCI_LAYER_GZIP, digest, 0), digest));
  }

  @FuzzTest(maxDuration = "30s")
  void anyBytesAreADocumentOrAreRefused(byte[] bytes) throws IOException {
    try {
      Resolved.follow(bytes, Platform.LINUX_AMD64, ignored -> IMAGE.manifest());
    } catch (BadImageException e) {
      // Refused: that is an answer.
    }
    byte[] appended;
    try {
      appended = PlatformIndex.append(bytes, IMAGE, ignored -> CONFIG);
    } catch (BadImageException e) {
      return; // Refused: that is an answer.
    }
    if (appended.length > Document.MAX_BYTES) {
      return; // Larger than any registry takes.
    }
    if (!(Document.parse(appended) instanceof Index index)
        || !index.manifests().getLast().equals(IMAGE.indexEntry())
        || index.manifests().stream().filter(IMAGE.indexEntry()::equals).count() != 1) {
      throw new AssertionError("lost: " + new String(appended, StandardCharsets.UTF_8));
    }
  }

  @FuzzTest(maxDuration = "30s")
  void anyBytesAreAConfigOrAreRefused(byte[] bytes) {
    try {
      ImageConfig config = ImageConfig.parse(bytes);
      if (!config.platform().isSameAs(config.platform())) {
        throw new AssertionError(config.platform() + " is not itself");
      }
    } catch (BadImageException e) {
      // Refused: that is an answer.
    }
  }
}

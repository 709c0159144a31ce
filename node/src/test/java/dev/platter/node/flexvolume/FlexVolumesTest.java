package dev.platter.node.flexvolume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FlexVolumesTest {
  private static final String POD = "4f1c3a0e-0001-4c59-9d7e-000000000001";

  @TempDir Path root;

  private Path volume(String driver, String name) throws IOException {
    return Files.createDirectories(
        root.resolve("pods").resolve(POD).resolve("volumes").resolve(driver).resolve(name));
  }

  private Path file(String name) throws IOException {
    return volume("virtlet~flexvolume_driver", name).resolve("virtlet-flexvolume.json");
  }

  @Test
  void whatTheDriverKeptIsFoundUnderBothNamesOfTheDriver() throws Exception {
    assumeTrue(MountNamespace.isPossible(), "no mount namespaces: not root");
    var driver = Files.write(root.resolve("driver"), FlexVolumeDriver.script());
    try (var namespace = new MountNamespace()) {
      var inline =
          """
          {"Type":"ceph","Monitor":"10.0.0.1:6789","SECRET":"AQBzPool","part":"2","é":"$(x)",
           "kubernetes.io/fsType":"","kubernetes.io/readwrite":"ro","kubernetes.io/pod.name":"vm",
           "kubernetes.io/pod.namespace":"default","kubernetes.io/pod.uid":"%s",
           "kubernetes.io/secret/userKey":"QVFCek9m"}"""
              .formatted(POD);
      namespace.run(
          "sh", driver, "mount", volume("kubernetes.io~flexvolume_driver", "vol10"), inline);
      namespace.run(
          "sh",
          driver,
          "mount",
          volume("virtlet~flexvolume_driver", "vol2"),
          "{\"type\":\"qcow2\",\"kubernetes.io/readwrite\":\"rw\"}");
      volume("virtlet~flexvolume_driver", "not-mounted-yet");

      var found = FlexVolumes.of(namespace.outside(root), POD);
      assertThat(found.keySet()).containsExactly("vol10", "vol2");
      var ceph = found.get("vol10");
      assertThat(ceph.options())
          .isEqualTo(Map.of("type", "ceph", "monitor", "10.0.0.1:6789", "part", "2", "é", "$(x)"));
      assertThat(ceph.readOnly()).isTrue();
      assertThat(ceph.kubelet("pod.name")).contains("vm");
      assertThat(ceph.kubelet("pod.namespace")).contains("default");
      assertThat(ceph.kubelet("fsType")).contains("");
      assertThat(ceph.secret()).contains("AQBzPool");
      assertThat(ceph.secret("userKey"))
          .hasValueSatisfying(k -> assertThat(k).asString().isEqualTo("AQBzOf"));
      assertThat(ceph.secret("userkey")).isEmpty();
      assertThat(found.toString()).contains("10.0.0.1").doesNotContain("AQBz", "QVFC");
      var blank = found.get("vol2");
      assertThat(blank.options()).isEqualTo(Map.of("type", "qcow2"));
      assertThat(blank.readOnly()).isFalse();
      assertThat(blank.secret()).isEmpty();

      namespace.run("sh", driver, "unmount", volume("virtlet~flexvolume_driver", "vol2"));
      assertThat(FlexVolumes.of(namespace.outside(root), POD).keySet()).containsExactly("vol10");
    }
  }

  @Test
  void aPodWithoutFlexVolumesHasNone() throws IOException {
    assertThat(FlexVolumes.of(root, POD)).isEmpty();
    Files.createDirectories(
        root.resolve("pods").resolve(POD).resolve("volumes/kubernetes.io~secret/s"));
    assertThat(FlexVolumes.of(root, POD)).isEmpty();
    assertThat(FlexVolumes.of(root.resolve("missing"), POD)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "''|it is not a JSON object",
        "{\"secret\": AQBzText}|is not JSON",
        "{\"secret\": \"AQBzText\"|is not JSON",
        "{\"secret\": \"AQBzText\", \"secret\": \"AQBzText\"}|is not JSON with every key once",
        "{\"secret\": \"AQBzText\", \"Secret\": \"AQBzText\"}|the option secret is given twice",
        "{\"Type\": \"raw\", \"type\": \"AQBz\"}|the option type is given twice",
        "{\"secret\": \"AQBzText\"} \"AQBzText\"|something follows the JSON object",
        "[\"AQBzText\"]|it is not a JSON object",
        "\"AQBzText\"|it is not a JSON object",
        "{\"part\": 2, \"secret\": \"AQBzText\"}|the value of part is not text",
        "{\"secret\": {\"a\": \"AQBzText\"}}|the value of secret is not text",
        "{\"secret\": null}|the value of secret is not text",
        "{\"kubernetes.io/readwrite\": \"AQBz\"}|readwrite is neither rw nor ro",
        "{\"kubernetes.io/pod.uid\": \"AQBz\"}|says that it belongs to another pod",
      })
  void whatTheDriverDidNotWriteIsRefusedWithoutBeingShown(String content, String why)
      throws IOException {
    Files.writeString(file("v"), content.replace("''", ""));
    refused(why);
  }

  private void refused(String why) {
    var refused = catchThrowableOfType(PlatterException.class, () -> FlexVolumes.of(root, POD));
    assertThat(refused).hasMessageContaining(why).hasMessageContaining(root + "/pods/" + POD);
    assertThat(refused.code()).isEqualTo(Code.REFUSED);
    var trace = new StringWriter();
    refused.printStackTrace(new PrintWriter(trace));
    assertThat(trace.toString()).doesNotContain("AQBz");
  }

  @Test
  void aSecretThatIsNotBase64IsNotShown() throws IOException {
    Files.writeString(file("v"), "{\"kubernetes.io/secret/key\": \"*AQBz\"}");
    var volume = FlexVolumes.of(root, POD).get("v");
    var refused = catchThrowableOfType(IllegalArgumentException.class, () -> volume.secret("key"));
    assertThat(refused).hasMessage("a secret of the FlexVolume v is not base64").hasNoCause();
  }

  @Test
  void aFileOfOneMebibyteIsReadAndALargerOneIsNot() throws IOException {
    var frame = "{\"secret\": \"AQBz\", \"a\": \"\"}";
    var fill = "x".repeat((1 << 20) - frame.length());
    Files.writeString(file("v"), frame.replace("\"\"", '"' + fill + '"'));
    assertThat(FlexVolumes.of(root, POD).get("v").options()).containsEntry("a", fill);
    Files.writeString(file("v"), frame.replace("\"\"", '"' + fill + "x\""));
    refused("is larger than 1 MiB");
  }

  @Test
  void twoVolumesOfOneNameAreRefused() throws IOException {
    Files.writeString(file("v"), "{}");
    var other = volume("kubernetes.io~flexvolume_driver", "v");
    Files.writeString(other.resolve("virtlet-flexvolume.json"), "{}");
    refused("whose name another FlexVolume of the pod has");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "cd $v; ln -s ../../../../../elsewhere/virtlet-flexvolume.json .|is not a regular file",
        "cd $v; mkfifo virtlet-flexvolume.json|is not a regular file",
        "cd $v; mkdir virtlet-flexvolume.json|is not a regular file",
        "cd $v/..; rmdir v; ln -s ../../../../elsewhere v|is not a directory",
        "cd $v/..; rmdir v; mkfifo v|is not a directory",
        "cd $v/../..; mv virtlet~flexvolume_driver x; ln -s x virtlet~flexvolume_driver|is not a directory",
        "cd $v/../../..; mv volumes x; ln -s x volumes|is not a directory",
        "cd $v/../../../..; mv $pod x; ln -s x $pod|is not a directory",
      })
  void noLinkIsFollowedAndNothingWaits(String prepare, String why) throws IOException {
    var elsewhere = Files.createDirectory(root.resolve("elsewhere"));
    Files.writeString(elsewhere.resolve("virtlet-flexvolume.json"), "{\"secret\": \"AQBz\"}");
    var volume = volume("virtlet~flexvolume_driver", "v");
    Shell.run("sh", "-ec", "v=" + volume + "; pod=" + POD + "; " + prepare);
    refused(why);
  }

  @ParameterizedTest
  @CsvSource({"..", "a/b", "''", "a b"})
  void aPodIsNamedByItsUidAlone(String uid) {
    assertThat(
            catchThrowableOfType(IllegalArgumentException.class, () -> FlexVolumes.of(root, uid)))
        .hasMessageContaining("not the UID of a pod");
  }
}

package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With volumes as a kubelet leaves them. */
class LauncherSecretsTest {
  private static final VmKey KEY = new VmKey("alice", "db");
  private static final String POD = "00000000-0000-0000-0000-000000000001";

  @TempDir Path work;
  private Owners owners;
  private LauncherSecrets secrets;

  @BeforeEach
  void open() throws IOException {
    owners = new Owners(work.resolve("owners"), _ -> {});
    secrets = new LauncherSecrets(owners, work.resolve("kubelet"));
  }

  private void volume(String name, Map<String, String> files) throws IOException {
    var volume =
        work.resolve("kubelet/pods/" + POD + "/volumes/kubernetes.io~secret").resolve(name);
    var data = Files.createDirectories(volume.resolve("..2026_11_16"));
    Files.createSymbolicLink(volume.resolve("..data"), data.getFileName());
    for (var file : files.entrySet()) {
      Files.writeString(data.resolve(file.getKey()), file.getValue());
      Files.createSymbolicLink(
          volume.resolve(file.getKey()), Path.of("..data").resolve(file.getKey()));
    }
  }

  /** As the daemon notes it when the VM is started. */
  private void start(Map<String, String> volumes) throws IOException {
    var pod = new PodBuilder().withNewSpec().endSpec();
    for (var volume : volumes.entrySet()) {
      pod.editSpec()
          .addNewVolume()
          .withName(volume.getKey())
          .withNewSecret()
          .withSecretName(volume.getValue())
          .endSecret()
          .endVolume()
          .endSpec();
    }
    var launcher = new Owner.Launcher(POD, LauncherSecrets.volumes(pod.build()));
    owners.put(new Owner(KEY, POD, Owner.Kind.POD, "", 0, List.of(), launcher));
  }

  private List<String> logins() throws IOException {
    return secrets.of(KEY).logins().documents().stream()
        .map(bytes -> new String(bytes, StandardCharsets.UTF_8))
        .toList();
  }

  @Test
  void whatTheKubeletHasOfAVmIsFoundByItsRecordAlone() throws IOException {
    volume("platter-pull-0", Map.of(".dockercfg", "{\"old.example\": {\"auth\": \"eDp5\"}}"));
    volume("platter-pull-1", Map.of(".dockerconfigjson", "{\"auths\": {}}"));
    volume("platter-pull-2", Map.of());
    volume("platter-data-0", Map.of("token", "tulip"));
    volume("mine", Map.of("key", "value"));
    start(
        Map.of(
            "platter-pull-0", "one",
            "platter-pull-1", "two",
            "platter-pull-2", "missing",
            "platter-data-0", "web",
            "mine", "mine"));
    assertThat(logins())
        .containsExactlyInAnyOrder(
            "{\"auths\":{\"old.example\":{\"auth\":\"eDp5\"}}}", "{\"auths\": {}}");
    assertThat(secrets.of(KEY).find("alice/web", "token")).contains("tulip".getBytes());
    assertThat(secrets.of(KEY).has("alice/mine")).as("files in the guest").isFalse();
    assertThat(Files.readString(work.resolve("owners/" + KEY.word() + ".json")))
        .doesNotContain("tulip", "eDp5");
  }

  @Test
  void aPodThatIsGoneHasNothing() throws IOException {
    start(Map.of("platter-pull-0", "one"));
    assertThat(logins()).isEmpty();
    assertThat(secrets.of(new VmKey("bob", "db")).logins().isEmpty()).isTrue();
  }

  @Test
  void aRecordOfTheVersionBeforeIsRead() throws IOException {
    Files.writeString(
        work.resolve("owners/" + KEY.word() + ".json"),
        "{\"key\":{\"namespace\":\"alice\",\"name\":\"db\"},\"uid\":\"u\",\"kind\":\"POD\","
            + "\"description\":\"\",\"console\":0,\"leases\":[]}");
    assertThat(owners.find(KEY)).isPresent();
    assertThat(logins()).isEmpty();
  }
}

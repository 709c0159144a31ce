package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.cluster.api.Names;
import dev.platter.model.IdentityKey;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class IdentityPodsTest {
  private static final IdentityKey DB = new IdentityKey("alice", "db");

  @TempDir Path work;
  private final List<Pod> pods = new ArrayList<>();

  private IdentityPods here() {
    return new IdentityPods(() -> pods, work);
  }

  private Pod pod(String namespace, String uid, String identity) {
    var pod =
        new PodBuilder()
            .withNewMetadata()
            .withName(uid)
            .withNamespace(namespace)
            .withUid(uid)
            .addToLabels(Names.IDENTITY, identity)
            .endMetadata()
            .withNewSpec()
            .addNewVolume()
            .withName("platter-pull-0")
            .withNewSecret()
            .withSecretName("login")
            .endSecret()
            .endVolume()
            .endSpec()
            .build();
    pods.add(pod);
    return pod;
  }

  private void mounted(String uid, String content) throws IOException {
    var volume = work.resolve("pods/" + uid + "/volumes/kubernetes.io~secret/platter-pull-0");
    var data = Files.createDirectories(volume.resolve("..2026_11_16"));
    Files.createSymbolicLink(volume.resolve("..data"), data.getFileName());
    Files.writeString(data.resolve(".dockerconfigjson"), content);
    Files.createSymbolicLink(
        volume.resolve(".dockerconfigjson"), Path.of("..data", ".dockerconfigjson"));
  }

  @Test
  void theyAreThoseOfThePodThatNamesTheIdentityInItsOwnNamespace() throws IOException {
    pod("bob", "his", "db");
    mounted("his", "{\"auths\": {\"his\": {}}}");
    pod("alice", "other", "web");
    mounted("other", "{\"auths\": {\"other\": {}}}");
    assertThat(here().logins(DB).isEmpty()).isTrue();
    pod("alice", "hers", "db");
    mounted("hers", "{\"auths\": {\"hers\": {}}}");
    assertThat(here().logins(DB).documents())
        .singleElement()
        .satisfies(bytes -> assertThat(new String(bytes)).contains("hers"));
  }

  @Test
  void theyMayNotBeMountedYetAndThoseOfAPodThatEndsDoNotCount() throws IOException {
    var pod = pod("alice", "hers", "db");
    assertThatThrownBy(() -> here().logins(DB)).isInstanceOf(NoSuchFileException.class);
    pod.getMetadata().setDeletionTimestamp("2026-01-01T00:00:00Z");
    assertThat(here().logins(DB).isEmpty()).isTrue();
  }
}

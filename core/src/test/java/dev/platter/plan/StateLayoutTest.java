package dev.platter.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StateLayoutTest {
  private final StateLayout layout = new StateLayout(Path.of("/state"), Path.of("/run"));

  @Test
  void anImageHasADirectoryOfItsDigest() {
    assertThat(layout.base("sha256:01ab")).hasToString("/state/images/sha256-01ab/base.raw");
  }

  @ParameterizedTest
  @ValueSource(strings = {"..", ".", "../../etc", "/etc", "sha256:01ab/../../vms"})
  void noDigestLeadsOutOfTheImages(String digest) {
    assertThatThrownBy(() -> layout.image(digest)).isInstanceOf(IllegalArgumentException.class);
  }
}

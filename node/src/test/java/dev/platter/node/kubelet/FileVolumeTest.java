package dev.platter.node.kubelet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FileVolumeTest {
  @TempDir Path work;
  private Path volume;

  /** As a kubelet's atomic writer does it. */
  @BeforeEach
  void write() throws IOException {
    volume = Files.createDirectory(work.resolve("volume"));
    sh(
        "mkdir -p ..2026_1/sub; printf one > ..2026_1/a; printf two > ..2026_1/sub/b;"
            + " chmod 400 ..2026_1/a; chmod 644 ..2026_1/sub/b;"
            + " ln -s ..2026_1 ..data; ln -s ..data/a a; ln -s ..data/sub sub");
  }

  private void sh(String script) {
    Shell.run("sh", "-ec", "cd " + volume + "; " + script);
  }

  @Test
  void eachFileIsFoundOnceWithItsMode() throws Exception {
    var files = FileVolume.read(volume);
    assertThat(files.keySet()).containsExactly("a", "sub/b");
    assertThat(files.get("a").mode()).isEqualTo(0400);
    assertThat(files.get("sub/b").content()).asString().isEqualTo("two");
    assertThat(files.toString()).doesNotContain("one");
  }

  @Test
  void filesThatWereReplacedAreTheNewOnes() throws Exception {
    sh(
        "mkdir ..2026_2; printf new > ..2026_2/a; ln -s ..2026_2 ..tmp; mv -T ..tmp ..data;"
            + " rm -r ..2026_1 sub");
    assertThat(FileVolume.read(volume).get("a").content()).asString().isEqualTo("new");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "ln -sfn /etc ..data",
        "ln -sfn ../other ..data",
        "ln -sfn .. ..data",
        "ln -sf /etc/passwd ..2026_1/a",
        "rm -f ..2026_1/a; mkfifo ..2026_1/a",
        "truncate -s 17M ..2026_1/sub/b",
        "rm ..data",
        "rm -r ..2026_1; ln -s /etc ..2026_1",
      })
  void whatNoKubeletWritesIsRefused(String change) {
    sh(change);
    assertThatThrownBy(() -> FileVolume.read(volume)).isInstanceOf(IOException.class);
  }

  @Test
  void aLinkInPlaceOfADirectoryIsNotFollowed() {
    sh("rm -r ..2026_1/sub; ln -s /etc ..2026_1/sub");
    assertThatThrownBy(() -> FileVolume.read(volume)).hasMessageContaining("symbolic link");
  }
}

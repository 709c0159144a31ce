package dev.platter.image.raw;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PinnedFileTest {
  @TempDir private Path dir;

  @Test
  void whatIsPinnedStaysTheSameWhenItsNameIsGivenAway() throws IOException {
    Path name = Files.writeString(dir.resolve("name"), "first");
    Path other = Files.writeString(dir.resolve("other"), "second, longer");
    try (PinnedFile pinned = PinnedFile.open(name)) {
      Files.move(other, name, StandardCopyOption.REPLACE_EXISTING);
      assertThat(pinned.path()).hasContent("first");
      assertThat(pinned.size()).isEqualTo(5);
      try (PinnedFile now = PinnedFile.open(name)) {
        assertThat(now.identity()).isNotEqualTo(pinned.identity());
      }
      Files.writeString(pinned.path(), "third");
    }
    assertThat(name).hasContent("second, longer");
  }

  @Test
  void aLinkIsHeldAndNotFollowed() throws IOException {
    Path target = Files.writeString(dir.resolve("target"), "secret");
    Path link = Files.createSymbolicLink(dir.resolve("link"), target);
    try (PinnedFile pinned = PinnedFile.open(link)) {
      assertThat(pinned.kind()).isEqualTo("a symbolic link");
      assertThat(pinned.isRegular()).isFalse();
      assertThatThrownBy(() -> Files.readString(pinned.path())).isInstanceOf(IOException.class);
    }
  }

  @Test
  void namesAreCountedAndAMissingOneIsSaidToBeMissing() throws IOException {
    Path file = Files.createFile(dir.resolve("file"));
    Files.createLink(dir.resolve("second"), file);
    try (PinnedFile pinned = PinnedFile.open(file)) {
      assertThat(pinned.names()).isEqualTo(2);
    }
    assertThatThrownBy(() -> PinnedFile.open(dir.resolve("missing")))
        .isInstanceOf(NoSuchFileException.class);
  }
}

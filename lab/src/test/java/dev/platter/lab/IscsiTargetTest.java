package dev.platter.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class IscsiTargetTest {
  @TempDir private Path dir;

  @Test
  void qemuWritesToTheFileAndLibiscsiListsIt() throws Exception {
    Path first = TestFile.make(dir.resolve("first"));
    Path second = TestFile.make(dir.resolve("second"));
    try (var target = IscsiTarget.start(dir)) {
      assertThat(target.add(first)).isEqualTo(1);
      assertThat(target.add(second)).isEqualTo(2);

      TestFile.mark(target.url(2));
      assertThat(TestFile.isMarked(second.toString())).isTrue();
      assertThat(TestFile.isMarked(first.toString())).isFalse();
      assertThat(Shell.run("iscsi-ls", "-s", "iscsi://" + target.portal()))
          .contains("Target:" + target.iqn(), "Lun:1 ", "Lun:2 ");
    }
  }

  @Test
  void withoutThePasswordThereIsNoDisk() throws Exception {
    try (var target = IscsiTarget.start(dir, new IscsiTarget.Chap("me", "a-long-password"))) {
      int lun = target.add(TestFile.make(dir.resolve("disk")));
      String anonymous = target.url(lun).replaceFirst("me%a-long-password@", "");

      assertThat(Shell.run("qemu-img", "info", target.url(lun))).contains("(4194304 bytes)");
      assertThat(Shell.shell().execute("qemu-img", "info", anonymous).err())
          .contains("Authentication failure");
      assertThat(
              Shell.shell().execute("qemu-img", "info", target.url(lun).replace("long", "")).err())
          .contains("Authentication failure");
    }
  }

  @Test
  void aServerThatDiedComesBackWithTheSameDisks() throws Exception {
    try (var target = IscsiTarget.start(dir, new IscsiTarget.Chap("me", "a-long-password"))) {
      target.add(TestFile.make(dir.resolve("first")));
      int lun = target.add(TestFile.make(dir.resolve("second")));
      TestFile.mark(target.url(lun));

      target.stop();
      assertThat(TestFile.isMarked(target.url(lun))).isFalse();
      target.restart();
      assertThat(TestFile.isMarked(target.url(lun))).isTrue();
    }
  }
}

package dev.platter.node.container;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.model.ClaimSource;
import dev.platter.node.container.DynamicVolume.Moment;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A process is killed with SIGKILL at each moment of making and unmaking a volume. Whoever comes
 * next goes on or undoes it: never two volumes, none forgotten, none deleted twice.
 */
class VolumeKillTest {
  @TempDir static Path work;
  private static VolumeLab lab;

  @BeforeAll
  static void start() throws IOException {
    assumeTrue(System.getProperty("user.name").equals("root"), "containerd needs root");
    lab = new VolumeLab(work);
  }

  @AfterAll
  static void stop() throws Exception {
    if (lab != null) {
      lab.close();
    }
  }

  @BeforeEach
  void forget() {
    lab.storage.forget();
  }

  @ParameterizedTest
  @EnumSource(names = {"PREPARED", "CREATED", "STARTED", "READY", "ASKED", "PUT", "ANSWERED"})
  void whatWasBegunIsUndone(Moment moment) throws Exception {
    KilledVolume.run("make", moment, lab);
    var asked = moment.compareTo(Moment.ASKED) >= 0;
    var made = moment.compareTo(Moment.PUT) >= 0;
    assertThat(lab.volume().unmake()).isEmpty();
    assertThat(lab.storage.made).hasSize(made ? 1 : 0);
    assertThat(lab.storage.deleted).isEqualTo(lab.storage.made);
    assertThat(lab.storage.deletions).hasValue(asked ? 1 : 0);
    lab.assertNothingIsLeft();
  }

  @ParameterizedTest
  @EnumSource(names = {"CREATED", "PUT"})
  void whatWasBegunIsFinished(Moment moment) throws Exception {
    KilledVolume.run("make", moment, lab);
    var volume = lab.volume();
    assertThat(volume.make(lab.container(""))).isEqualTo(new ClaimSource("made-for-you"));
    assertThat(lab.storage.made).containsExactly(lab.word());
    volume.unmake();
    assertThat(lab.storage.deletions).hasValue(1);
    lab.assertNothingIsLeft();
  }

  /**
   * Only between the answer to DELETE and its record can a second request be sent, and it finds
   * nothing.
   */
  @ParameterizedTest
  @EnumSource(names = {"DELETED", "RECORDED", "REMOVED"})
  void anUndoIsFinished(Moment moment) throws Exception {
    lab.volume().make(lab.container(""));
    KilledVolume.run("unmake", moment, lab);
    assertThat(lab.volume().unmake()).isEmpty();
    assertThat(lab.storage.deleted).hasSize(1).isEqualTo(lab.storage.made);
    assertThat(lab.storage.deletions).hasValue(moment == Moment.DELETED ? 2 : 1);
    lab.assertNothingIsLeft();
  }
}

package dev.platter.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.model.PlatterException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine.Command;

class MainTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int run(String... args) {
    return Main.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  @Test
  void helpNamesEveryCommandAndGoesToStandardOutput() {
    assertThat(run("--help")).isZero();
    assertThat(out.toString()).contains("version", "completion");
    assertThat(err.toString()).isEmpty();
  }

  @Test
  void helpHasEveryExitStatusThatAFailureCanHave() {
    run("--help");
    for (var code : PlatterException.Code.values()) {
      assertThat(out.toString()).containsPattern("(?m)^ +" + code.exitStatus() + "  +\\w");
    }
  }

  @Test
  void anUnknownCommandIsAUsageErrorOnStandardErrorOnly() {
    assertThat(run("no-such-command")).isEqualTo(2);
    assertThat(out.toString()).isEmpty();
    assertThat(err.toString()).contains("no-such-command");
  }

  @Test
  void versionIsTheSameAsCommandAndAsOption() {
    run("version");
    String command = out.toString();
    out.getBuffer().setLength(0);
    run("--version");
    assertThat(command).startsWith("platter ").isEqualTo(out.toString());
  }

  @Test
  void aCommandByItselfIsTheSameAsAmongAllOthers() {
    var all = Main.commandLine();
    assertThat(all.getSubcommands().keySet()).isEqualTo(Main.COMMANDS.keySet());
    for (var name : Main.COMMANDS.keySet()) {
      var alone = Main.commandLine(name, "x").getSubcommands().get(name);
      var among = all.getSubcommands().get(name);
      assertThat(alone.getUsageMessage())
          .isEqualTo(among.getUsageMessage())
          .contains("platter " + name);
      assertThat(alone.getCommandName()).isEqualTo(name);
      assertThat(among.getCommandSpec().userObject().getClass().getAnnotation(Command.class).name())
          .isEqualTo(name);
    }
  }

  @Test
  void installPrintsWhatKubectlAppliesAndNothingIfAnOptionIsWrong() {
    assertThat(run("install", "-n", "vms", "--pool", "fast=/storage/ssd:10Gi")).isZero();
    assertThat(out.toString())
        .startsWith("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: \"vms\"\n")
        .contains("\"kubevirt.io/storage.usage-type.fast\": \"/storage/ssd\"");
    out.getBuffer().setLength(0);
    assertThat(run("install", "--image-limit", "100Gi", "--image-rate", "20M")).isZero();
    assertThat(out.toString())
        .contains("- --limit\n        - \"100Gi\"\n        - --rate\n        - \"20000000\"\n");
    out.getBuffer().setLength(0);
    assertThat(run("install", "--image-limit", "80%")).isEqualTo(3);
    assertThat(run("install", "--image-rate", "0")).isEqualTo(3);
    assertThat(run("install", "-n", "No Namespace")).isEqualTo(3);
    assertThat(run("install", "--pool", "fast")).isEqualTo(3);
    assertThat(out.toString()).isEmpty();
    assertThat(err.toString())
        .contains("'No Namespace' is not a namespace", "'fast' is not a pool")
        .contains("'80%' is not a size", "a rate of 0 leaves nothing");
  }

  @Test
  void theListOfRawDevicesIsAnOptionOrAVariableAndTheOptionCounts(@TempDir Path dir)
      throws Exception {
    assertThat(run("ps", "--state", "" + dir.resolve("s"), "--raw-devices", "vd*,/dev/sdb"))
        .isEqualTo(3);
    assertThat(err.toString()).contains("'/dev/sdb' is absolute");
    var wrong = Map.of("VIRTLET_RAW_DEVICES", "mapper/../sdb");
    var log = dir.resolve("log");
    var state = dir.resolve("s");
    assertThat(Platter.start(wrong, log, "ps", "--state", state).waitFor()).isEqualTo(3);
    assertThat(log).content().contains("'mapper/../sdb' has an empty part");
    var process = Platter.start(wrong, log, "ps", "--state", state, "--raw-devices", "vd*");
    assertThat(process.waitFor()).isZero();
  }

  @Test
  void bashCompletesACommandWithTheCompletionScript(@TempDir Path dir) throws Exception {
    assertThat(run("completion")).isZero();
    Path script = Files.writeString(dir.resolve("platter.bash"), out.toString());
    String ask =
        "source '%s'; COMP_WORDS=(platter ver); COMP_CWORD=1; _complete_platter; echo ${COMPREPLY[*]}"
            .formatted(script);
    assertThat(bash(ask)).isEqualTo("version\n");
  }

  @Test
  void thePluginOfKubectlHasItsOwnHelpAndCompletion(@TempDir Path dir) throws Exception {
    assertThat(KubectlMain.run(new PrintWriter(out), new PrintWriter(err), "identity", "--help"))
        .isZero();
    assertThat(out.toString()).contains("kubectl-platter identity", "ls", "describe", "move", "rm");
    out.getBuffer().setLength(0);
    assertThat(KubectlMain.run(new PrintWriter(out), new PrintWriter(err), "completion")).isZero();
    Path script = Files.writeString(dir.resolve("kubectl-platter.bash"), out.toString());
    String ask =
        "source '%s'; COMP_WORDS=(kubectl-platter identity mo); COMP_CWORD=2; _complete_kubectl-platter; echo ${COMPREPLY[*]}"
            .formatted(script);
    assertThat(bash(ask)).isEqualTo("move\n");
    assertThat(KubectlMain.run(new PrintWriter(out), new PrintWriter(err), "identity", "move", "a"))
        .as("a move needs to know where")
        .isEqualTo(2);
  }

  private static String bash(String script) throws IOException, InterruptedException {
    Process bash =
        new ProcessBuilder("bash", "--norc", "-c", script).redirectErrorStream(true).start();
    String output = new String(bash.getInputStream().readAllBytes());
    bash.waitFor();
    return output;
  }
}

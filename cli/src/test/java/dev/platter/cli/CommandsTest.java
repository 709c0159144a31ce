package dev.platter.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.lab.IscsiTarget;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands as a user types them, with Platter's own libvirt in a directory of its own. */
class CommandsTest {
  @TempDir static Path work;

  private record Result(int status, String out, String err) {
    JsonNode json() throws IOException {
      return new ObjectMapper().readTree(out);
    }
  }

  private static Result platter(String... args) {
    var out = new StringWriter();
    var err = new StringWriter();
    var withState =
        Stream.concat(Arrays.stream(args), Stream.of("--state", work.resolve("s").toString()))
            .toArray(String[]::new);
    var status = Main.run(new PrintWriter(out), new PrintWriter(err), withState);
    return new Result(status, out.toString(), err.toString());
  }

  private static String manifest(String name, String disk) throws IOException {
    var file = work.resolve(name + ".yaml");
    Files.writeString(
        file,
        "kind: VM\nmetadata: {name: %s}\nspec:\n  domain:\n    memory: {guest: 32Mi}\n    devices:\n      disks:\n      - %s\n"
            .formatted(name, disk));
    return file.toString();
  }

  @BeforeAll
  static void nothingIsThereYet() {
    assertThat(work.resolve("s")).doesNotExist();
  }

  @AfterAll
  static void stopLibvirt() throws Exception {
    for (var state : List.of("s", "t")) {
      new dev.platter.node.libvirt.PrivateLibvirt(
              work.resolve(state + "/libvirt"), work.resolve(state + "/run/libvirt"))
          .stop();
    }
    // The daemon of images would stay for as long as a user might want another.
    Shell.shell().execute("pkill", "-f", work.resolve("s").toString());
  }

  @Test
  void aVmGoesThroughItsWholeLife() throws IOException {
    var file = manifest("life", "{name: data, source: {blank: {}}, size: 2Mi, keep: true}");
    assertThat(platter("run", file).status()).isZero();
    var ps = platter("ps", "-o", "json").json();
    assertThat(ps).hasSize(1);
    assertThat(ps.get(0).get("name").asText()).isEqualTo("life");
    assertThat(ps.get(0).get("phase").asText()).isEqualTo("running");
    assertThat(platter("inspect", "life").out())
        .contains("sda  data  scsi, writable, boot, kept", "└─ blank");
    assertThat(platter("run", file).status()).as("running already").isEqualTo(5);
    assertThat(platter("rm", "life").status()).as("rm of a running VM").isEqualTo(5);
    assertThat(platter("stop", "--time", "0", "life").status()).isZero();
    assertThat(platter("ps").out()).doesNotContain("life");
    assertThat(platter("ps", "--all").out()).contains("life", "stopped");
    assertThat(platter("start", "life").status()).isZero();
    assertThat(platter("logs", "life").status()).isZero();
    assertThat(platter("rm", "--force", "life").status()).isZero();
    assertThat(platter("ps", "--all", "-o", "json").json()).isEmpty();
    assertThat(platter("inspect", "life").status()).isEqualTo(4);
  }

  @Test
  void theDisksOfARunningVmAreChanged() throws IOException {
    platter("run", manifest("disks", "{name: root, source: {blank: {}}, size: 2Mi, keep: true}"));
    var more = work.resolve("more.yaml");
    Files.writeString(more, "- {name: more, source: {blank: {}}, size: 1Mi, keep: true}\n");
    assertThat(platter("disk", "attach", "disks", "-f", more.toString()).out())
        .isEqualTo("more is attached to disks as sdb\n");
    assertThat(platter("disk", "grow", "disks", "more", "3Mi").status()).isZero();
    assertThat(platter("disk", "snapshot", "disks", "root", "before").status()).isZero();
    var listed = platter("disk", "ls", "disks", "-o", "json").json();
    assertThat(listed.findValuesAsText("name")).containsExactly("root", "more");
    assertThat(listed.get(0).at("/snapshots/0").asText()).isEqualTo("before");
    assertThat(listed.get(1).get("size").asLong()).isEqualTo(3 << 20);
    assertThat(platter("inspect", "disks").out())
        .contains("├─ since snapshot before", "└─ blank", "sdb  more");
    assertThat(platter("disk", "rmsnapshot", "disks", "root", "before").status()).isZero();
    assertThat(platter("disk", "detach", "disks", "more").status()).isZero();
    assertThat(platter("disk", "ls", "disks").out()).contains("root", "sda").doesNotContain("more");
    assertThat(platter("disk", "grow", "disks", "root", "1Mi").status()).isEqualTo(3);
    assertThat(platter("disk", "grow", "disks", "nobody", "1Mi").status()).isEqualTo(4);
    assertThat(platter("disk", "detach", "disks", "root").status()).isEqualTo(5);
    assertThat(platter("disk").status()).isEqualTo(2);
    assertThat(platter("rm", "-f", "disks").status()).isZero();
  }

  @Test
  void aRunningVmMovesToAnotherStateDirectoryOrItIsSaidWhyNot() throws IOException {
    var disk = "{name: %s, source: {blank: {}}, size: 1Mi, keep: true}";
    platter("run", manifest("mover", disk.formatted("root")));
    var more = Files.writeString(work.resolve("later.yaml"), "- " + disk.formatted("later") + "\n");
    assertThat(platter("disk", "attach", "mover", "-f", more.toString()).status()).isZero();
    // What libvirt has found out of QEMU, which takes it seconds.
    var there = Files.createDirectories(work.resolve("t/libvirt"));
    Shell.run("cp", "-a", work.resolve("s/libvirt/cache"), there);
    var moved = platter("migrate", "mover", "--to", work.resolve("t").toString());
    assertThat(moved.status()).as(moved.err()).isZero();
    assertThat(moved.out()).contains("mover runs in", "the guest stood still for at most ");
    assertThat(platter("ps", "--all", "-o", "json").json()).isEmpty();
    var other = Platter.run("ps", "-o", "json", "--state", work.resolve("t"));
    assertThat(other.json().findValuesAsText("phase")).containsExactly("running");
    var back =
        Platter.run("migrate", "mover", "--state", work.resolve("t"), "--to", work.resolve("s"));
    assertThat(back.status()).as(back.err()).isZero();
    assertThat(platter("disk", "snapshot", "mover", "root", "before").status()).isZero();
    var refused = platter("migrate", "mover", "--to", work.resolve("t").toString());
    assertThat(refused.status()).isEqualTo(8);
    assertThat(refused.err()).contains("disk root: it has the snapshot before");
    assertThat(platter("rm", "-f", "mover").status()).isZero();
  }

  @Test
  void anIdentityOutlivesItsPodAndIsRemovedByItsOwnCommand() throws IOException {
    var disk = work.resolve("identity.qcow2");
    Shell.run("qemu-img", "create", "-q", "-f", "qcow2", disk, "4M");
    var directory = work.resolve("identity-layout");
    new OciLayoutWriter(directory).add("t", Platform.LINUX_AMD64, "identity.qcow2", disk);
    var layout = "oci:" + directory;
    var digest = Shell.run("skopeo", "inspect", "--format", "{{.Digest}}", layout + ":t").strip();
    var file = work.resolve("identity.yaml");
    Files.writeString(
        file,
        """
        apiVersion: virtlet.k8s/v1
        kind: VirtletVMIdentitySet
        metadata: {name: pets}
        spec: {image: "%1$s@%2$s", size: 8Mi}
        ---
        kind: Pod
        metadata:
          name: pet
          annotations: {kubernetes.io/target-runtime: virtlet.cloud, VirtletVMIdentitySet: pets}
        spec: {containers: [{image: "%1$s@%2$s", resources: {limits: {memory: 32Mi}}}]}
        """
            .formatted(layout, digest));
    assertThat(platter("plan", file.toString()).out())
        .contains("take write-exclusive lease on identity:default/pet")
        .contains("use the disk of the identity default/pet");
    assertThat(platter("identity", "ls", "-o", "json").json()).isEmpty();
    assertThat(platter("run", file.toString()).status()).isZero();
    var listed = platter("identity", "ls", "-o", "json").json().get(0);
    assertThat(listed.get("usedBy").get(0).asText()).isEqualTo("default/pet");
    assertThat(listed.get("size").asLong()).isEqualTo(8 << 20);
    assertThat(platter("identity", "rm", "pet").status()).isEqualTo(5);
    assertThat(platter("identity", "move", "pet", "--to", "default").status()).isEqualTo(5);
    assertThat(platter("rm", "-f", "pet").status()).isZero();
    assertThat(platter("identity", "move", "pet", "--to", "default").out())
        .startsWith("pet is in ")
        .contains("/pools/default/");
    var described = platter("identity", "describe", "pet", "-o", "json").json();
    assertThat(described.get("usedBy")).isEmpty();
    assertThat(described.get("identitySet").asText()).isEqualTo("pets");
    assertThat(Path.of(described.get("file").asText())).exists();
    assertThat(platter("identity", "rm", "pet").out()).isEqualTo("pet is removed\n");
    assertThat(Path.of(described.get("file").asText())).doesNotExist();
    assertThat(platter("identity", "describe", "pet").status()).isEqualTo(4);
    assertThat(platter("identity", "rm", "pet").status()).isEqualTo(4);
  }

  @Test
  void thePlanOfAContainersVolumeIsWhatIsKnownBeforeItAnswers() throws IOException {
    var file = manifest("made", "{source: {container: {image: example/maker}}}");
    assertThat(platter("plan", file).out())
        .contains("1. let the container example/maker make the volume of disk sda")
        .contains("follow from what the containers answer")
        .doesNotContain("# domain");
    var json = platter("plan", "-o", "json", "--containerd", "/c.sock", file).json();
    assertThat(json.get("whole").asBoolean()).isFalse();
    assertThat(json.at("/plan/steps/0/containerd").asText()).isEqualTo("/c.sock");
  }

  @Test
  void aChangedDescriptionOfAVmThatExistsIsRefused() throws IOException {
    platter("run", manifest("changed", "{source: {blank: {}}, size: 1Mi}"));
    var second = platter("run", manifest("changed", "{source: {blank: {}}, size: 2Mi}"));
    assertThat(second.status()).isEqualTo(5);
    assertThat(second.err()).contains("made from a different description", "platter rm changed");
    assertThat(platter("rm", "-f", "changed").status()).isZero();
  }

  @Test
  void planShowsStepsDomainAndSeedAndChangesNothing(@TempDir Path fresh) throws IOException {
    var file = manifest("planned", "{source: {blank: {}}, size: 1Mi}");
    var out = new StringWriter();
    var status =
        Main.run(
            new PrintWriter(out),
            new PrintWriter(new StringWriter()),
            "plan",
            file,
            "--state",
            fresh.resolve("s").toString());
    assertThat(status).isZero();
    assertThat(out.toString())
        .contains("create blank disk", "<domain type=", "start domain default.planned");
    assertThat(fresh.resolve("s")).doesNotExist();
    assertThat(platter("plan", file, "-o", "json").json().at("/plan/steps").size()).isEqualTo(3);
    assertThat(platter("plan", file, "-o", "yaml").out()).contains("plan:", "  steps:");
  }

  @Test
  void eachKindOfFailureHasItsExitStatusAndSaysWhatToDo() throws IOException {
    var wrong = platter("run", manifest("wrong", "{sauce: {blank: {}}}"));
    assertThat(wrong.status()).isEqualTo(3);
    assertThat(wrong.err())
        .contains(
            "wrong.yaml:8: spec.domain.devices.disks[0].sauce: unknown field; did you mean 'source'?");
    assertThat(platter("run", work.resolve("missing.yaml").toString()).status()).isEqualTo(4);
    assertThat(platter("stop", "nobody").status()).isEqualTo(4);
    var claim = manifest("claim", "{source: {pvc: a}}");
    assertThat(platter("run", claim).status()).isEqualTo(4);
    var nfs = work.resolve("nfs.yaml");
    Files.writeString(
        nfs,
        """
        kind: PersistentVolumeClaim
        metadata: {name: a}
        spec: {volumeName: v, resources: {requests: {storage: 1Mi}}}
        ---
        kind: PersistentVolume
        metadata: {name: v}
        spec: {nfs: {server: a, path: /a}}
        """);
    assertThat(platter("run", claim, "-f", nfs.toString()).status()).isEqualTo(8);
    assertThat(platter("pull", "127.0.0.1:1/a:b").status()).isEqualTo(6);
    assertThat(platter("pull", "oci:/no/such/dir:t").status()).isEqualTo(4);
    assertThat(platter("ps", "-o", "xml").status()).isEqualTo(2);
    Shell.run(
        "qemu-img",
        "create",
        "-q",
        "-f",
        "qcow2",
        "-F",
        "raw",
        "-b",
        "/etc/passwd",
        "-u",
        work.resolve("evil.qcow2"),
        "1M");
    var refused =
        platter("run", manifest("evil", "{source: {file: " + work.resolve("evil.qcow2") + "}}"));
    assertThat(refused.status()).isEqualTo(7);
    assertThat(refused.err()).contains("evil.qcow2 is refused", "backing file");
    assertThat(platter("ps", "--all", "-o", "json").json())
        .as("nothing is left of the failures")
        .isEmpty();
  }

  @Test
  void aPasswordIsInNothingThatIsPrinted() throws IOException {
    var password = "printed-Chap-30718";
    var directory = Files.createDirectory(work.resolve("iscsi"));
    try (var iscsi = IscsiTarget.start(directory, new IscsiTarget.Chap("vm", password))) {
      Shell.run("truncate", "-s", "4M", directory.resolve("raw"));
      var disk =
          "{source: {iscsi: {host: {name: %s, port: %d}, portal: '%s', lun: %d, auth: {user: vm, secret: {name: chap}}}}}"
              .formatted(
                  iscsi.host(), iscsi.port(), iscsi.iqn(), iscsi.add(directory.resolve("raw")));
      var vm = manifest("login", disk);
      var right = secret("right", password);
      var wrong = secret("wrong", password + "0");
      var printed = new StringBuilder();
      printed.append(expect(4, "run", vm)).append(expect(6, "run", vm, "-f", wrong));
      printed.append(expect(0, "plan", vm, "-f", right)).append(expect(0, "run", vm, "-f", right));
      for (var format : List.of("table", "json", "yaml")) {
        printed.append(expect(0, "plan", vm, "-f", right, "-o", format));
        printed.append(expect(0, "inspect", "login", "-o", format));
      }
      printed.append(expect(0, "stop", "--time", "0", "login")).append(expect(4, "start", "login"));
      printed.append(expect(6, "start", "login", "-f", wrong));
      printed.append(expect(0, "start", "login", "-f", right)).append(expect(0, "logs", "login"));
      printed.append(expect(0, "ps")).append(expect(0, "rm", "-f", "login"));
      assertThat(printed)
          .contains("give libvirt the iscsi secret in")
          .doesNotContain(
              password, Base64.getEncoder().encodeToString(password.getBytes()).substring(0, 20));
    }
  }

  private static String secret(String name, String password) throws IOException {
    var file = work.resolve(name + ".yaml");
    return Files.writeString(
            file,
            "kind: Secret\nmetadata: {name: chap}\nstringData: {node.session.auth.password: %s}\n"
                .formatted(password))
        .toString();
  }

  private static String expect(int status, String... args) {
    var result = platter(args);
    assertThat(result.status()).as(List.of(args) + result.err()).isEqualTo(status);
    return result.out() + result.err();
  }

  @Test
  void poolsAreListedWithWhatIsInThem() throws IOException {
    var ssd = Files.createDirectory(work.resolve("ssd"));
    var config = work.resolve("node.yaml");
    Files.writeString(
        config,
        "annotations:\n  kubevirt.io/storage.usage-type.fast: %s\n  platter.dev/storage.limit.fast: 1Gi\n"
            .formatted(ssd));
    var file =
        manifest(
            "pooled", "{source: {blank: {}}, size: 2Mi, copy: {usage-type: fast}, keep: true}");
    assertThat(platter("run", file, "--config", config.toString()).status()).isZero();
    var pools = platter("pools", "-o", "json", "--config", config.toString()).json();
    assertThat(pools.findValuesAsText("name")).containsExactly("default", "fast", "volumes");
    assertThat(pools.get(0).get("limit").isNull()).isTrue();
    var fast = pools.get(1);
    assertThat(fast.get("directory").asText()).isEqualTo(ssd.toString());
    assertThat(fast.get("limit").asLong()).isEqualTo(1 << 30);
    assertThat(fast.get("promised").asLong()).isEqualTo(2 << 20);
    assertThat(fast.get("free").asLong()).isPositive();
    assertThat(fast.get("vms").get(0).asText()).isEqualTo("default/pooled");
    assertThat(platter("pools", "--config", config.toString()).out())
        .contains("PROMISED", "none", "1 GiB")
        .doesNotContain("default/pooled");
    assertThat(platter("pools", "-o", "wide", "--config", config.toString()).out())
        .contains("VMS", "default/pooled");
    assertThat(platter("pools", "-o", "json").json()).as("without configuration").hasSize(2);
    var unknown =
        platter(
            "run",
            manifest("other", "{source: {blank: {}}, size: 2Mi, copy: {usage-type: fats}}"),
            "--config",
            config.toString());
    assertThat(unknown.status()).isEqualTo(3);
    assertThat(unknown.err()).contains("it has default, fast");
    Files.writeString(config, "annotation: {}\n");
    var invalid = platter("pools", "--config", config.toString());
    assertThat(invalid.status()).isEqualTo(3);
    assertThat(invalid.err())
        .contains("node.yaml:1: annotation: unknown field; did you mean 'annotations'?");
    assertThat(platter("rm", "-f", "pooled", "--config", config.toString()).status())
        .as("a VM can be removed whatever the configuration says")
        .isZero();
    assertThat(platter("pools", "--config", "/no/such.yaml").status()).isEqualTo(4);
  }

  @Test
  void doctorNamesWhatWorks() {
    var result = platter("doctor");
    assertThat(result.status()).isZero();
    assertThat(result.out())
        .contains("qemu", "libvirt", "Platter's own, version 9", "state directory", "pools");
  }
}

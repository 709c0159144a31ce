package dev.platter.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.lab.ContainerGuest;
import dev.platter.lab.Containerd;
import dev.platter.lab.PlatterImage;
import dev.platter.lab.Shell;
import dev.platter.node.libvirt.PrivateLibvirt;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The container image, as skopeo, containerd, umoci, dpkg and a chroot see it. */
class ContainerImageTest {
  /** Libraries use beans and types of SQL where they are, and do without elsewhere. */
  private static final Set<String> OPTIONAL = Set.of("java.desktop", "java.sql");

  private static final ObjectMapper JSON = new ObjectMapper();

  /** Sees the files of the image at {@code $1}, a /proc of its own and this machine's /dev. */
  private static final String IN_IMAGE =
      """
      set -eu
      cd "$1"
      shift
      mount -t proc proc proc
      mount --rbind /dev dev
      exec chroot . env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
      """;

  /** What the guest's kernel and this command put over the image is left out. */
  private static final String LIST =
      "cd $0 && find . -xdev ! -path './proc*' ! -path './sys*' ! -path './dev*' ! -path './etc/host*'"
          + " ! -path ./etc/resolv.conf ! -type d -printf '%p %y %m %U %G %s %n %T@ %l\\n' | LC_ALL=C sort | sha256sum;"
          + " find . -xdev ! -path './proc*' ! -path './sys*' ! -path './dev*' -type d -printf '%p %m %U %G\\n' |"
          + " LC_ALL=C sort | sha256sum";

  @TempDir static Path work;
  private static Path archive;
  private static Path root;

  /** Before anything ran in it. */
  private static String listed = "";

  @BeforeAll
  static void unpack() throws IOException {
    assumeTrue((int) Files.getAttribute(Path.of("/proc/self"), "unix:uid") == 0, "needs root");
    archive = PlatterImage.archive();
    var layout = Files.createDirectory(work.resolve("layout"));
    Shell.run("tar", "-xf", archive, "-C", layout);
    Shell.shell()
        .within(Duration.ofMinutes(5))
        .check("umoci", "unpack", "--image", layout + ":0.1.0", work.resolve("bundle"));
    root = work.resolve("bundle/rootfs");
    listed = Shell.run("sh", "-c", LIST, root);
  }

  /** JUnit would do it as well, with a warning for every link that leads out of the directory. */
  @AfterAll
  static void remove() {
    Shell.run("rm", "-rf", work.resolve("bundle"));
  }

  private static Shell.Result inImage(Object... command) {
    var words = new ArrayList<Object>(List.of("unshare", "--mount", "--pid", "--fork"));
    words.addAll(List.of("--kill-child", "sh", "-c", IN_IMAGE, "in-image", root));
    words.addAll(Arrays.asList(command));
    return Shell.shell().check(words.toArray());
  }

  @ParameterizedTest
  @ValueSource(strings = {"oci-archive:", "docker-archive:"})
  void skopeoFindsFiveLayersForThisPlatform(String transport) throws IOException {
    var image = JSON.readTree(Shell.run("skopeo", "inspect", transport + archive));
    assertThat(image.path("Layers")).hasSize(5);
    assertThat(image.path("Os").asText() + "/" + image.path("Architecture").asText())
        .isEqualTo("linux/amd64");
    assertThat(image.path("Labels").path("org.opencontainers.image.version").asText())
        .isEqualTo("0.1.0");
  }

  @Test
  void containerdImportsItWholeUnderItsName() {
    try (var containerd = Containerd.start()) {
      containerd.ctr("-n", "k8s.io", "images", "import", "--no-unpack", archive.toString());
      assertThat(containerd.ctr("-n", "k8s.io", "images", "check"))
          .containsPattern("(?m)^" + PlatterImage.NAME + " .*complete \\(6/6\\)");
    }
  }

  @Test
  void runAsAVmItHasItsFilesAsTheyAreAndItsExitStatusIsTheCommands() throws Exception {
    var state = work.resolve("s");
    var log = work.resolve("log");
    try {
      var command =
          Platter.start(
              Map.of("JAVA_TOOL_OPTIONS", "-Dplatter.boot=" + ContainerGuest.directory()),
              log,
              "run",
              "--rm",
              "--state",
              state,
              "--image",
              "oci:" + work.resolve("layout") + ":0.1.0",
              "--entrypoint",
              "sh",
              "--",
              "-c",
              "echo @$(cat /etc/debian_version); " + LIST + "; exit 9",
              "/");
      assertThat(command.waitFor(4, TimeUnit.MINUTES)).isTrue();
      var printed = Files.readString(log);
      assertThat(command.exitValue()).as(printed).isEqualTo(9);
      assertThat(printed)
          .contains("@" + Files.readString(root.resolve("etc/debian_version")))
          .contains(listed);
      assertThat(Platter.run("ps", "--all", "-o", "json", "--state", state).json()).isEmpty();
    } finally {
      new PrivateLibvirt(state.resolve("libvirt"), state.resolve("run/libvirt")).stop();
    }
  }

  @Test
  void everyProgramThatANodeStartsIsInIt() {
    for (var program :
        List.of("qemu-system-x86_64", "qemu-nbd", "libvirtd", "setsid", "unshare", "passt")) {
      inImage(program, "--version");
    }
    for (var program : List.of("mount", "flock", "sh", "getent", "mke2fs", "losetup", "blkid")) {
      inImage("sh", "-c", "command -v " + program);
    }
  }

  @Test
  void whatBootsContainerImagesIsInIt() throws IOException {
    var boot = root.resolve("usr/lib/platter/boot");
    for (var file : List.of("vmlinuz", "initrd.gz")) {
      assertThat(boot.resolve(file))
          .hasSameBinaryContentAs(ContainerGuest.directory().resolve(file));
    }
  }

  @Test
  void theProgramsThatMakeAndGrowXfsFindTheirLibraries() {
    for (var program : List.of("mkfs.xfs", "xfs_growfs")) {
      assertThat(inImage(program, "-V").out()).contains("version");
    }
  }

  @Test
  void qemusDriversForDisksOnTheNetworkFindTheirLibraries() throws IOException {
    var drivers = root.resolve("usr/lib/x86_64-linux-gnu/qemu");
    for (var name :
        List.of("block-rbd.so", "block-iscsi.so", "block-gluster.so", "block-curl.so")) {
      assertThat(drivers.resolve(name)).exists();
      assertThat(inImage("ldd", "/usr/lib/x86_64-linux-gnu/qemu/" + name).out())
          .contains("libc.so.6")
          .doesNotContain("not found");
    }
  }

  @Test
  void everyTranslatorOfGlustersClientFindsItsLibraries() throws IOException {
    var translators = root.resolve("usr/lib/x86_64-linux-gnu/glusterfs");
    List<Path> found;
    try (Stream<Path> files = Files.walk(translators)) {
      found = files.filter(file -> file.toString().endsWith(".so")).toList();
    }
    assertThat(found.stream().map(file -> file.getFileName().toString()))
        .contains("client.so", "distribute.so", "replicate.so", "shard.so", "socket.so", "api.so")
        .doesNotContain("glusterd.so", "server.so", "fuse.so");
    var ldd = new ArrayList<Object>(List.of("ldd"));
    found.forEach(file -> ldd.add("/" + root.relativize(file)));
    assertThat(inImage(ldd.toArray()).out()).contains("libc.so.6").doesNotContain("not found");
    assertThat(root.resolve("usr/bin/python3")).doesNotExist();
  }

  @Test
  void theCommandRunsFromItsCacheOfClasses() {
    // In this mode a JVM that cannot use its cache does not start.
    var command =
        inImage(
            "env", "PLATTER_JAVA_OPTIONS=-XX:AOTMode=on", "/opt/platter/bin/platter", "version");
    assertThat(command.out()).contains("0.1.0");
    assertThat(command.err()).isEmpty();
  }

  @Test
  void theLauncherRunsWithoutAnyLibrary() {
    var launcher = root.resolve("opt/platter/bin/launch");
    assertThat(Shell.shell().execute("ldd", launcher).err()).contains("not a dynamic executable");
    // A path that no socket can have is the one thing that it gives up at.
    assertThat(Shell.shell().execute(launcher, "/" + "x".repeat(200)).err()).contains("too long");
  }

  @Test
  void launchersHaveAUserWithoutRights() {
    assertThat(inImage("getent", "passwd", "65532").out())
        .isEqualTo("platter:x:65532:65532:Platter:/nonexistent:/usr/sbin/nologin\n");
  }

  @Test
  void theJreHasEveryModuleThatTheJarsUse() {
    var jdeps = new ArrayList<Object>(List.of(javaHome("jdeps"), "--print-module-deps"));
    jdeps.addAll(List.of("--ignore-missing-deps", "--multi-release", "25"));
    jdeps.addAll(jars());
    var used = Set.of(Shell.run(jdeps.toArray()).strip().split(","));
    var present = new TreeSet<>(OPTIONAL);
    inImage("/opt/jre/bin/java", "--list-modules")
        .out()
        .lines()
        .forEach(line -> present.add(line.substring(0, line.indexOf('@'))));
    assertThat(present).containsAll(used);
  }

  @Test
  void theBillOfMaterialsListsEveryPackageAndEveryJar() throws IOException {
    var bill = root.resolve("usr/share/platter/sbom.json");
    var beside = archive.resolveSibling("platter.sbom.json");
    assertThat(bill).hasSameBinaryContentAs(beside);
    var components = JSON.readTree(bill.toFile()).path("components");

    var packages = new TreeSet<String>();
    var hashes = new TreeSet<String>();
    var references = new ArrayList<String>();
    for (JsonNode component : components) {
      references.add(component.path("bom-ref").asText());
      var purl = component.path("purl").asText();
      if (purl.startsWith("pkg:deb/debian/")) {
        packages.add(component.path("name").asText() + " " + component.path("version").asText());
      } else if (purl.startsWith("pkg:maven/")) {
        hashes.add(component.path("hashes").path(0).path("content").asText());
      }
    }
    assertThat(references).doesNotHaveDuplicates().doesNotContain("").hasSize(components.size());
    var admin = "--admindir=" + root.resolve("var/lib/dpkg");
    var installed =
        new TreeSet<>(
            Shell.run("dpkg-query", admin, "-W", "-f", "${Package} ${Version}\n").lines().toList());
    // Parts of others are there: one says its version, one is of the same source as its library,
    // and two are in the initramfs or booted.
    var xfs = "xfsprogs " + inImage("mkfs.xfs", "-V").out().strip().replaceFirst(".* ", "") + "-";
    assertThat(packages).anyMatch(name -> name.startsWith(xfs));
    packages.removeIf(name -> name.startsWith(xfs));
    for (var part : List.of("linux-image-", "busybox-static ")) {
      assertThat(packages).anyMatch(name -> name.startsWith(part));
      packages.removeIf(name -> name.startsWith(part));
    }
    var gluster = installed.stream().filter(name -> name.startsWith("libglusterfs0 ")).toList();
    installed.add(gluster.getFirst().replace("libglusterfs0", "glusterfs-common"));
    assertThat(packages).containsExactlyElementsOf(installed);
    var sums = new ArrayList<Object>(List.of("sha256sum"));
    sums.addAll(jars());
    assertThat(hashes)
        .containsExactlyElementsOf(
            new TreeSet<>(
                Shell.run(sums.toArray()).lines().map(line -> line.substring(0, 64)).toList()));
  }

  private static List<Path> jars() {
    try (Stream<Path> files = Files.list(root.resolve("opt/platter/app"))) {
      return files.sorted().toList();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static Path javaHome(String program) {
    return Path.of(System.getProperty("java.home"), "bin", program);
  }
}

package dev.platter.plan;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.dialect.Manifests;
import dev.platter.dialect.Objects;
import dev.platter.model.ContainerImageSource;
import dev.platter.model.IdentityKey;
import dev.platter.model.IdentitySource;
import dev.platter.model.ImageSource;
import dev.platter.model.PlatterException;
import dev.platter.model.Vm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Every example, as the plan, the domain XML and the cloud-init files that come of it. Run with
 * {@code -Dgolden=write} to write them anew, and read the difference.
 */
class GoldenTest {
  private static final Path ROOT = Path.of(System.getProperty("repo.root"));
  private static final Path EXAMPLES = ROOT.resolve("examples");
  private static final Path GOLDEN = ROOT.resolve("core/src/test/golden");
  private static final boolean WRITE = "write".equals(System.getProperty("golden"));

  @TestFactory
  Stream<DynamicTest> everyExampleGivesItsPlanDomainAndSeed() throws IOException {
    return examples()
        .map(file -> DynamicTest.dynamicTest(file.getFileName().toString(), () -> check(file)));
  }

  @Test
  void everyGoldenDirectoryBelongsToAnExample() throws IOException {
    var names = examples().map(GoldenTest::name).toList();
    try (var directories = Files.list(GOLDEN)) {
      assertThat(directories.map(path -> path.getFileName().toString())).allMatch(names::contains);
    }
  }

  @Test
  void aPlanReadBackFromItsJsonIsTheSamePlan() throws IOException {
    for (var file :
        examples().filter(path -> !path.getFileName().toString().startsWith("answer-")).toList()) {
      var objects = Manifests.objects(file.toString(), Files.readString(file));
      for (var vm : objects.vms()) {
        try {
          var plan = planned(vm, objects).plan();
          assertThat(PlanJson.read(PlanJson.write(plan))).isEqualTo(plan);
        } catch (PlatterException e) {
          assertThat(e.code()).isEqualTo(PlatterException.Code.UNSUPPORTED);
        }
      }
    }
  }

  private static Stream<Path> examples() throws IOException {
    try (var files = Files.list(EXAMPLES)) {
      return files.filter(file -> file.toString().endsWith(".yaml")).sorted().toList().stream();
    }
  }

  private static String name(Path file) {
    return file.getFileName().toString().replace(".yaml", "");
  }

  private static void check(Path file) throws IOException {
    var effect = effect("examples/" + file.getFileName(), Files.readString(file));
    var directory = GOLDEN.resolve(name(file));
    if (WRITE) {
      if (Files.exists(directory)) {
        try (var old = Files.list(directory)) {
          for (var path : old.toList()) {
            Files.delete(path);
          }
        }
      }
      Files.createDirectories(directory);
      for (var entry : effect.entrySet()) {
        Files.writeString(directory.resolve(entry.getKey()), entry.getValue());
      }
    }
    var golden = new TreeMap<String, String>();
    try (var files = Files.list(directory)) {
      for (var path : files.toList()) {
        golden.put(path.getFileName().toString(), Files.readString(path));
      }
    }
    assertThat(effect.keySet()).isEqualTo(golden.keySet());
    effect.forEach((name, text) -> assertThat(text).as(name).isEqualTo(golden.get(name)));
  }

  private static Map<String, String> effect(String file, String text) {
    var out = new TreeMap<String, String>();
    if (file.contains("/answer-")) {
      out.put("source.txt", Manifests.readSource(file, text) + "\n");
      return out;
    }
    var objects = Manifests.objects(file, text);
    var vms = objects.vms();
    for (var i = 0; i < vms.size(); i++) {
      var suffix = vms.size() > 1 ? "-" + (i + 1) : "";
      effectOf(vms.get(i), objects, suffix, out);
    }
    return out;
  }

  private static Planned planned(Vm vm, Objects objects) {
    var resolved = Claims.resolve(vm, objects.volumes(), objects.secrets());
    return Planner.plan(resolved, facts(resolved));
  }

  private static void effectOf(Vm vm, Objects objects, String suffix, Map<String, String> out) {
    try {
      var planned = planned(vm, objects);
      out.put("plan" + suffix + ".json", PlanJson.write(planned.plan()));
      if (planned.domainXml() != null) {
        out.put("domain" + suffix + ".xml", planned.domainXml());
      }
      var seed = planned.seed();
      if (seed != null) {
        seed.files()
            .forEach(
                (path, text) -> out.put(path.substring(path.lastIndexOf('/') + 1) + suffix, text));
      }
    } catch (PlatterException e) {
      out.put(
          "refused" + suffix + ".txt", e.code() + ": " + e.getMessage() + "\n" + e.next() + "\n");
    }
  }

  static NodeFacts facts(Vm vm) {
    var digests = new HashMap<String, String>();
    var identities = new HashMap<IdentityKey, NodeFacts.IdentityPlace>();
    var digest = "sha256:" + "0123456789abcdef".repeat(4);
    var containers = new HashMap<String, ContainerImage>();
    for (var disk : vm.disks()) {
      if (disk.source() instanceof ImageSource image) {
        digests.put(image.reference(), digest);
      }
      if (disk.source() instanceof ContainerImageSource image) {
        containers.put(
            image.reference(),
            new ContainerImage(
                digest,
                List.of("sha256:" + "1".repeat(64), "sha256:" + "2".repeat(64)),
                new ContainerImage.Run(
                    List.of("/bin/hello"),
                    List.of("--greet", "two\nlines"),
                    List.of("PATH=/bin", "LANG=C"),
                    "www-data",
                    "/srv",
                    "SIGQUIT")));
      }
      if (disk.fill() != null) {
        digests.put(disk.fill().image(), digest);
      }
      if (disk.source() instanceof IdentitySource source) {
        var place =
            IdentityPlan.place(
                source.identity(), digest, "volumes", "/var/lib/platter/pools/volumes");
        identities.put(source.identity().key(), place);
      }
    }
    return new NodeFacts(
        new StateLayout(Path.of("/var/lib/platter"), Path.of("/run/platter")),
        NodeFacts.Accelerator.TCG,
        "",
        "/run/containerd/containerd.sock",
        "/usr/bin/qemu-system-x86_64",
        digests,
        Map.of(
            "default", "/var/lib/platter/pools/default",
            "fast", "/storage/ssd",
            "slow", "/storage/rust",
            "volumes", "/var/lib/platter/pools/volumes"),
        false,
        identities,
        containers,
        new Boot("/usr/lib/platter/boot/vmlinuz", "/usr/lib/platter/boot/initrd.gz"));
  }
}

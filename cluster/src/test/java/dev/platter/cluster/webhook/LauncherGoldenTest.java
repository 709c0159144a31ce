package dev.platter.cluster.webhook;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.Names;
import dev.platter.model.PlatterException;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Every example that is a pod or a VM object, as the launcher pod that comes of it, or the words
 * with which it is refused. Run with {@code -Dgolden=write} to write them anew, and read the
 * difference.
 */
class LauncherGoldenTest {
  private static final Path ROOT = Path.of(System.getProperty("repo.root"));
  private static final Path GOLDEN = ROOT.resolve("cluster/src/test/golden");
  private static final boolean WRITE = "write".equals(System.getProperty("golden"));
  static final LauncherPod.Options OPTIONS =
      new LauncherPod.Options(
          "registry.example/platter:1", "IfNotPresent", LauncherPod.Options.OVERHEAD);

  @TestFactory
  Stream<DynamicTest> everyExampleGivesItsLauncherPod() throws IOException {
    return examples().entrySet().stream()
        .map(
            example ->
                DynamicTest.dynamicTest(
                    example.getKey(), () -> check(example.getKey(), example.getValue())));
  }

  @Test
  void everyGoldenFileBelongsToAnExample() throws IOException {
    var names = examples().keySet().stream().map(name -> name + ".yaml").toList();
    try (var files = Files.list(GOLDEN)) {
      assertThat(files.map(path -> path.getFileName().toString())).allMatch(names::contains);
    }
  }

  /** By the example and the object's name. */
  private static Map<String, String> examples() throws IOException {
    var out = new TreeMap<String, String>();
    try (var files = Files.list(ROOT.resolve("examples"))) {
      for (var file : files.filter(path -> path.toString().endsWith(".yaml")).toList()) {
        var name = file.getFileName().toString().replace(".yaml", "");
        var text = Files.readString(file);
        if (name.startsWith("answer-")
            || text.lines().noneMatch(line -> line.startsWith("kind:"))) {
          continue;
        }
        var objects = Yaml.all(text);
        var cluster = new MapObjects();
        objects.forEach(cluster::with);
        for (var object : objects) {
          var kind = object.path("kind").asText();
          var called = object.path("metadata").path("name").asText(name);
          if (object.path("apiVersion").asText().startsWith("kubevirt.io/")) {
            continue;
          }
          if (kind.equals("Pod")) {
            out.put(name + "." + called, effect(object, cluster));
          } else if (kind.equals("VM") || kind.equals("VirtualMachine")) {
            out.put(name + "." + called, effect(podOf(object, called), cluster));
          }
        }
      }
    }
    return out;
  }

  /** As the controller makes it. */
  static ObjectNode podOf(ObjectNode vm, String name) {
    var namespace = vm.path("metadata").path("namespace").asText("default");
    var named = vm.deepCopy();
    named.withObjectProperty("metadata").put("name", name).put("namespace", namespace);
    var pod = Json.object().put("apiVersion", "v1").put("kind", "Pod");
    var metadata = pod.putObject("metadata").put("name", name).put("namespace", namespace);
    metadata.putObject("annotations").put(Names.VM, Json.write(VmText.of(named)));
    pod.putObject("spec")
        .putArray("containers")
        .addObject()
        .put("name", "vm")
        .put("image", "platter.dev/vm");
    return pod;
  }

  private static String effect(ObjectNode pod, MapObjects cluster) {
    var namespace = pod.path("metadata").path("namespace").asText("default");
    try {
      var launcher = LauncherPod.of(pod, namespace, cluster, OPTIONS);
      return Serialization.yamlMapper().writeValueAsString(launcher);
    } catch (PlatterException e) {
      return "# " + e.code() + ": " + e.getMessage() + "\n";
    } catch (JsonProcessingException e) {
      throw new AssertionError(e);
    }
  }

  private static void check(String name, String effect) throws IOException {
    var file = GOLDEN.resolve(name + ".yaml");
    if (WRITE) {
      Files.createDirectories(GOLDEN);
      Files.writeString(file, effect);
    }
    assertThat(effect).isEqualTo(Files.readString(file));
  }
}

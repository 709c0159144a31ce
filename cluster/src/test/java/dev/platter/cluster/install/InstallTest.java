package dev.platter.cluster.install;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.fasterxml.jackson.databind.JsonNode;
import dev.platter.cluster.install.Install.Options;
import dev.platter.cluster.install.Install.PoolOption;
import dev.platter.dialect.NodeFile;
import dev.platter.model.ByteSize;
import dev.platter.model.PlatterException;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class InstallTest {
  private static final Path GOLDEN =
      Path.of(System.getProperty("repo.root"), "cluster/src/test/golden-install/cdi.yaml");

  private static Options options(String namespace, String image, List<String> pools) {
    return options(namespace, image, pools, false);
  }

  private static Options options(String namespace, String image, List<String> pools, boolean cdi) {
    return options(namespace, image, pools, Install.ImageBounds.NONE, cdi);
  }

  private static Options options(
      String namespace, String image, List<String> pools, Install.ImageBounds bounds, boolean cdi) {
    return new Options(
        namespace,
        image,
        "IfNotPresent",
        pools.stream().map(PoolOption::parse).toList(),
        "loop*",
        bounds,
        List.of("pull"),
        "/var/lib/kubelet",
        true,
        cdi);
  }

  static List<JsonNode> objects(List<String> pools) {
    return objects(Install.yaml(options("vms", "registry.example/platter:1", pools)));
  }

  private static List<JsonNode> objects(String yaml) {
    var out = new ArrayList<JsonNode>();
    try (var documents = Serialization.yamlMapper().readerFor(JsonNode.class).readValues(yaml)) {
      documents.forEachRemaining(document -> out.add((JsonNode) document));
    } catch (IOException e) {
      throw new AssertionError(yaml, e);
    }
    return out;
  }

  private static JsonNode object(List<JsonNode> all, String kind, String name) {
    return all.stream()
        .filter(object -> object.path("kind").asText().equals(kind))
        .filter(object -> object.at("/metadata/name").asText().equals(name))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void everyObjectHasANameOfItsOwnAndAPlaceInTheNamespaceOrInNone() {
    var seen = new HashSet<String>();
    for (var object : objects(List.of())) {
      var metadata = object.path("metadata");
      assertThat(metadata.has("generateName")).isFalse();
      assertThat(seen.add(object.path("kind").asText() + "/" + metadata.path("name").asText()))
          .isTrue();
      assertThat(metadata.path("namespace").asText("vms")).isEqualTo("vms");
      assertThat(metadata.at("/labels/app.kubernetes.io~1part-of").asText()).isEqualTo("platter");
    }
    assertThat(seen).hasSizeGreaterThan(20);
  }

  @Test
  void noRoleHasAWildcardAndTheNodeCannotReadSecretsOrConfigMaps() {
    var roles =
        objects(List.of()).stream()
            .filter(object -> object.path("kind").asText().endsWith("Role"))
            .toList();
    assertThat(roles).hasSize(4);
    for (var role : roles) {
      assertThat(role.path("rules").toString()).doesNotContain("*", "impersonate", "escalate");
    }
    var node =
        roles.stream()
            .filter(role -> role.at("/metadata/name").asText().equals("platter-node"))
            .toList();
    assertThat(node).hasSize(2);
    assertThat(node.toString()).doesNotContain("secrets", "configmaps", "pods/exec");
  }

  /** Leases keep disks from having two writers. */
  @Test
  void ofTheLeasesVolumesMayChangeOnlyTheResizers() {
    var yaml =
        VolumesInstall.yaml(
            options("vms", "registry.example/platter:1", List.of()),
            "/srv/volumes",
            VolumesInstall.DEFAULT_SIDECARS);
    for (var role : objects(yaml)) {
      for (var rule : role.path("rules")) {
        if (rule.path("resources").toString().contains("leases")
            && !rule.path("verbs").toString().equals("[\"create\"]")) {
          assertThat(role.at("/metadata/name").asText()).isEqualTo("platter-volumes-resizer");
          assertThat(rule.path("resourceNames").toString())
              .isEqualTo("[\"external-resizer-local-csi-platter-dev\"]");
        }
      }
    }
    assertThat(yaml).contains("serviceAccountName: platter-volumes-resizer");
  }

  /** Others have not been tried with the driver; docs/volumes.md names these. */
  @Test
  void theSidecarsOfVolumesAreThoseThatWereTried() {
    var yaml =
        VolumesInstall.yaml(
            options("vms", "registry.example/platter:1", List.of()),
            "/srv/volumes",
            VolumesInstall.DEFAULT_SIDECARS);
    var images = new TreeMap<String, String>();
    for (var object : objects(yaml)) {
      for (var container : object.at("/spec/template/spec/containers")) {
        images.put(container.path("name").asText(), container.path("image").asText());
      }
    }
    assertThat(images)
        .containsEntry("provisioner", "registry.k8s.io/sig-storage/csi-provisioner:v5.1.0")
        .containsEntry("snapshotter", "registry.k8s.io/sig-storage/csi-snapshotter:v8.3.0")
        .containsEntry("resizer", "registry.k8s.io/sig-storage/csi-resizer:v1.14.0");
    assertThat(images.values())
        .filteredOn(image -> !image.startsWith("registry.k8s.io/"))
        .containsOnly("registry.example/platter:1");
  }

  @Test
  void whoMakesClaimsLargerPrefersANodeWithADriver() {
    var yaml =
        VolumesInstall.yaml(
            options("vms", "registry.example/platter:1", List.of()),
            "/srv/volumes",
            VolumesInstall.DEFAULT_SIDECARS);
    var resizer =
        objects(yaml).stream()
            .filter(object -> object.path("kind").asText().equals("Deployment"))
            .toList();
    assertThat(resizer).hasSize(1);
    assertThat(
            resizer
                .getFirst()
                .at(
                    "/spec/template/spec/affinity/nodeAffinity"
                        + "/preferredDuringSchedulingIgnoredDuringExecution/0/preference")
                .toString())
        .contains("\"local.csi.platter.dev/node\"", "\"Exists\"");
  }

  @Test
  void theOnlySecretThatAnybodyCanReadIsTheWebhooks() {
    for (var role : objects(List.of())) {
      for (var rule : role.path("rules")) {
        var secrets = rule.path("resources").toString().contains("\"secrets\"");
        if (secrets && role.path("kind").asText().equals("ClusterRole")) {
          assertThat(rule.path("verbs").toString()).isEqualTo("[\"create\"]");
        } else if (secrets) {
          assertThat(rule.path("resourceNames").toString()).isEqualTo("[\"platter-webhook\"]");
          assertThat(rule.path("verbs").toString()).isEqualTo("[\"get\",\"update\"]");
        }
      }
    }
  }

  private static String withCdi() {
    return Install.yaml(options("vms", "registry.example/platter:1", List.of(), true));
  }

  /** Run with {@code -Dgolden=write} to write it anew, and read the difference. */
  @Test
  void whatAnswersClientsOfCdiIsThereForThoseWhoWantIt() throws IOException {
    var usual = Install.yaml(options("vms", "registry.example/platter:1", List.of()));
    assertThat(usual).doesNotContain("cdi.kubevirt.io", "PLATTER_CDI");
    var all = withCdi();
    var setting = "        - {name: PLATTER_CDI, value: \"true\"}\n";
    assertThat(all).contains(setting);
    assertThat(all.replace(setting, "")).startsWith(usual);
    var more = all.replace(setting, "").substring(usual.length());
    if ("write".equals(System.getProperty("golden"))) {
      Files.createDirectories(GOLDEN.getParent());
      Files.writeString(GOLDEN, more);
    }
    assertThat(more).isEqualTo(Files.readString(GOLDEN));
  }

  @Test
  void whoLeadsUploadsCanReadPodsAndSeesNoKeyOfTheAuthority() {
    var objects = objects(withCdi());
    assertThat(object(objects, "ClusterRole", "platter-uploads").path("rules").toString())
        .isEqualTo("[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"get\"]}]");
    var spec = object(objects, "Deployment", "platter-uploads").at("/spec/template/spec");
    assertThat(spec.at("/volumes/1/secret/items").findValuesAsText("key"))
        .containsExactly("ca.crt", "tls.crt", "tls.key");
    for (var role : objects) {
      assertThat(role.path("rules").toString()).doesNotContain("\"*\"", "impersonate", "escalate");
      for (var rule : role.path("rules")) {
        if (rule.path("resources").toString().contains("\"secrets\"")
            && !rule.path("verbs").toString().equals("[\"create\"]")) {
          assertThat(role.path("kind").asText()).isEqualTo("Role");
          assertThat(rule.path("resourceNames").toString())
              .isIn("[\"platter-webhook\"]", "[\"platter-uploads\"]");
        }
      }
    }
  }

  @Test
  void everyFieldCanBeExplained() {
    for (var crd :
        List.of(
            "virtualmachines.platter.dev",
            "virtualmachinegroups.platter.dev",
            "diskimports.platter.dev",
            "diskuploads.platter.dev",
            "virtletvmidentities.virtlet.k8s",
            "virtletvmidentitysets.virtlet.k8s",
            "datavolumes.cdi.kubevirt.io")) {
      var schema =
          object(objects(withCdi()), "CustomResourceDefinition", crd)
              .at("/spec/versions/0/schema/openAPIV3Schema");
      fields(
          schema,
          "",
          (path, field) -> {
            if (!path.matches("\\.(apiVersion|kind|metadata)")) {
              assertThat(field.path("description").asText()).as(crd + path).endsWith(".");
            }
          });
    }
  }

  private static void fields(JsonNode schema, String path, BiConsumer<String, JsonNode> found) {
    schema
        .path("properties")
        .properties()
        .forEach(
            entry -> {
              found.accept(path + "." + entry.getKey(), entry.getValue());
              fields(entry.getValue(), path + "." + entry.getKey(), found);
            });
    if (schema.has("items")) {
      fields(schema.get("items"), path + "[]", found);
    }
  }

  @Test
  void poolsAreInTheNodesConfigurationAndMountedWhereTheyAre() {
    var objects = objects(List.of("fast=/storage/ssd:100Gi", "slow=/storage/rust"));
    var file = object(objects, "ConfigMap", "platter-node").at("/data/node.yaml").asText();
    var pools =
        NodeFile.pools("node.yaml", file, Map.of("default", Path.of("/p")), text -> Path.of(text));
    assertThat(pools.toString())
        .contains("name=fast, directory=/storage/ssd, limit=100Gi")
        .contains("name=slow, directory=/storage/rust, limit=null");
    var spec = object(objects, "DaemonSet", "platter-node").at("/spec/template/spec");
    assertThat(spec.at("/containers/0/volumeMounts").toString())
        .contains("{\"name\":\"pool-1\",\"mountPath\":\"/storage/rust\"}");
    assertThat(spec.path("volumes").toString())
        .contains("{\"name\":\"pool-0\",\"hostPath\":{\"path\":\"/storage/ssd\"");
  }

  private static List<String> daemonArguments(Install.ImageBounds bounds) {
    var yaml = Install.yaml(options("vms", "registry.example/platter:1", List.of(), bounds, false));
    var out = new ArrayList<String>();
    object(objects(yaml), "DaemonSet", "platter-node")
        .at("/spec/template/spec/containers/0/args")
        .forEach(argument -> out.add(argument.asText()));
    return out;
  }

  @Test
  void whatImagesMayTakeOfANodeIsToldToItsDaemon() {
    var usual = List.of("node", "--cluster", "--raw-devices", "loop*");
    assertThat(daemonArguments(Install.ImageBounds.NONE)).isEqualTo(usual);
    var all = new ArrayList<>(usual);
    all.addAll(List.of("--limit", "100Gi", "--rate", "20000000"));
    var bounds = new Install.ImageBounds(ByteSize.parse("100Gi"), ByteSize.parse("20M"));
    assertThat(daemonArguments(bounds)).isEqualTo(all);
  }

  /** Mounted as one directory, in which the daemon looks for all of it. */
  @Test
  void registriesTheirAuthoritiesAndImageMapsAreOfOneConfigMap() {
    var spec = object(objects(List.of()), "DaemonSet", "platter-node").at("/spec/template/spec");
    assertThat(spec.path("volumes").toString())
        .contains(
            "{\"name\":\"images\",\"configMap\":{\"name\":\"platter-images\",\"optional\":true}}");
    assertThat(spec.at("/containers/0/volumeMounts").toString())
        .contains("{\"name\":\"images\",\"mountPath\":\"/etc/platter-images\",\"readOnly\":true}");
    assertThat(spec.at("/containers/0/env").toString())
        .contains(
            "{\"name\":\"PLATTER_IMAGE_MAP\",\"value\":\"/etc/platter-images\"}",
            "{\"name\":\"CONTAINERS_REGISTRIES_CONF\",\"value\":\"/etc/platter-images/registries.conf\"}",
            "{\"name\":\"PLATTER_CERTIFICATES\",\"value\":\"/etc/platter-images\"}");
  }

  @Test
  void aLimitOfNothingIsRefusedSinceTheDaemonWouldTakeItForNone() {
    assertThatExceptionOfType(IllegalArgumentException.class)
        .isThrownBy(() -> new Install.ImageBounds(ByteSize.parse("0"), null))
        .withMessageContaining("a limit of 0");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "fast=/a:0",
        "Fast=/a",
        "fast=a",
        "fast",
        "fast=/a\nb: c",
        "fast=/var/lib/platter"
      })
  void aPoolThatCannotBeUsedIsRefused(String pool) {
    assertThatExceptionOfType(RuntimeException.class)
        .isThrownBy(() -> Install.yaml(options("vms", "a", List.of(pool))))
        .isInstanceOfAny(PlatterException.class, IllegalArgumentException.class);
  }

  @ParameterizedTest
  @ValueSource(strings = {"a\nb", "a b", "", "${x}", "a\"b", "a: b"})
  void anOptionIsWhatItSaysAndNoMore(String text) {
    assertThatExceptionOfType(PlatterException.class)
        .isThrownBy(() -> options(text, "a", List.of()));
    assertThatExceptionOfType(PlatterException.class)
        .isThrownBy(() -> options("vms", text, List.of()));
  }
}

package dev.platter.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.model.ByteSize;
import dev.platter.model.Identities;
import dev.platter.model.Identity;
import dev.platter.model.IdentityKey;
import dev.platter.model.IdentitySource;
import dev.platter.model.IdentitySpec;
import dev.platter.model.PlatterException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class IdentityObjectsTest {
  private static final String IMAGE = "debian@sha256:" + "0123456789abcdef".repeat(4);
  private static final String UUID_TEXT = "1b4d298f-6151-40b0-a1d4-269fc41d48f0";

  private static String set(String more) {
    return """
        apiVersion: virtlet.k8s/v1
        kind: VirtletVMIdentitySet
        metadata: {name: pets}
        spec:
          image: virtlet.cloud/%s
        %s
        """
        .formatted(IMAGE, more.indent(2));
  }

  private static String pod(String annotations, String image) {
    return """
        ---
        kind: Pod
        metadata:
          name: web-0
          annotations:
            kubernetes.io/target-runtime: virtlet.cloud
        %s
        spec:
          containers: [{image: "%s"}]
        """
        .formatted(annotations.indent(4), image);
  }

  private static List<String> problems(String text) {
    return problems(text, Objects.NONE);
  }

  private static List<String> problems(String text, Objects others) {
    return catchThrowableOfType(
            PlatterException.class, () -> Manifests.objects("id.yaml", text, others))
        .details();
  }

  @Test
  void aSetIsReadAsItIsWritten() {
    var objects =
        Manifests.objects(
            "id.yaml",
            set("firmwareUUID: " + UUID_TEXT + "\ntype: Local\nsize: 1Gi\nautoStart: true"));
    assertThat(objects.identities().sets().get(new IdentityKey("default", "pets")).spec())
        .isEqualTo(
            new IdentitySpec(
                IMAGE,
                UUID.fromString(UUID_TEXT),
                IdentitySpec.UuidPolicy.SHARED,
                IdentitySpec.Type.LOCAL,
                ByteSize.parse("1Gi"),
                null));
  }

  @Test
  void anIdentityThatIsNoTextIsReadAsOneThatIs() {
    var key = new IdentityKey("shop", "db");
    var metadata = Map.of("namespace", "shop", "name", "db", "uid", "u-1");
    var spec =
        Map.of(
            "image", "virtlet.cloud/" + IMAGE,
            "type", "Local",
            "size", "1073741824",
            "firmwareUUID", UUID_TEXT,
            "firmwareUUIDPolicy", "PerPod",
            "identitySet", "pets",
            "nodeName", "node1");
    var yaml =
        "{kind: VirtletVMIdentity, metadata: %s, spec: %s}".formatted(flow(metadata), flow(spec));
    var read = Manifests.identity(metadata, spec);
    assertThat(read)
        .isEqualTo(Manifests.objects("id.yaml", yaml).identities().identities().get(key));
    assertThat(read.spec().size()).isEqualTo(ByteSize.parse("1Gi"));
  }

  private static String flow(Map<String, String> fields) {
    return fields.entrySet().stream()
        .map(field -> "%s: \"%s\"".formatted(field.getKey(), field.getValue()))
        .collect(Collectors.joining(", ", "{", "}"));
  }

  @Test
  void whatIsWrongWithAnIdentityThatIsNoTextIsSaidAtOnce() {
    var spec = Map.of("image", "debian", "size", "much", "sise", "1");
    assertThat(
            catchThrowableOfType(
                    PlatterException.class, () -> Manifests.identity(Map.of("name", "A"), spec))
                .details())
        .hasSize(4)
        .anyMatch(it -> it.contains("metadata.name: 'A' is not a name"))
        .anyMatch(it -> it.contains("spec.image: has no sha256 digest"))
        .anyMatch(it -> it.contains("spec.size: "))
        .anyMatch(it -> it.contains("spec.sise: unknown field"));
  }

  @Test
  void everythingWrongWithASetIsSaidAtOnceWithItsLine() {
    var text =
        """
        apiVersion: virtlet.k8s/v2
        kind: VirtletVMIdentitySet
        metadata: {name: Pets}
        spec:
          image: virtlet.cloud/debian:12
          firmwareUUID: 1234
          firmwareUUIDPolicy: perpod
          size: 0
          storageClassName: csi-rbd
          imgae: x
        """;
    assertThat(problems(text))
        .satisfiesExactlyInAnyOrder(
            line -> assertThat(line).startsWith("id.yaml:1: apiVersion: expected virtlet.k8s/v1"),
            line -> assertThat(line).startsWith("id.yaml:3: metadata.name: 'Pets' is not a name"),
            line -> assertThat(line).startsWith("id.yaml:5: spec.image: has no sha256 digest"),
            line -> assertThat(line).startsWith("id.yaml:6: spec.firmwareUUID: '1234' is not a"),
            line -> assertThat(line).startsWith("id.yaml:7: spec.firmwareUUIDPolicy: expected one"),
            line -> assertThat(line).startsWith("id.yaml:8: spec.size: a disk has some bytes"),
            line -> assertThat(line).startsWith("id.yaml:9: spec.storageClassName: only type"),
            line -> assertThat(line).startsWith("id.yaml:10: spec.imgae: unknown field"));
  }

  @Test
  void aStorageClassGoesWithAPersistentVolumeOnly() {
    assertThat(
            Manifests.objects("id.yaml", set("type: PersistentVolume\nstorageClassName: rbd"))
                .identities()
                .sets())
        .hasSize(1);
    assertThat(problems(set("type: Local\nstorageClassName: rbd"))).hasSize(1);
    assertThat(problems(set("type: local\nstorageClassName: rbd")))
        .singleElement()
        .asString()
        .contains("spec.type: expected one of Local, PersistentVolume; found 'local'");
    assertThat(problems(set("firmwareUUIDPolicy: PerPod")))
        .singleElement()
        .asString()
        .contains("PerPod needs firmwareUUID");
  }

  @Test
  void theRootDiskOfAPodIsItsIdentitysWithThePodsNameOrAnother() {
    for (var name : List.of("web-0", "other")) {
      var annotations =
          "VirtletVMIdentitySet: pets"
              + (name.equals("web-0") ? "" : "\nVirtletVMIdentityName: " + name);
      var vm = Manifests.read("id.yaml", set("") + pod(annotations, IMAGE)).getFirst();
      assertThat(vm.bootDisk().source())
          .isInstanceOfSatisfying(
              IdentitySource.class,
              source -> {
                assertThat(source.identity().key()).isEqualTo(new IdentityKey("default", name));
                assertThat(source.identity().set()).isEqualTo("pets");
                assertThat(source.identity().spec().image()).isEqualTo(IMAGE);
              });
    }
  }

  /** Expected values are Python's: uuid.uuid5(uuid.UUID('1b4d…'), 'web-0'). */
  @ParameterizedTest
  @CsvSource({
    "Shared, 1b4d298f-6151-40b0-a1d4-269fc41d48f0",
    "PerPod, adc3bb8f-de4b-5abe-90f7-2e23b47448e7"
  })
  void theFirmwareUuidIsTheSetsOrFollowsFromThePodsName(String policy, UUID expected) {
    var set = set("firmwareUUID: %s\nfirmwareUUIDPolicy: %s".formatted(UUID_TEXT, policy));
    var vm = Manifests.read("id.yaml", set + pod("VirtletVMIdentitySet: pets", IMAGE)).getFirst();
    assertThat(vm.uuid()).isEqualTo(expected);
  }

  @Test
  void anIdentityThatIsThereGoesBeforeItsSetWhichMayBeGone() {
    var there =
        new Identity(
            new IdentityKey("default", "web-0"),
            "uid-1",
            "pets",
            new IdentitySpec(
                IMAGE,
                null,
                IdentitySpec.UuidPolicy.SHARED,
                IdentitySpec.Type.LOCAL,
                ByteSize.parse("2Gi"),
                null));
    var vm =
        Manifests.objects(
                "id.yaml",
                pod("VirtletVMIdentitySet: pets", IMAGE),
                Objects.of(Identities.of(there)))
            .vms()
            .getFirst();
    assertThat(vm.bootDisk().source()).isEqualTo(new IdentitySource(there));
    assertThat(
            problems(pod("VirtletVMIdentitySet: others", IMAGE), Objects.of(Identities.of(there))))
        .singleElement()
        .asString()
        .contains("the identity default/web-0 is of the set pets");
  }

  @Test
  void anIdentityObjectIsReadWithItsUid() {
    var text =
        """
        apiVersion: virtlet.k8s/v1
        kind: VirtletVMIdentity
        metadata: {name: web-0, namespace: shop, uid: 7f, labels: {a: b}}
        spec: {image: "%s", identitySet: pets, nodeName: node1}
        status: {ready: true}
        """
            .formatted(IMAGE);
    var key = new IdentityKey("shop", "web-0");
    var identity = Manifests.objects("id.yaml", text).identities().identities().get(key);
    assertThat(identity.uid()).isEqualTo("7f");
    assertThat(identity.set()).isEqualTo("pets");
  }

  @Test
  void aPodThatDoesNotMatchItsIdentityIsRefusedWithTheReason() {
    assertThat(problems(set("") + pod("VirtletVMIdentitySet: pets", "virtlet.cloud/debian")))
        .singleElement()
        .asString()
        .contains("image: is not that of the identity web-0 of the set pets; write " + IMAGE);
    assertThat(problems(pod("VirtletVMIdentitySet: pets", IMAGE)))
        .singleElement()
        .asString()
        .contains("there is no VirtletVMIdentitySet pets in the namespace default");
    assertThat(problems(set("") + pod("VirtletVMIdentityName: a", IMAGE)))
        .singleElement()
        .asString()
        .contains("needs VirtletVMIdentitySet");
    assertThat(
            problems(
                set("") + pod("VirtletVMIdentitySet: pets\nVirtletVMIdentityName: ../x", IMAGE)))
        .singleElement()
        .asString()
        .contains("'../x' is not a name");
    assertThat(
            problems(
                set("firmwareUUID: " + UUID_TEXT)
                    + pod(
                        """
                        VirtletVMIdentitySet: pets
                        VirtletRootVolumeSize: 2Gi
                        VirtletSystemUUID: 00000000-6151-40b0-a1d4-269fc41d48f0
                        """,
                        IMAGE)))
        .hasSize(2)
        .anyMatch(line -> line.contains("VirtletRootVolumeSize: the root disk is an identity's"))
        .anyMatch(line -> line.contains("makes it " + UUID_TEXT));
  }
}

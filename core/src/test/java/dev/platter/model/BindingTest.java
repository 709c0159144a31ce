package dev.platter.model;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.dialect.Manifests;
import org.junit.jupiter.api.Test;

class BindingTest {
  private static String volume(String name, String size, String rest) {
    return """
        ---
        kind: PersistentVolume
        metadata: {name: %s}
        spec: {capacity: {storage: %s}, accessModes: [ReadWriteOnce, ReadOnlyMany], local: {path: /d}%s}
        """
        .formatted(name, size, rest);
  }

  private static String claim(String name, String size, String rest) {
    return """
        ---
        kind: PersistentVolumeClaim
        metadata: {name: %s}
        spec: {resources: {requests: {storage: %s}}, accessModes: [ReadWriteOnce]%s}
        """
        .formatted(name, size, rest);
  }

  private static String bound(String claim, String... objects) {
    var volumes = Manifests.objects("t.yaml", String.join("", objects)).volumes();
    var key = volumes.claims().get("default/" + claim);
    return Binding.of(key, volumes).map(Volume::name).orElse("none");
  }

  @Test
  void aClaimGetsTheSmallestVolumeThatIsLargeEnough() {
    assertThat(
            bound(
                "c",
                volume("a", "9G", ""),
                volume("b", "2G", ""),
                volume("d", "1G", ""),
                claim("c", "1500M", "")))
        .isEqualTo("b");
    assertThat(bound("c", volume("a", "1G", ""), claim("c", "2G", ""))).isEqualTo("none");
  }

  @Test
  void classModeAndAccessHaveToBeThoseOfTheClaim() {
    var volume = volume("a", "1G", ", storageClassName: fast");
    assertThat(bound("c", volume, claim("c", "1G", ""))).isEqualTo("none");
    assertThat(bound("c", volume, claim("c", "1G", ", storageClassName: fast"))).isEqualTo("a");
    assertThat(bound("c", volume("a", "1G", ", volumeMode: Block"), claim("c", "1G", "")))
        .isEqualTo("none");
    assertThat(
            bound(
                "c",
                volume("a", "1G", ""),
                claim("c", "1G", "").replace("ReadWriteOnce", "ReadWriteMany")))
        .isEqualTo("none");
  }

  @Test
  void noTwoClaimsGetTheSameVolume() {
    String[] objects = {
      claim("y", "1G", ""), claim("x", "1G", ""), volume("b", "1G", ""), volume("a", "1G", "")
    };
    assertThat(bound("x", objects)).isEqualTo("a");
    assertThat(bound("y", objects)).isEqualTo("b");
  }

  @Test
  void whatIsNamedIsKept() {
    String[] objects = {
      claim("x", "1G", ""),
      claim("y", "1G", ", volumeName: a"),
      volume("a", "1G", ""),
      volume("b", "2G", ", claimRef: {name: other}"),
      volume("d", "3G", "")
    };
    assertThat(bound("x", objects)).isEqualTo("d");
    assertThat(bound("y", objects)).isEqualTo("a");
  }
}

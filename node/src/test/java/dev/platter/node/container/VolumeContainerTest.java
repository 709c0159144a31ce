package dev.platter.node.container;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.dialect.Manifests;
import dev.platter.model.ContainerSource;
import dev.platter.model.PlatterException;
import java.util.List;
import org.junit.jupiter.api.Test;

class VolumeContainerTest {
  private static VolumeContainer read(String yaml) {
    return VolumeContainer.of((ContainerSource) Manifests.readSource("disk.yaml", yaml));
  }

  private static List<String> problems(String yaml) {
    return catchThrowableOfType(PlatterException.class, () -> read(yaml)).details();
  }

  @Test
  void anImageAloneIsSpokenToByHttpsOnAPortOfOurChoice() {
    var container = read("container: {image: some-image-name}");
    assertThat(container.image()).isEqualTo("docker.io/library/some-image-name:latest");
    assertThat(container.scheme()).isEqualTo(VolumeContainer.Scheme.HTTPS);
    assertThat(container.port()).isNull();
    assertThat(container.probe()).isNull();
  }

  @Test
  void kubernetesAttributesKeepTheirMeaning() {
    var container =
        read(
            """
            container:
              image: registry.example:5000/maker:2
              name: maker
              command: [/maker]
              args: [--size, 10]
              workingDir: /data
              env:
              - {name: POOL, value: "a = b"}
              - {name: EMPTY}
              ports: [{containerPort: 8443}]
              readinessProbe: {httpGet: {path: /healthz, port: 8443, scheme: HTTP}}
            """);
    assertThat(container.command()).containsExactly("/maker");
    assertThat(container.args()).containsExactly("--size", "10");
    assertThat(container.env()).containsEntry("POOL", "a = b").containsEntry("EMPTY", "");
    assertThat(container.directory()).isEqualTo("/data");
    assertThat(container.port()).isEqualTo(8443);
    assertThat(container.probe()).isEqualTo("/healthz");
    assertThat(container.scheme()).isEqualTo(VolumeContainer.Scheme.HTTP);
  }

  @Test
  void everythingThatCannotBeHonouredIsNamed() {
    assertThat(
            problems(
                """
                container:
                  image: --rootfs
                  volumeMounts: [{name: x}]
                  securityContext: {privileged: true}
                  args: [x]
                  env:
                  - {name: PORT, value: 1}
                  - {name: TOKEN, valueFrom: {secretKeyRef: {name: s}}}
                  - {name: LINES, value: "a\\nPATH=/evil"}
                  - {name: "A B", value: x}
                  ports: [{containerPort: 99999}]
                  readinessProbe: {exec: {command: [x]}, httpGet: {scheme: FTP, path: "/ x"}}
                """))
        .satisfiesExactlyInAnyOrder(
            line -> assertThat(line).startsWith("image: '--rootfs' is not an image reference"),
            line -> assertThat(line).startsWith("volumeMounts: "),
            line -> assertThat(line).startsWith("securityContext: "),
            line -> assertThat(line).startsWith("args: needs command"),
            line -> assertThat(line).startsWith("env: PORT is set by Platter"),
            line -> assertThat(line).startsWith("env.valueFrom: is not supported"),
            line -> assertThat(line).isEqualTo("env: the value of LINES has a line break"),
            line -> assertThat(line).startsWith("env: 'A B' is not a variable's name"),
            line -> assertThat(line).startsWith("ports.containerPort: must be a port"),
            line -> assertThat(line).startsWith("readinessProbe.exec: is not supported"),
            line -> assertThat(line).startsWith("readinessProbe.httpGet.scheme: must be"),
            line -> assertThat(line).startsWith("readinessProbe.httpGet.path: is not"));
  }
}

package dev.platter.node.libvirt;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class SecretTest {
  @RegisterExtension static final PrivateLibvirtExtension NODE = new PrivateLibvirtExtension();

  private static String xml(UUID uuid, String isPrivate) {
    return """
        <secret ephemeral='yes' private='%s'>
          <uuid>%s</uuid><usage type='ceph'><name>%s</name></usage>
        </secret>
        """
        .formatted(isPrivate, uuid, uuid);
  }

  @Test
  void valueReachesLibvirtByteForByte() {
    UUID uuid = UUID.randomUUID();
    byte[] value = {0, 1, (byte) 0xff, 'k', 'e', 'y', 0};
    try (Libvirt libvirt = Libvirt.open(NODE.uri());
        Secret secret = libvirt.defineSecret(xml(uuid, "no"))) {
      secret.setValue(value);
      assertThat(secret.uuid()).isEqualTo(uuid);
      assertThat(NODE.virsh("secret-get-value", uuid.toString()))
          .isEqualTo(Base64.getEncoder().encodeToString(value));
      secret.undefine();
      assertThat(libvirt.secret(uuid)).isEmpty();
      assertThat(NODE.virsh("secret-list")).isEmpty();
    }
  }

  @Test
  void secretIsFoundByItsUuid() throws IOException {
    UUID uuid = UUID.randomUUID();
    Path file = Files.writeString(NODE.directory().resolve("secret.xml"), xml(uuid, "no"));
    NODE.virsh("secret-define", file.toString());
    try (Libvirt libvirt = Libvirt.open(NODE.uri());
        Secret secret = libvirt.secret(uuid).orElseThrow()) {
      assertThat(secret.uuid()).isEqualTo(uuid);
      secret.undefine();
    }
  }

  @Test
  void ephemeralPrivateValueIsNeitherReadableNorOnDisk() throws IOException {
    UUID uuid = UUID.randomUUID();
    String value = "hunter2-hunter2";
    try (Libvirt libvirt = Libvirt.open(NODE.uri());
        Secret secret = libvirt.defineSecret(xml(uuid, "yes"))) {
      secret.setValue(value.getBytes(UTF_8));
      assertThat(NODE.tryVirsh("secret-get-value", uuid.toString()).status()).isNotZero();
      try (Stream<Path> files = Files.walk(NODE.directory())) {
        for (Path file : files.filter(Files::isRegularFile).toList()) {
          assertThat(Files.readString(file, ISO_8859_1))
              .as(file.toString())
              .doesNotContain(value)
              .doesNotContain(Base64.getEncoder().encodeToString(value.getBytes(UTF_8)));
        }
      }
      secret.undefine();
    }
  }
}

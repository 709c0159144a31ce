package dev.platter.node.container;

import java.nio.file.Path;

/**
 * Knows every path below the directory of a volume.
 *
 * <pre>
 * address       the container's name and where its service listens; published when all else is
 *               ready for the container
 * tls/          key and certificate, which the container sees, and the CA
 * environment   only while the container is created: it may hold secrets
 * lock          held by whoever changes the container
 * log           what the container says
 * asked         a volume may exist: written before PUT, deleted after DELETE
 * answer        what PUT answered, byte for byte
 * </pre>
 */
record VolumeFiles(Path directory) {
  Path address() {
    return directory.resolve("address");
  }

  Path tls() {
    return directory.resolve("tls");
  }

  Path key() {
    return tls().resolve("tls.key");
  }

  Path certificate() {
    return tls().resolve("tls.crt");
  }

  Path ca() {
    return tls().resolve("ca.crt");
  }

  Path environment() {
    return directory.resolve("environment");
  }

  Path lock() {
    return directory.resolve("lock");
  }

  Path log() {
    return directory.resolve("log");
  }

  Path asked() {
    return directory.resolve("asked");
  }

  Path answer() {
    return directory.resolve("answer");
  }
}

package dev.platter.registry;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * What a directory like {@code certs.d} has for one host: a directory of its name, as Docker and
 * podman have it, and a file beside it, which is what the mount of a ConfigMap can have instead.
 *
 * @param directory {@code HOST[:PORT]}, with CAs and client certificates
 * @param authority {@code HOST[_PORT].crt}, with CAs: the names there have no colons, and names of
 *     hosts no underscores
 */
record HostFiles(Path directory, Path authority) {
  static HostFiles in(Path certificates, String host) {
    return new HostFiles(
        certificates.resolve(host), certificates.resolve(host.replace(':', '_') + ".crt"));
  }

  /** Whether there is anything, if only an empty directory. */
  boolean exist() {
    return Files.isDirectory(directory) || Files.isRegularFile(authority);
  }

  /** CAs that are trusted besides the system's. */
  List<Path> authorities() throws IOException {
    List<Path> all = new ArrayList<>(ofDirectory(".crt"));
    if (Files.isRegularFile(authority)) {
      all.add(authority);
    }
    return all;
  }

  /** Client certificates; the key of each is beside it. */
  List<Path> clientCertificates() throws IOException {
    return ofDirectory(".cert");
  }

  private List<Path> ofDirectory(String suffix) throws IOException {
    if (!Files.isDirectory(directory)) {
      return List.of();
    }
    try (Stream<Path> files = Files.list(directory)) {
      return files.filter(file -> file.toString().endsWith(suffix)).sorted().toList();
    }
  }

  /** For messages. */
  @Override
  public String toString() {
    return Files.isDirectory(directory) ? directory.toString() : authority.toString();
  }
}

package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import dev.platter.model.SecretRef;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;

/** Finds the values of secrets. Nothing here keeps one, and no error shows one. */
final class Secrets {
  private static final int MOST_BYTES = 64 << 10;

  private Secrets() {}

  /**
   * The password that a login needs, as QEMU and libvirt take it: of cephx keys they want the bytes
   * that everybody else writes in base64. The caller's to wipe.
   *
   * @param protocol of the network disk
   */
  static byte[] password(String protocol, SecretRef ref, SecretData given) throws IOException {
    var value = value(ref, given);
    if (!protocol.equals("rbd")) {
      return value;
    }
    try {
      return Base64.getMimeDecoder().decode(value);
    } catch (IllegalArgumentException e) {
      throw PlatterException.of(
          Code.INVALID,
          "the secret in " + ref + " is not a cephx key",
          "Put there what 'ceph auth get-key client.NAME' prints.");
    } finally {
      Arrays.fill(value, (byte) 0);
    }
  }

  /** The value, which is the caller's to wipe. */
  static byte[] value(SecretRef ref, SecretData given) throws IOException {
    var value =
        switch (ref.kind()) {
          case OBJECT -> object(ref, given);
          case FILE -> file(Path.of(ref.name()));
        };
    if (value.length == 0) {
      throw PlatterException.of(
          Code.INVALID, "the secret in " + ref + " is empty", "Put the password there.");
    }
    return value;
  }

  private static byte[] object(SecretRef ref, SecretData given) {
    if (!given.has(ref.name())) {
      throw PlatterException.of(
          Code.NOT_FOUND,
          "there is no Secret " + ref.name(),
          "Give it with the VM or with -f FILE; Platter stores no secrets, so each start needs it.");
    }
    return given
        .find(ref.name(), ref.key())
        .orElseThrow(
            () ->
                PlatterException.of(
                    Code.NOT_FOUND,
                    "the Secret " + ref.name() + " has no key " + ref.key(),
                    "Name the right key beside the name of the Secret."));
  }

  /** One line break at the end does not belong to the password: editors put it there. */
  private static byte[] file(Path file) throws IOException {
    try {
      if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS) && Files.exists(file)) {
        throw notASecret(file, "not a regular file");
      }
      try (var in = Files.newInputStream(file)) {
        var bytes = in.readNBytes(MOST_BYTES + 1);
        if (bytes.length > MOST_BYTES) {
          throw notASecret(file, "larger than 64 KiB");
        }
        var end = bytes.length > 0 && bytes[bytes.length - 1] == '\n' ? 1 : 0;
        var value = Arrays.copyOf(bytes, bytes.length - end);
        Arrays.fill(bytes, (byte) 0);
        return value;
      }
    } catch (NoSuchFileException e) {
      throw PlatterException.of(
          Code.NOT_FOUND, "there is no file " + file, "Check the path that the disk refers to.", e);
    }
  }

  private static PlatterException notASecret(Path file, String why) {
    return PlatterException.of(
        Code.INVALID, file + " is " + why, "Name a file that holds the password and nothing else.");
  }
}

package dev.platter.node.network;

import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * An encrypted disk of 8 MiB, which stands for all drivers with secrets: it opens with the right
 * one only.
 */
record LuksDisk(Path file, byte[] password) {
  static LuksDisk make(Path directory) throws IOException {
    Path file = directory.resolve("disk.luks");
    Path key = Files.writeString(directory.resolve("key"), "correct horse, battery=staple");
    // It measures how fast it is, and now and then is interrupted just then.
    Shell.run(
        "sh",
        "-c",
        "for i in 1 2 3 4 5; do qemu-img create -q --object secret,id=k,file=%s -f luks -o"
                .formatted(key)
            + " key-secret=k,iter-time=10 %s 8M && exit 0; done; exit 1".formatted(file));
    return new LuksDisk(file, Files.readAllBytes(key));
  }

  /** To be opened with the last of them. */
  Target with(SecretValue... secrets) {
    return new Target(
        "{\"driver\":\"luks\",\"key-secret\":\"%s\",\"file\":{\"driver\":\"file\",\"filename\":\"%s\"}}"
            .formatted(secrets[secrets.length - 1].id(), file),
        List.of(secrets));
  }
}

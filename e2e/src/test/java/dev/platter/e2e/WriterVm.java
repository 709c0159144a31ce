package dev.platter.e2e;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.lab.KubeNode;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.UUID;

/**
 * A VM whose guest writes records all the time.
 *
 * @param node where it starts; only one whose disk is on a server can go elsewhere
 */
record WriterVm(String name, KubeNode node, Disk disk) {
  /** Room for two hours of records, behind what was there before. */
  private static final int AREA_MIB = 16;

  private static final int IMAGE_MIB = 64;
  private static final int SECTORS_PER_MIB = 2048;

  /** Where the records go. */
  sealed interface Disk {
    /** An overlay of a registry's image that stays on its node. */
    record Kept() implements Disk {}

    /** At a server outside, for one VM at a time. */
    record Served(WitnessedExport export) implements Disk {}

    /** A file on a volume of the node, by way of a claim. */
    record Claimed() implements Disk {}

    default String word() {
      return switch (this) {
        case Kept() -> "kept overlay";
        case Served(WitnessedExport _) -> "NBD server";
        case Claimed() -> "claim";
      };
    }
  }

  static String area() {
    return AREA_MIB + "M";
  }

  boolean canMove() {
    return disk instanceof Disk.Served;
  }

  private int first() {
    return disk instanceof Disk.Kept ? IMAGE_MIB * SECTORS_PER_MIB : 0;
  }

  private UUID uuid() {
    return UUID.nameUUIDFromBytes(("chaos " + name).getBytes(UTF_8));
  }

  private String volume() {
    return "/var/lib/platter/volume-" + name;
  }

  /** What a node must have before the VM can be made. */
  void prepare() {
    if (disk instanceof Disk.Claimed) {
      try {
        Files.createDirectories(node.path(volume()));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** What to apply. */
  String yaml(String image, int milliseconds) {
    var disks =
        switch (disk) {
          case Disk.Kept() ->
              "- {name: root, source: {image: \"%s\"}, copy: {mode: copy-on-write}, size: %dMi, keep: true}"
                  .formatted(image, IMAGE_MIB + AREA_MIB);
          case Disk.Served(WitnessedExport export) ->
              root(image)
                  + "- {name: data, source: {nbd: {host: {name: %s, port: %d}}}, access-mode: write-exclusive}"
                      .formatted(export.address(), export.port());
          case Disk.Claimed() -> root(image) + "- {name: data, source: {pvc: %s}}".formatted(name);
        };
    var serial = disk instanceof Disk.Kept ? "root" : "data";
    return (disk instanceof Disk.Claimed ? claim() : "")
        + """
        apiVersion: platter.dev/v1alpha1
        kind: VirtualMachine
        metadata: {name: %s}
        spec:
          affinity:
            nodeAffinity:
              preferredDuringSchedulingIgnoredDuringExecution:
              - weight: 100
                preference:
                  matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%s]}]
          terminationGracePeriodSeconds: 60
          cloudInit:
            userData: |
              #cloud-config
              #marker: echo %s | base64 -d >/tmp/writer; sh /tmp/writer %s %s %d %d &
          domain:
            firmware: {uuid: %s}
            memory: {guest: 96Mi}
            devices:
              disks:
        %s
        """
            .formatted(
                name,
                node.name(),
                script(),
                name,
                serial,
                first(),
                milliseconds,
                uuid(),
                disks.indent(6).stripTrailing());
  }

  private static String root(String image) {
    return "- {name: root, source: {image: \"%s\"}, copy: {mode: copy-on-write}}\n"
        .formatted(image);
  }

  private String claim() {
    return """
    apiVersion: v1
    kind: PersistentVolume
    metadata: {name: "%1$s"}
    spec:
      capacity: {storage: %2$dMi}
      accessModes: [ReadWriteOnce]
      storageClassName: chaos
      claimRef: {namespace: default, name: "%1$s"}
      local: {path: %3$s}
      nodeAffinity:
        required:
          nodeSelectorTerms:
          - matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%4$s]}]
    ---
    apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: "%1$s"}
    spec:
      storageClassName: chaos
      volumeName: "%1$s"
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: %2$dMi}}
    ---
    """
        .formatted(name, AREA_MIB, volume(), node.name());
  }

  private static String script() {
    try (InputStream in = WriterVm.class.getResourceAsStream("writer.sh")) {
      return Base64.getEncoder().encodeToString(in.readAllBytes());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The bytes where its records are, read by QEMU's tool; the VM must not run. */
  byte[] recorded(Path work) {
    var raw = work.resolve(name + ".out.raw");
    switch (disk) {
      // Its chain has paths of the node.
      case Disk.Kept() ->
          node.exec(
              "qemu-img",
              "convert",
              "-O",
              "raw",
              "/var/lib/platter/pools/default/" + uuid() + "-root.qcow2",
              raw);
      case Disk.Served(WitnessedExport export) -> copy(export.disk(), raw);
      case Disk.Claimed() -> copy(node.path(volume()).resolve("disk.img"), raw);
    }
    try {
      var bytes = Files.readAllBytes(raw);
      var from = first() * Written.SECTOR;
      return Arrays.copyOfRange(bytes, from, from + (AREA_MIB << 20));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void copy(Path from, Path to) {
    Shell.run("qemu-img", "convert", "-f", "raw", "-O", "raw", from, to);
  }
}

package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.Names;
import dev.platter.node.Hypervisor;
import dev.platter.node.LiveDisks;
import dev.platter.node.Machine;
import dev.platter.node.Node;
import dev.platter.node.image.Images;
import dev.platter.plan.NodeFacts.Accelerator;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.api.model.OwnerReferenceBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A node of a cluster with real records and disks, and without guests. */
abstract class PodVmsScene {
  static final VmKey KEY = new VmKey("default", "db");
  static final Pattern ID = Pattern.compile("<uuid>([^<]+)</uuid>");

  @TempDir Path work;
  final Set<UUID> running = ConcurrentHashMap.newKeySet();
  final FakeApi api = new FakeApi();
  long size = 4096;
  StateLayout layout;
  Owners owners;
  Node node;
  final Starts starts = new Starts(_ -> {});
  PodVms vms;
  Reaper reaper;

  @BeforeEach
  void open() throws IOException {
    layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    owners = new Owners(layout.owners(), _ -> {});
    node = new Node(layout, machine(), fake(Images.class), starts);
    node.tidy();
    // No VM here has a disk that other nodes reach, so nobody asks for a lease.
    vms = vms(starts, new DiskLeases(null, "platter-system", "node1"));
    reaper = new Reaper(owners, vms, api, "node1", _ -> {});
  }

  PodVms vms(Starts starts, DiskLeases leases) throws IOException {
    return new PodVms(node, api, new Gathering(work, api), owners, leases, work, starts, _ -> {});
  }

  Machine machine() {
    var hypervisor =
        (Hypervisor)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {Hypervisor.class},
                (_, method, arguments) -> {
                  switch (method.getName()) {
                    case "start" -> {
                      var id = ID.matcher((String) arguments[0]);
                      assertThat(id.find()).isTrue();
                      running.add(UUID.fromString(id.group(1)));
                      return null;
                    }
                    case "state" -> {
                      return running.contains((UUID) arguments[0])
                          ? Hypervisor.DomainState.RUNNING
                          : Hypervisor.DomainState.GONE;
                    }
                    case "isStalled" -> {
                      return false;
                    }
                    case "shutdown", "destroy" -> {
                      running.remove((UUID) arguments[0]);
                      return null;
                    }
                    case "disks" -> {
                      return Proxy.newProxyInstance(
                          getClass().getClassLoader(),
                          new Class<?>[] {LiveDisks.class},
                          (_, _, _) -> size);
                    }
                    default -> {
                      return null;
                    }
                  }
                });
    return new Machine() {
      @Override
      public String libvirt() {
        return "";
      }

      @Override
      public Hypervisor hypervisor(String libvirt) {
        return hypervisor;
      }

      @Override
      public Accelerator accelerator() {
        return Accelerator.TCG;
      }

      @Override
      public boolean isolated() {
        return true;
      }

      @Override
      public String emulator() {
        return "/usr/bin/qemu-system-x86_64";
      }

      @Override
      public void close() {}
    };
  }

  static <T> T fake(Class<T> type) {
    return type.cast(
        Proxy.newProxyInstance(
            PodVmsScene.class.getClassLoader(), new Class<?>[] {type}, (_, _, _) -> null));
  }

  static String description(String disk) {
    return """
    {"kind": "VirtualMachine", "metadata": {"name": "db", "namespace": "default"},
     "spec": {"domain": {"devices": {"disks": [%s]}}}}"""
        .formatted(disk);
  }

  static String blank(String size, boolean keep) {
    return "{\"name\": \"data\", \"source\": {\"blank\": {}}, \"size\": \"%s\", \"keep\": %s}"
        .formatted(size, keep);
  }

  Pod pod(String uid, String description, String owner) {
    var pod =
        new PodBuilder()
            .withNewMetadata()
            .withName("db")
            .withNamespace("default")
            .withUid(uid)
            .addToAnnotations(Names.VM, description)
            .withOwnerReferences(
                owner.isEmpty()
                    ? List.of()
                    : List.of(
                        new OwnerReferenceBuilder()
                            .withApiVersion(Names.GROUP + "/" + Names.VERSION)
                            .withKind("VirtualMachine")
                            .withName("db")
                            .withUid(owner)
                            .build()))
            .endMetadata()
            .withNewSpec()
            .withNodeName("node1")
            .endSpec()
            .build();
    api.pods.put("default/db", pod);
    return pod;
  }

  void object(String uid, boolean deleted) {
    api.vms.put("default/db", new Api.VmObject("default", "db", uid, deleted, "db", null, null));
  }

  void objectOn(String node) {
    api.vms.put("default/db", new Api.VmObject("default", "db", uid(1), false, "db", null, node));
  }

  static String uid(int n) {
    return "00000000-0000-0000-0000-00000000000" + n;
  }

  long disks() throws IOException {
    try (var files = Files.list(layout.pool("default"))) {
      return files.count();
    }
  }

  void end() throws IOException {
    running.clear();
    assertThat(vms.ended(KEY, OptionalLong.empty())).isPresent();
    api.pods.clear();
  }
}

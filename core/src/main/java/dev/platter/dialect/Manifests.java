package dev.platter.dialect;

import dev.platter.model.Disk;
import dev.platter.model.Identity;
import dev.platter.model.Source;
import dev.platter.model.Vm;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/**
 * The way in: a file's text to the VMs it describes, or one error that lists everything that is
 * wrong with it.
 */
public final class Manifests {
  private static final String KINDS =
      "Pod, VM, VirtualMachine, VirtualMachineInstance, DataVolume, VirtletVMIdentitySet,"
          + " VirtletVMIdentity, PersistentVolumeClaim, PersistentVolume, Secret and ConfigMap";

  private Manifests() {}

  /** The VMs of a file that holds nothing else of interest. */
  public static List<Vm> read(String file, String text) {
    var vms = objects(file, text).vms();
    if (vms.isEmpty()) {
      var problems = new Problems(file);
      problems.add(1, "", "there is no VM in it (see examples/)");
      throw problems.toException();
    }
    return vms;
  }

  /**
   * @param file the file's name, for messages and for the name of a VM that gives none
   * @throws dev.platter.model.PlatterException with every problem of the file
   */
  public static Objects objects(String file, String text) {
    return objects(file, text, Objects.NONE);
  }

  /**
   * @param others what was read from other files: what a pod refers to may be there
   */
  public static Objects objects(String file, String text, Objects others) {
    var problems = new Problems(file);
    var documents = YamlDocuments.parse(text, problems);
    var objects = Objects.NONE;
    var several = documents.stream().filter(Manifests::describesVm).count() > 1;
    var vms = 0;
    for (var document : documents) {
      vms += describesVm(document) ? 1 : 0;
      var name = Names.fromFile(file) + (several ? "-" + vms : "");
      objects = objects.with(document(document, new VmObjects(name, problems), problems));
    }
    if (documents.isEmpty()) {
      problems.add(1, "", "the file is empty; describe a VM in it (see examples/)");
    }
    // These come last, since they are made of other objects.
    var single = documents.stream().flatMap(Manifests::single).toList();
    var known = objects.with(others);
    var pods = new PodObjects(known, problems);
    var instances = new KubeVirtObjects(single, known, Names.fromFile(file), problems);
    for (var document : single) {
      if (KubeVirtObjects.isOne(document)) {
        objects = objects.with(of(instances.read(document)));
      } else if (kind(document).equals("Pod")) {
        var fields = Fields.of(document, "", problems);
        objects = fields == null ? objects : objects.with(pods.read(fields));
      }
    }
    problems.throwIfAny();
    return objects;
  }

  /**
   * An identity that is no text: a cluster has many, and to write each as YAML to read it again
   * would cost more than its disk.
   *
   * @param metadata its name and namespace, and its uid if it has one
   * @param spec each of its fields
   * @throws dev.platter.model.PlatterException with every problem of it
   */
  public static Identity identity(Map<String, String> metadata, Map<String, String> spec) {
    var problems = new Problems("identity " + metadata.get("name"));
    var read =
        IdentityObjects.identity(
            Fields.of(metadata, "metadata", problems), Fields.of(spec, "spec", problems));
    problems.throwIfAny();
    if (read == null) {
      throw problems.toException();
    }
    return read;
  }

  private static String kind(Node node) {
    return VmObjects.child(node, "kind") instanceof ScalarNode word ? word.getValue() : "";
  }

  /** The objects of a list, or the one that it is. */
  private static Stream<Node> single(Node node) {
    return kind(node).equals("List") && VmObjects.child(node, "items") instanceof SequenceNode list
        ? list.getValue().stream().flatMap(Manifests::single)
        : Stream.of(node);
  }

  private static boolean describesVm(Node document) {
    return !(VmObjects.child(document, "kind") instanceof ScalarNode kind)
        || kind.getValue().equals("VM")
        || kind.getValue().equals("VirtualMachine");
  }

  /**
   * The answer of a container that makes volumes: one source, in the words of a disk's {@code
   * source}.
   */
  public static Source readSource(String file, String text) {
    var problems = new Problems(file);
    var documents = YamlDocuments.parse(text, problems);
    if (documents.size() != 1) {
      problems.add(1, "", "expected one YAML document, found " + documents.size());
      throw problems.toException();
    }
    var fields = Fields.of(documents.getFirst(), "", problems);
    var source = fields == null ? null : SourceReader.read(fields, null);
    problems.throwIfAny();
    if (source == null) {
      throw problems.toException();
    }
    return source;
  }

  /**
   * One disk for a VM that exists: an entry of {@code disks}, alone or as the only one of a list.
   *
   * @param taken devices of the VM's disks, around which a target is chosen
   */
  public static Disk readDisk(
      String file, String text, Collection<String> taken, String namespace) {
    var problems = new Problems(file);
    var documents = YamlDocuments.parse(text, problems);
    var items =
        documents.stream()
            .flatMap(
                node ->
                    node instanceof SequenceNode list ? list.getValue().stream() : Stream.of(node))
            .toList();
    problems.throwIfAny();
    if (items.size() != 1) {
      problems.add(1, "", "expected one disk, found " + items.size());
      throw problems.toException();
    }
    var targets = new Targets();
    taken.forEach(targets::reserve);
    var fields = Fields.of(items.getFirst(), "", problems);
    var disk = fields == null ? null : DiskReader.read(fields, targets, namespace);
    problems.throwIfAny();
    if (disk == null) {
      throw problems.toException();
    }
    return disk;
  }

  private static Objects document(Node node, VmObjects vms, Problems problems) {
    if (node instanceof SequenceNode list) {
      return of(vms.fragment(list.getValue(), "disks"));
    }
    var fields = Fields.of(node, "", problems);
    if (fields == null || KubeVirtObjects.isOne(node)) {
      return Objects.NONE;
    }
    if (!fields.has("kind") && fields.has("disks") && node instanceof MappingNode) {
      var vm = vms.fragment(fields.items("disks"), "disks");
      fields.done();
      return of(vm);
    }
    var kind = fields.requiredText("kind", "VirtualMachine");
    if (kind == null) {
      return Objects.NONE;
    }
    return switch (kind) {
      case "VM", "VirtualMachine" -> {
        version(fields, "platter.dev/v1alpha1");
        yield of(vms.object(fields));
      }
      case "Pod" -> {
        version(fields, "v1");
        yield Objects.NONE;
      }
      case DataVolumes.KIND -> Objects.NONE;
      case "Secret" -> {
        version(fields, "v1");
        yield DataObjects.secret(fields);
      }
      case "PersistentVolumeClaim" -> {
        version(fields, "v1");
        yield VolumeObjects.claim(fields);
      }
      case "PersistentVolume" -> {
        version(fields, "v1");
        yield VolumeObjects.volume(fields);
      }
      case "ConfigMap" -> {
        version(fields, "v1");
        yield DataObjects.config(fields);
      }
      case "VirtletVMIdentitySet" -> {
        version(fields, IdentityObjects.VERSION);
        yield IdentityObjects.set(fields);
      }
      case "VirtletVMIdentity" -> {
        version(fields, IdentityObjects.VERSION);
        yield IdentityObjects.identity(fields);
      }
      case "List" -> {
        version(fields, "v1");
        var all = Objects.NONE;
        for (var item : fields.items("items")) {
          all = all.with(document(item, vms, problems));
        }
        yield all;
      }
      default -> {
        fields.problem(
            "kind", "'" + kind + "' is not a kind that Platter reads; it reads " + KINDS);
        yield Objects.NONE;
      }
    };
  }

  private static void version(Fields fields, String expected) {
    var version = fields.text("apiVersion");
    if (version != null && !version.equals(expected)) {
      fields.problem("apiVersion", "expected " + expected + " or none, found '" + version + "'");
    }
  }

  private static Objects of(@Nullable Vm vm) {
    return vm == null ? Objects.NONE : Objects.of(vm);
  }
}

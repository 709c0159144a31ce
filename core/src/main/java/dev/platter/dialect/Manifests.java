package dev.platter.dialect;

import dev.platter.model.Source;
import dev.platter.model.Vm;
import java.util.ArrayList;
import java.util.List;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/**
 * The way in: a file's text to the VMs it describes, or one error that lists everything that is
 * wrong with it.
 */
public final class Manifests {
  private Manifests() {}

  /**
   * @param file the file's name, for messages and for the name of a VM that gives none
   * @throws dev.platter.model.PlatterException with every problem of the file
   */
  public static List<Vm> read(String file, String text) {
    var problems = new Problems(file);
    var documents = YamlDocuments.parse(text, problems);
    var vms = new ArrayList<Vm>();
    for (var i = 0; i < documents.size(); i++) {
      var name = Names.fromFile(file) + (documents.size() > 1 ? "-" + (i + 1) : "");
      var vm = document(documents.get(i), new VmObjects(name, problems), problems);
      if (vm != null) {
        vms.add(vm);
      }
    }
    if (documents.isEmpty()) {
      problems.add(1, "", "the file is empty; describe a VM in it (see examples/)");
    }
    problems.throwIfAny();
    return vms;
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
    var source = fields == null ? null : SourceReader.read(fields);
    problems.throwIfAny();
    if (source == null) {
      throw problems.toException();
    }
    return source;
  }

  private static @org.jspecify.annotations.Nullable Vm document(
      Node node, VmObjects objects, Problems problems) {
    if (node instanceof SequenceNode list) {
      return objects.fragment(list.getValue(), "disks");
    }
    var fields = Fields.of(node, "", problems);
    if (fields == null) {
      return null;
    }
    if (!fields.has("kind") && fields.has("disks") && node instanceof MappingNode) {
      var vm = objects.fragment(fields.items("disks"), "disks");
      fields.done();
      return vm;
    }
    var kind = fields.requiredText("kind", "VirtualMachine");
    if (kind == null) {
      return null;
    }
    if (!kind.equals("VM") && !kind.equals("VirtualMachine")) {
      fields.problem(
          "kind", "'" + kind + "' is not a kind that Platter runs; it runs VM and VirtualMachine");
      return null;
    }
    var version = fields.text("apiVersion");
    if (version != null && !version.equals("platter.dev/v1alpha1")) {
      fields.problem(
          "apiVersion", "expected platter.dev/v1alpha1 or none, found '" + version + "'");
    }
    return objects.object(fields);
  }
}

package dev.platter.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;

/**
 * What a user applies, in a namespace of its own. Of an example only what must be is changed: where
 * servers and devices are, and what a cluster wants of a VM that a single machine does not.
 *
 * <p>On a single machine a VM may have no {@code apiVersion} and no name, be of the kind {@code
 * VM}, or be but the part about its disks; a cluster's objects have all of these.
 */
final class Manifest {
  private static final Path EXAMPLES = Path.of(System.getProperty("repo.root"), "examples");
  private static final String BETWEEN = "(?m)^---\n";

  private final String namespace;
  private final List<String> documents;

  private Manifest(String namespace, List<String> documents) {
    this.namespace = namespace;
    this.documents = documents;
  }

  static Manifest example(String name) {
    try {
      return of(name, Files.readString(EXAMPLES.resolve(name + ".yaml")));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static Manifest of(String namespace, String text) {
    return new Manifest(namespace, documents(text));
  }

  private static List<String> documents(String text) {
    return Arrays.stream(text.split(BETWEEN)).filter(part -> !part.isBlank()).toList();
  }

  /** By pairs, each of which must be there. */
  Manifest replacing(String... pairs) {
    var text = String.join("---\n", documents);
    for (var i = 0; i < pairs.length; i += 2) {
      assertThat(text).contains(pairs[i]);
      text = text.replace(pairs[i], pairs[i + 1]);
    }
    return of(namespace, text);
  }

  /** Without the objects of a kind, for which there are others. */
  Manifest without(String kind) {
    Predicate<String> is = document -> document.contains("\nkind: " + kind + "\n");
    assertThat(documents).anyMatch(is);
    return new Manifest(namespace, documents.stream().filter(is.negate()).toList());
  }

  Manifest and(String text) {
    var all = new ArrayList<>(documents);
    all.addAll(documents(text));
    return new Manifest(namespace, all);
  }

  String namespace() {
    return namespace;
  }

  /** In the order in which it was written. */
  String text() {
    var out = new ArrayList<String>();
    var vms = 0;
    for (var document : documents) {
      var object = object(document, namespace + (vms == 0 ? "" : "-" + (vms + 1)));
      vms += object.equals(document) ? 0 : 1;
      out.add(object);
    }
    return String.join("---\n", out);
  }

  private static String object(String document, String name) {
    var first = document.lines().filter(line -> !line.startsWith("#")).findFirst().orElse("");
    var head = "apiVersion: platter.dev/v1alpha1\nkind: VirtualMachine\n";
    var metadata = "metadata: {name: " + name + "}\n";
    if (first.matches(" +disks:")) {
      return head + metadata + "spec:\n  domain:\n    devices:\n" + document.indent(2);
    }
    if (first.matches(" +- .*")) {
      return head + metadata + "spec:\n  domain:\n    devices:\n      disks:\n" + document;
    }
    if (first.matches("kind: (VM|VirtualMachine)")) {
      var named = document.contains("\nmetadata:") ? "" : metadata;
      return document.replaceFirst("(?m)^kind: .*\n", head + named);
    }
    return document;
  }
}

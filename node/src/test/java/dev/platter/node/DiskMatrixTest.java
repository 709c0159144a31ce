package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.dialect.Manifests;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Shell;
import dev.platter.model.Access;
import dev.platter.model.CopyMode;
import dev.platter.model.PlatterException;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.Claims;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * Each source in each access mode and copy mode either works in a guest, or is refused before
 * anything is done. The table in {@code docs/disks.md} is what came out; run with {@code
 * -Dgolden=write} to write it anew.
 */
class DiskMatrixTest {
  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  private static final Path DOCUMENT = Path.of(System.getProperty("repo.root"), "docs", "disks.md");
  private static final String BEGIN = "<!-- matrix -->\n";
  private static final String END = "<!-- end of matrix -->\n";
  private static final int DISKS_OF_A_VM = 24;
  private static final String SIZE = "3M";

  @TempDir Path work;

  /** A disk of the matrix. */
  private record Cell(
      String kind, Access access, CopyMode copy, String name, Path content, String yaml) {
    boolean writable() {
      return copy != CopyMode.NONE || access != Access.READ_SHARED;
    }
  }

  @Test
  void everySourceInEveryAccessModeAndCopyMode() throws Exception {
    var outcome = new LinkedHashMap<String, Map<String, String>>();
    var cells = new ArrayList<Cell>();
    var layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    try (var storage =
        new MatrixStorage(
            Files.createDirectory(work.resolve("storage")),
            LIBVIRT.nbdCertificates(),
            layout.nbdCertificates())) {
      for (var kind : storage.kinds().entrySet()) {
        var row = outcome.computeIfAbsent(kind.getKey(), _ -> new LinkedHashMap<>());
        for (var copy : CopyMode.values()) {
          for (var access : Access.values()) {
            var cell = cell(kind.getKey(), kind.getValue(), access, copy, cells.size());
            var refusal = refusal(cell, storage);
            row.put(copy.word() + "/" + access.word(), refusal.isEmpty() ? "yes" : "no");
            if (refusal.isEmpty()) {
              cells.add(cell);
            }
          }
        }
      }
      try (var guest = new GuestNode(work, LIBVIRT.uri())) {
        for (var from = 0; from < cells.size(); from += DISKS_OF_A_VM) {
          var some = cells.subList(from, Math.min(cells.size(), from + DISKS_OF_A_VM));
          tryOut(guest, storage, "matrix-" + from, some);
        }
      }
    }
    document(table(outcome));
  }

  private Cell cell(String word, MatrixStorage.Kind kind, Access access, CopyMode copy, int number)
      throws IOException {
    var name = "d%d-%d%d".formatted(number, access.ordinal(), copy.ordinal());
    var content = work.resolve(name + ".content");
    Shell.run("qemu-img", "create", "-q", "-f", "raw", content, SIZE);
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P " + (1 + number % 250) + " 0 2M", content);
    var yaml =
        "- {name: %s, source: %s, access-mode: %s, copy: {mode: %s}}"
            .formatted(name, kind.store(name, content), access.word(), copy.word());
    return new Cell(word, access, copy, name, content, yaml);
  }

  /** What is said before anything is done. */
  private static Optional<String> refusal(Cell cell, MatrixStorage storage) {
    try {
      var objects = Manifests.objects("cell.yaml", cell.yaml + "\n" + storage.objects());
      Claims.resolve(objects.vms().getFirst(), objects.volumes(), objects.secrets());
      return Optional.empty();
    } catch (PlatterException e) {
      assertThat(e.code()).isEqualTo(PlatterException.Code.INVALID);
      return Optional.of(e.getMessage());
    }
  }

  private void tryOut(GuestNode guest, MatrixStorage storage, String name, List<Cell> cells)
      throws IOException {
    var yaml =
        """
        kind: VM
        metadata: {name: %s}
        spec:
          domain:
            memory: {guest: 160Mi}
            devices:
              disks:
              - {name: root, source: {image: "%s"}}
        %s
        %s
        """
            .formatted(
                name,
                guest.push("marker", MarkerGuest.qcow2()),
                cells.stream().map(cell -> "      " + cell.yaml).collect(Collectors.joining("\n")),
                storage.objects());
    var objects = Manifests.objects("matrix.yaml", yaml);
    var vm = guest.node().run(objects.vms().getFirst(), objects);
    var console = guest.console(vm);
    console.await("^@@READY", GuestNode.BOOT);
    for (var cell : cells) {
      var disk = console.disk(cell.name);
      assertThat(disk.size()).as(cell.yaml).isEqualTo(3 << 20);
      assertThat(disk.readOnly()).as(cell.yaml).isEqualTo(!cell.writable());
      assertThat(disk.sha1M()).as(cell.yaml).isEqualTo(sha256OfFirstMebibyte(cell.content));
    }
    var writable =
        cells.stream()
            .filter(Cell::writable)
            .map(cell -> console.disk(cell.name).name())
            .collect(Collectors.joining(" "));
    guest.type(
        vm,
        "for d in "
            + writable
            + "; do echo written | dd of=/dev/$d conv=fsync 2>/dev/null || echo @@\"FAILED\" $d; done; echo @@\"WRITTEN\"");
    console.await("@@WRITTEN", GuestNode.BOOT);
    assertThat(console.lines()).noneMatch(line -> line.startsWith("@@FAILED"));
    guest.hangUp(vm);
    guest.node().stop(new VmKey("default", name), Duration.ZERO);
    for (var cell : cells) {
      var expected = Files.readAllBytes(cell.content);
      if (cell.copy == CopyMode.NONE && cell.writable()) {
        System.arraycopy("written\n".getBytes(), 0, expected, 0, "written\n".length());
      }
      assertThat(Files.readAllBytes(storage.kinds().get(cell.kind).contents(cell.name)))
          .as("the source of " + cell.yaml)
          .isEqualTo(expected);
    }
    guest.node().remove(new VmKey("default", name), true);
  }

  private static String sha256OfFirstMebibyte(Path raw) {
    return Shell.run("sh", "-c", "head -c 1048576 " + raw + " | sha256sum | cut -c1-64").strip();
  }

  private static String table(Map<String, Map<String, String>> outcome) {
    var out = new StringBuilder();
    var columns = outcome.values().iterator().next().keySet();
    out.append("| source |");
    columns.forEach(column -> out.append(' ').append(column.replace("/", ", ")).append(" |"));
    out.append("\n|---|").append(":-:|".repeat(columns.size())).append('\n');
    outcome.forEach(
        (kind, row) ->
            out.append("| ")
                .append(kind)
                .append(" | ")
                .append(String.join(" | ", row.values()))
                .append(" |\n"));
    return out.toString();
  }

  private static void document(String table) throws IOException {
    var text = Files.readString(DOCUMENT);
    var begin = text.indexOf(BEGIN) + BEGIN.length();
    var end = text.indexOf(END);
    assertThat(end).as("the marks around the table in " + DOCUMENT).isGreaterThanOrEqualTo(begin);
    if ("write".equals(System.getProperty("golden"))) {
      Files.writeString(DOCUMENT, text.substring(0, begin) + table + text.substring(end));
    } else {
      assertThat(text.substring(begin, end)).isEqualTo(table);
    }
  }
}

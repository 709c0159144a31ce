package dev.platter.block.iscsi;

import static dev.platter.lab.Shell.run;
import static dev.platter.lab.Shell.shell;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.toList;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.block.FileDevice;
import dev.platter.block.MemoryDevice;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * All that libiscsi's {@code iscsi-test-cu} checks: a test for each of its suites. What it does not
 * run is listed here with the reason, and the list is checked too.
 */
class ConformanceTest {
  private static final String NAME = "iqn.2024-01.dev.platter:conformance";
  private static final long SIZE = 64 << 20;

  /** Suites of which nothing applies. */
  private static final Map<String, String> NOT_SERVED =
      Map.ofEntries(
          Map.entry("ExtendedCopy", "no copy offload: an optional command"),
          Map.entry("ReceiveCopyResults", "no copy offload: an optional command"),
          Map.entry("OrWrite", "ORWRITE is optional and nobody sends it"),
          Map.entry("WriteAtomic16", "WRITE ATOMIC is optional; files cannot promise it"),
          Map.entry("ReadDefectData10", "a file has no list of defects"),
          Map.entry("ReadDefectData12", "a file has no list of defects"),
          Map.entry("Sanitize", "SANITIZE is optional, and punching holes is not sanitizing"),
          Map.entry("PreventAllow", "for removable media only"));

  /** Single tests that do not pass, or skip themselves. */
  private static final Map<String, String> EXCEPTIONS =
      Map.of(
          "ReportSupportedOpcodes.OneCommand",
              "asks for a service action where there is none, as it should be refused, and takes"
                  + " the refusal for a command that is missing",
          "GetLBAStatus.UnmapSingle",
              "asks for block i+1 and wants the answer to begin at block i+8, which is right only"
                  + " where a physical block is one logical block",
          "StartStopUnit.Simple", "for removable media only",
          "WriteSame10.ZeroBlocks", "0 blocks are refused, and the Block Limits page says so",
          "WriteSame16.ZeroBlocks", "0 blocks are refused, and the Block Limits page says so",
          "ReadOnly.ReadOnlySBC", "skips disks that can be written; run below on one that cannot");

  @TempDir static Path directory;
  private static FileDevice disk;
  private static FileDevice readOnly;
  private static IscsiServer server;
  private static InetSocketAddress first;
  private static InetSocketAddress second;

  @BeforeAll
  static void serve() throws IOException {
    Path file = directory.resolve("disk.raw");
    run("truncate", "-s", SIZE, file);
    disk = FileDevice.openToWrite(file);
    readOnly = FileDevice.openReadOnly(file);
    server = new IscsiServer();
    server.add(IscsiTarget.open(NAME, Map.of(0, disk, 1, readOnly, 2, new MemoryDevice(SIZE))));
    first = server.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    second = server.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  @AfterAll
  static void close() throws IOException {
    server.close();
    disk.close();
    readOnly.close();
  }

  private static String url(InetSocketAddress portal, int lun) {
    return "iscsi://127.0.0.1:%d/%s/%d".formatted(portal.getPort(), NAME, lun);
  }

  private static Shell.Result test(String which, int lun) {
    return shell().execute("iscsi-test-cu", "-d", "-f", "-v", "-t", which, url(first, lun));
  }

  /** With a second portal, and on a disk that nobody has written to, as these tests want it. */
  private static Shell.Result testOverTwoPaths(String which) {
    return shell()
        .execute("iscsi-test-cu", "-d", "-f", "-v", "-t", which, url(first, 2), url(second, 2));
  }

  /** FAMILY.SUITE.TEST of the families that are made of all others. */
  private static List<String> all() {
    return run("iscsi-test-cu", "--list")
        .lines()
        .map(String::trim)
        .filter(line -> line.matches("(SCSI|iSCSI)\\.\\w+\\.\\S+"))
        .toList();
  }

  @TestFactory
  Stream<DynamicTest> everySuitePassesButForWhatIsListed() {
    var suites = all().stream().collect(groupingBy(ConformanceTest::suite, toList()));
    assertThat(suites.keySet().stream().map(ConformanceTest::last))
        .containsAll(NOT_SERVED.keySet());
    assertThat(all().stream().map(ConformanceTest::withoutFamily)).containsAll(EXCEPTIONS.keySet());
    return suites.entrySet().stream()
        .filter(suite -> !NOT_SERVED.containsKey(last(suite.getKey())))
        .sorted(Map.Entry.comparingByKey())
        .map(
            suite ->
                DynamicTest.dynamicTest(
                    suite.getKey(), () -> passes(suite.getKey(), suite.getValue())));
  }

  private static void passes(String suite, List<String> tests) {
    var output = new StringBuilder();
    if (suite.equals("SCSI.MultipathIO")) {
      output.append(testOverTwoPaths(suite).output());
    } else if (suite.equals("SCSI.Reserve6")) {
      // A session that has reset the target is told so at its next command, which these tests do
      // not expect of each other.
      tests.forEach(one -> output.append(test(one, 0).output()));
    } else {
      output.append(test(suite, 0).output());
    }
    Set<String> wanted = new TreeSet<>(tests.stream().map(ConformanceTest::withoutFamily).toList());
    wanted.removeAll(EXCEPTIONS.keySet());
    assertThat(passed(suite, output.toString())).as(output.toString()).isEqualTo(wanted);
  }

  /** The tests that passed and skipped nothing. */
  private static Set<String> passed(String suite, String output) {
    Set<String> passed = new TreeSet<>();
    String current = "";
    boolean clean = false;
    for (String line : output.lines().map(String::trim).toList()) {
      if (line.startsWith("Test: ")) {
        current = last(suite) + "." + line.substring(6).split(" ", 2)[0];
        clean = true;
      }
      clean &= !line.contains("[SKIPPED]");
      if (clean && line.matches("(.*\\.\\.\\.)?passed( .*)?")) {
        passed.add(current);
      }
    }
    return passed;
  }

  @Test
  void aReadOnlyDiskRefusesEveryCommandThatWrites() {
    Shell.Result result = test("SCSI.ReadOnly.ReadOnlySBC", 1);
    assertThat(result.output()).contains("ReadOnlySBC ...").doesNotContain("FAILED");
    assertThat(result.output().lines().filter(line -> line.contains("SKIPPED")))
        .allMatch(line -> line.contains("ORWRITE"));
    assertThat(result.output()).containsPattern("tests +1 +1 +1 +0");
  }

  private static String suite(String test) {
    return test.substring(0, test.lastIndexOf('.'));
  }

  private static String last(String name) {
    return name.substring(name.lastIndexOf('.') + 1);
  }

  private static String withoutFamily(String test) {
    return test.substring(test.indexOf('.') + 1);
  }
}

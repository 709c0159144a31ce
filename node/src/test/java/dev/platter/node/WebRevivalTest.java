package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.model.Endpoint;
import dev.platter.model.HttpSource;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import dev.platter.model.SecretRef;
import dev.platter.node.durable.FileMutex;
import dev.platter.node.web.WebAccess;
import dev.platter.node.web.WebVersion;
import dev.platter.plan.NetworkDisk;
import dev.platter.plan.Plan;
import dev.platter.plan.Planned;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With the records of VMs as commands leave them, and a daemon that notes what it is told. */
class WebRevivalTest {
  @TempDir Path work;
  private StateLayout layout;
  private Path token;
  private WebRevival revival;
  private final Set<String> away = new HashSet<>();
  private final List<String> tried = new ArrayList<>();
  private final List<String> told = new ArrayList<>();
  private SecretData known = SecretData.NONE;
  private final Map<String, @Nullable WebVersion> served = new HashMap<>();

  @BeforeEach
  void prepare() throws IOException {
    layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    token = Files.writeString(work.resolve("token"), "a token");
    revival = new WebRevival(layout, _ -> known, this::serve, told::add);
  }

  private void serve(String export, WebAccess access, @Nullable WebVersion expected) {
    tried.add(export);
    if (away.contains(export)) {
      throw PlatterException.of(Code.REFUSED, access + " answered 404", "");
    }
    served.put(export, expected);
  }

  private VmRecord vm(String name, SecretRef secret) throws IOException {
    var header = new HttpSource.Header("Authorization", secret);
    var disk =
        new NetworkDisk(
            "http",
            name,
            List.of(new Endpoint("127.0.0.1", 1)),
            null,
            false,
            null,
            new NetworkDisk.Web(null, List.of(header)));
    var plan =
        new Plan(
            Plan.VERSION,
            "default",
            name,
            UUID.nameUUIDFromBytes(name.getBytes()),
            "",
            Map.of(),
            Map.of(),
            List.of(),
            List.of(new Step.ServeWeb("web-" + name, disk)));
    var record = VmRecord.create(layout, new Planned(plan, "<domain/>", null, List.of()));
    set(record, "UP");
    return record;
  }

  private VmRecord vm(String name) throws IOException {
    return vm(name, SecretRef.ofFile(token.toString()));
  }

  private void set(VmRecord record, String goal) throws IOException {
    Journal.publish(layout.journal(record.directory()), Journal.State.parse("end " + goal + "\n"));
  }

  @Test
  void aServerThatIsAwayKeepsNobodyWaitingAndIsToldOfOnce() throws IOException {
    vm("a");
    vm("b");
    away.add("web-a");
    assertThat(revival.round()).isFalse();
    assertThat(served).containsOnlyKeys("web-b");
    assertThat(revival.round()).isFalse();
    assertThat(told).singleElement().asString().contains("answered 404");
    away.clear();
    assertThat(revival.round()).as("nothing is left to do").isTrue();
    assertThat(tried).containsExactly("web-a", "web-b", "web-a", "web-a");
  }

  @Test
  void aVmThatWasStoppedOrRemovedMeanwhileIsLeftAlone() throws IOException {
    var a = vm("a");
    var b = vm("b");
    away.addAll(Set.of("web-a", "web-b"));
    assertThat(revival.round()).isFalse();
    away.clear();
    set(a, "DOWN");
    Files.delete(layout.plan(b.directory()));
    assertThat(revival.round()).isTrue();
    assertThat(served).isEmpty();
  }

  @Test
  void aVmThatSomebodyWorksOnIsPassedOver() throws IOException {
    vm("a");
    try (var _ = FileMutex.tryTake(layout.vmLock(new VmKey("default", "a"))).orElseThrow()) {
      assertThat(revival.round()).isFalse();
      assertThat(tried).isEmpty();
    }
    assertThat(revival.round()).isTrue();
    assertThat(served).containsOnlyKeys("web-a");
  }

  @Test
  void theVersionThatTheVmReadsIsTheOnlyOneToServe() throws IOException {
    var a = vm("a");
    Files.writeString(
        layout.webVersion(a.directory(), "web-a"),
        "{\"size\": 5, \"tag\": \"\\\"t\\\"\", \"modified\": \"\"}");
    revival.round();
    assertThat(served).containsEntry("web-a", new WebVersion(5, "\"t\"", ""));
  }

  @Test
  void whatNeedsASecretOfACommandIsToldOfAndLeftToIt() throws IOException {
    vm("a", SecretRef.ofObject("default", "web", "token"));
    assertThat(revival.round()).isTrue();
    assertThat(tried).isEmpty();
    assertThat(told).singleElement().asString().contains("no Secret default/web");
  }

  @Test
  void whatNeedsASecretThatIsStillHereIsServedAgain() throws IOException {
    vm("a", SecretRef.ofObject("default", "web", "token"));
    known = new SecretData(Map.of("default/web", Map.of("token", "a token".getBytes())));
    away.add("web-a");
    assertThat(revival.round()).as("its server is away").isFalse();
    away.clear();
    assertThat(revival.round()).isTrue();
    assertThat(served).containsOnlyKeys("web-a");
  }
}

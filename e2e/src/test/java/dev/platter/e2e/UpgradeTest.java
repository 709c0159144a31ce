package dev.platter.e2e;

import static dev.platter.e2e.PlatterCluster.shared;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.PlatterImage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer.OrderAnnotation;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/**
 * A guest that runs while Platter is replaced by its next version, and the end of Platter on a
 * cluster.
 *
 * <p>The next version has the same bits under another name, and other options: every pod of Platter
 * is replaced. To come from an older one, {@code -Dplatter.previous=DIRECTORY} names a checkout of
 * it in which {@code scripts/container-image --tag platter.dev/platter:previous} was run.
 */
@TestMethodOrder(OrderAnnotation.class)
class UpgradeTest {
  private static final String NEXT = "platter.dev/platter:next";
  private static final String PREVIOUS = "platter.dev/platter:previous";
  private static final Pattern FOR_NODES = Pattern.compile("kubectl ((annotate|label) nodes .*-)");

  /** All but the names of images. */
  private static final String NODE =
      "{range .items[*]}{.metadata.labels}{.metadata.annotations}{.spec}{end}";

  private static TickingVm vm;

  @BeforeAll
  static void start() {
    var previous = System.getProperty("platter.previous");
    if (previous != null) {
      var archive = Path.of(previous, "target/container/platter.tar");
      shared().kube().nodes().forEach(node -> node.loadImage(archive));
      shared().platter().install(Path.of(previous, "platter"), "--image", PREVIOUS);
    }
    vm = new TickingVm(shared(), "steady");
  }

  /** The cluster is not ours alone. */
  @AfterAll
  static void putBack() {
    shared().install();
    shared().kubectl("delete", "vm", "--all", "--timeout=90s");
  }

  @Test
  @Order(1)
  void anUpgradeReplacesPlatterAndNoGuest() {
    var before = pods("{.metadata.name}").lines().toList();
    for (var node : shared().kube().nodes()) {
      node.exec("ctr", "-n", "k8s.io", "images", "tag", "--force", PlatterImage.NAME, NEXT);
    }
    shared().install("--image", NEXT, "--pool", "later=/var/lib/platter/pools/later");

    shared()
        .await(
            "pods of before are left",
            () -> pods("{.metadata.name}"),
            names -> before.stream().noneMatch(names::contains));
    assertThat(pods("{.spec.containers[*].image}").lines().toList()).hasSize(4).containsOnly(NEXT);
    assertThat(shared().kubectl("get", "node", "node1", "--show-labels"))
        .contains("usage.platter.dev/later=true");
    vm.goesOn();
    vm.hasMissedNothing();
  }

  /** The same of each pod of Platter, a line each. */
  private static String pods(String what) {
    return shared()
        .kubectl(
            "-n",
            "platter-system",
            "get",
            "pods",
            "-o",
            "jsonpath={range .items[*]}" + what + "{\"\\n\"}{end}");
  }

  @Test
  @Order(2)
  void anUninstallIsRefusedWhileThereAreVms() throws IOException {
    var refused = shared().uninstall();
    assertThat(refused.status()).as(refused.err()).isEqualTo(5);
    assertThat(refused.out()).isEmpty();
    assertThat(refused.err()).contains("vm default/steady");
    vm.hasMissedNothing();

    // The new daemon ends what the old one began.
    shared().kubectl("delete", "vm", "steady", "--timeout=90s");
    shared().await("left on node1", () -> shared().leftOn(vm.node()), String::isEmpty);
  }

  @Test
  @Order(3)
  void anUninstallLeavesNothingInTheCluster() throws IOException {
    var uninstall = shared().uninstall();
    assertThat(uninstall.status()).as(uninstall.err()).isZero();
    shared().kube().kubectlReading(uninstall.out(), "delete", "--timeout=90s", "-f", "-");
    var commands = FOR_NODES.matcher(uninstall.err()).results().toList();
    assertThat(commands).as(uninstall.err()).hasSize(2);
    commands.forEach(command -> shared().kubectl((Object[]) command.group(1).split(" ")));

    // What is made of definitions, and by kubelets, follows in a moment.
    shared().await("objects are left", UpgradeTest::objects, String::isEmpty);
    shared()
        .await(
            "nodes still know of it",
            () -> shared().kubectl("get", "nodes,csinodes", "-o", "jsonpath=" + NODE),
            text -> !text.contains("platter") && !text.contains("extraRuntime"));
    for (var node : shared().kube().nodes()) {
      assertThat(shared().leftOn(node)).isEmpty();
    }
  }

  /** Of all kinds that there are, those that are named after Platter; events are history. */
  private static String objects() {
    var kinds =
        shared()
            .kubectl("api-resources", "--verbs=list,get", "-o", "name")
            .lines()
            .filter(kind -> !kind.startsWith("events"))
            .collect(Collectors.joining(","));
    return shared()
        .kubectl("get", kinds, "-A", "-o", "name")
        .lines()
        .filter(name -> name.contains("platter") || name.contains("virtlet"))
        .collect(Collectors.joining("\n"));
  }
}

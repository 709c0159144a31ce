package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.platter.model.Endpoint;
import dev.platter.model.SecretData;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.image.Images;
import dev.platter.plan.NetworkDisk;
import dev.platter.plan.Plan;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With a daemon that is still at it when the command is cancelled. */
class WebDisksTest {
  @TempDir Path work;
  private final List<String> asked = new ArrayList<>();

  private Images images() {
    return (Images)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {Images.class},
            (_, method, _) -> {
              asked.add(method.getName() + (Thread.currentThread().isInterrupted() ? "!" : ""));
              if (method.getName().equals("serveWeb")) {
                Thread.currentThread().interrupt();
                throw Cancellation.cancelled();
              }
              return null;
            });
  }

  @Test
  void aStartThatIsCancelledTakesItsRequestBackAndARunningVmKeepsWhatItHas() {
    var layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    var from =
        new NetworkDisk(
            "http",
            "disk",
            List.of(new Endpoint("127.0.0.1", 1)),
            null,
            false,
            null,
            new NetworkDisk.Web(null, List.of()));
    var step = new Step.ServeWeb("web-a", from);
    var plan =
        new Plan(
            Plan.VERSION,
            "default",
            "a",
            UUID.randomUUID(),
            "",
            Map.of(),
            Map.of(),
            List.of(),
            List.of(step));
    var vm = new VmRecord(work, plan);
    var disks = new WebDisks(layout, images());

    assertThat(catchThrowable(() -> disks.serve(vm, step, SecretData.NONE)))
        .hasMessage("cancelled");
    assertThat(Thread.interrupted()).as("whoever cancelled is still heard").isTrue();
    assertThat(asked).containsExactly("serveWeb", "forgetWeb");

    asked.clear();
    assertThat(catchThrowable(() -> disks.serveAgain(vm, SecretData.NONE))).hasMessage("cancelled");
    assertThat(Thread.interrupted()).isTrue();
    assertThat(asked).containsExactly("serveWeb");
  }
}

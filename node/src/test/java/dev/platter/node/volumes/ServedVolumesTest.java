package dev.platter.node.volumes;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.block.lazy.LazyVolume;
import dev.platter.block.lazy.RemoteImage;
import dev.platter.node.volumes.ServedVolumes.Served;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Two who have a volume open would each write what the other does not know of. */
@Timeout(60)
class ServedVolumesTest {
  private static final long SIZE = 1L << 20;
  private static final String ID = "root";

  @TempDir Path root;
  private final ServedVolumes served = new ServedVolumes(new Object());

  @AfterEach
  void close() throws IOException {
    served.close();
  }

  private interface Work {
    void run() throws Exception;
  }

  private static void work(Work work) {
    try {
      work.run();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private static CompletableFuture<Void> begin(Work work) {
    return CompletableFuture.runAsync(() -> work(work), Thread.ofPlatform()::start);
  }

  private Served make(Work filler) throws IOException {
    var map = Files.write(root.resolve("map"), LazyVolume.nothing(SIZE));
    var file = Files.write(root.resolve("file"), new byte[(int) SIZE]);
    var image =
        new RemoteImage(root.resolve("no.sock"), "none", SIZE, Duration.ofMillis(1), _ -> {});
    return new Served(
        new LazyVolume(file, map, root.resolve("live"), image),
        image,
        Thread.ofPlatform().unstarted(() -> work(filler)));
  }

  @Test
  void whoWantsAVolumeThatIsBeingClosedWaits() throws Exception {
    var filled = new CountDownLatch(1);
    served.add(ID, make(filled::await));
    var gone = served.stop(ID);
    var ends = begin(() -> served.end(ID, gone));
    var waits = begin(() -> served.awaitEnd(ID));
    assertThat(served.find(ID)).isNull();
    assertThatThrownBy(() -> waits.get(100, MILLISECONDS)).isInstanceOf(TimeoutException.class);
    begin(() -> served.awaitEnd("another")).get(20, SECONDS);
    filled.countDown();
    ends.get(20, SECONDS);
    waits.get(20, SECONDS);
    served.add(ID, make(() -> {}));
  }

  @Test
  void aFillerEndsItsOwnVolumeAndNobodyElseDoesSoMeanwhile() throws Exception {
    var stopped = new CountDownLatch(1);
    var goOn = new CountDownLatch(1);
    served.add(
        ID,
        make(
            () -> {
              var own = served.stop(ID);
              stopped.countDown();
              goOn.await();
              served.end(ID, own);
            }));
    stopped.await();
    assertThat(served.stop(ID)).isNull();
    var closed = begin(served::close);
    assertThatThrownBy(() -> closed.get(100, MILLISECONDS)).isInstanceOf(TimeoutException.class);
    goOn.countDown();
    closed.get(20, SECONDS);
  }
}

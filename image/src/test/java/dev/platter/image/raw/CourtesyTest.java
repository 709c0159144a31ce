package dev.platter.image.raw;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

class CourtesyTest {
  @Test
  void theKernelKnowsThatAThreadStepsBackAndNoOther() {
    var before = niceness();
    var there =
        onPlatformThread(
            () -> {
              Courtesy.stepBack();
              return niceness();
            });
    assertEquals(before + 5, there.join());
    assertEquals(before, niceness());
    assertEquals(before, onPlatformThread(CourtesyTest::niceness).join());
  }

  @Test
  void aVirtualThreadIsRefusedSinceItsCarrierWouldStayBack() throws InterruptedException {
    var result = new CompletableFuture<Integer>();
    Thread.ofVirtual()
        .start(
            () ->
                complete(
                    result,
                    () -> {
                      Courtesy.stepBack();
                      return 0;
                    }))
        .join();
    assertThrows(RuntimeException.class, result::join);
  }

  private static CompletableFuture<Integer> onPlatformThread(Supplier<Integer> work) {
    var result = new CompletableFuture<Integer>();
    Thread.ofPlatform().start(() -> complete(result, work));
    return result;
  }

  private static void complete(CompletableFuture<Integer> result, Supplier<Integer> work) {
    try {
      result.complete(work.get());
    } catch (RuntimeException e) {
      result.completeExceptionally(e);
    }
  }

  /** As proc(5) tells it: the 19th field, the 17th after the name, which may have spaces. */
  private static int niceness() {
    try {
      var stat = Files.readString(Path.of("/proc/thread-self/stat"));
      return Integer.parseInt(stat.substring(stat.lastIndexOf(')') + 2).split(" ")[16]);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}

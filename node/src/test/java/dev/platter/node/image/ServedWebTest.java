package dev.platter.node.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.sun.net.httpserver.HttpServer;
import dev.platter.block.nbd.NbdServer;
import dev.platter.lab.FileServer;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.web.WebAccess;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is served is read by libnbd. */
class ServedWebTest {
  @TempDir Path work;
  private Path root;
  private NbdServer nbd;
  private ServedWeb web;

  @BeforeEach
  void open() throws IOException {
    root = Files.createDirectory(work.resolve("root"));
    Shell.run(
        "sh", "-c", "for i in one two; do head -c 65536 /dev/urandom > " + root + "/$i; done");
    nbd = new NbdServer();
    nbd.listen(UnixDomainSocketAddress.of(work.resolve("nbd.sock")));
    web = new ServedWeb(nbd);
  }

  @AfterEach
  void close() throws IOException {
    web.close();
    nbd.close();
  }

  private static WebAccess access(String url) {
    return new WebAccess(url, null, Map.of());
  }

  private void assertServed(String file) throws IOException {
    var copy = work.resolve("copy");
    Shell.run("nbdcopy", "nbd+unix:///e?socket=" + work.resolve("nbd.sock"), copy);
    assertThat(Files.mismatch(root.resolve(file), copy)).isEqualTo(-1);
  }

  @Test
  void whatWasForgottenWhileItsServerStalledIsNotServed() throws Exception {
    var asked = new CountDownLatch(1);
    var answer = new CountDownLatch(1);
    var slow = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    slow.createContext(
        "/",
        exchange -> {
          try (exchange) {
            asked.countDown();
            answer.await();
            exchange.getResponseHeaders().set("Content-Range", "bytes 0-0/100");
            exchange.sendResponseHeaders(206, 1);
            exchange.getResponseBody().write(0);
          } catch (InterruptedException e) {
            throw new IOException(e);
          }
        });
    slow.start();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var url = "http://127.0.0.1:" + slow.getAddress().getPort() + "/disk";
      var late =
          threads.submit(
              () ->
                  catchThrowableOfType(
                      PlatterException.class, () -> web.serve("e", access(url), null)));
      asked.await();
      web.forget("e");
      answer.countDown();
      assertThat(late.get()).hasMessageContaining("not wanted any more");
      assertThat(web.isEmpty()).isTrue();
    } finally {
      slow.stop(0);
    }
  }

  @Test
  void anotherFileTakesThePlaceOfOneThatWasLeft() throws IOException {
    try (var server = FileServer.http(root)) {
      web.serve("e", access(server.url("one")), null);
      assertServed("one");
      web.serve("e", access(server.url("two")), null);
      assertServed("two");
      web.forget("e");
      assertThat(web.isEmpty()).isTrue();
    }
  }

  @Test
  void whatWaitingWillNotMendIsRefused() throws IOException {
    try (var server = FileServer.http(root)) {
      assertThat(code(server.url("none"))).isEqualTo(Code.REFUSED);
      server.stop();
      assertThat(code(server.url("one"))).isEqualTo(Code.UNAVAILABLE);
      assertThat(web.isEmpty()).isTrue();
    }
  }

  private Code code(String url) {
    return catchThrowableOfType(PlatterException.class, () -> web.serve("e", access(url), null))
        .code();
  }
}

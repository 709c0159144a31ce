package dev.platter.cluster.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.platter.cluster.launch.Frame.Kind;
import java.io.IOException;
import java.io.InputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The launcher as a process of its own, as in a pod, with the test as the node's daemon. */
@Timeout(60)
class LauncherTest {
  @TempDir static Path built;
  private static Path program;

  @TempDir Path directory;
  private Path socket;
  private ServerSocketChannel server;
  private Process launcher;
  private InputStream out;

  @BeforeAll
  static void compile() throws Exception {
    program = built.resolve("launch");
    var compiler =
        new ProcessBuilder(
                "gcc",
                "-std=c11",
                "-fsanitize=address,undefined",
                "-fno-sanitize-recover=all",
                "-o",
                program.toString(),
                "src/main/c/launch.c")
            .inheritIO()
            .start();
    assertThat(compiler.waitFor()).isZero();
  }

  @BeforeEach
  void start() throws IOException {
    socket = directory.resolve("vm.sock");
    listen();
    launcher = launch();
    out = launcher.getInputStream();
  }

  private void listen() throws IOException {
    Files.deleteIfExists(socket);
    server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    server.bind(UnixDomainSocketAddress.of(socket));
  }

  private Process launch() throws IOException {
    return new ProcessBuilder(program.toString(), socket.toString())
        .redirectErrorStream(true)
        .start();
  }

  @AfterEach
  void end() throws IOException {
    launcher.destroyForcibly();
    server.close();
  }

  @Test
  void showsTheConsoleAndExitsAsTheVmDoes() throws Exception {
    try (var daemon = server.accept()) {
      assertThat(read(daemon).kind()).isEqualTo(Kind.START);
      new Frame(Kind.CONSOLE, new byte[] {'h', 'i', (byte) 0xff, '\n'}).write(daemon);
      Frame.exit(7, "").write(daemon);
      assertThat(out.readAllBytes()).isEqualTo(new byte[] {'h', 'i', (byte) 0xff, '\n'});
      assertThat(launcher.waitFor()).isEqualTo(7);
    }
  }

  @Test
  void goesOnWhereItWasWhenTheDaemonComesBack() throws Exception {
    try (var daemon = server.accept()) {
      read(daemon);
      Frame.of(Kind.CONSOLE, "first ").write(daemon);
    }
    server.close();
    listen();
    try (var daemon = server.accept()) {
      var greeting = read(daemon);
      assertThat(greeting.kind()).isEqualTo(Kind.CONTINUE);
      assertThat(greeting.position()).isEqualTo("first ".length());
      Frame.of(Kind.CONSOLE, "second").write(daemon);
      Frame.exit(0, "").write(daemon);
    }
    assertThat(output()).isEqualTo("first second");
    assertThat(launcher.waitFor()).isZero();
  }

  @Test
  void aDaemonThatDiedBeforeItSaidAnythingIsAskedToStartTheVmAgain() throws Exception {
    try (var daemon = server.accept()) {
      assertThat(read(daemon).kind()).isEqualTo(Kind.START);
    }
    try (var daemon = server.accept()) {
      assertThat(read(daemon).kind()).isEqualTo(Kind.START);
      Frame.exit(3, "no such image").write(daemon);
    }
    assertThat(output()).isEqualTo("platter: no such image\n");
    assertThat(launcher.waitFor()).isEqualTo(3);
  }

  @Test
  void aSigtermIsHandedOnAndTheVmsEndIsAwaited() throws Exception {
    try (var daemon = server.accept()) {
      read(daemon);
      Frame.of(Kind.CONSOLE, "up\n").write(daemon);
      out.readNBytes(3);
      launcher.toHandle().destroy();
      assertThat(read(daemon).kind()).isEqualTo(Kind.STOP);
      assertThat(launcher.waitFor(300, TimeUnit.MILLISECONDS)).isFalse();
      Frame.of(Kind.CONSOLE, "bye\n").write(daemon);
      Frame.exit(0, "").write(daemon);
    }
    assertThat(output()).isEqualTo("bye\n");
    assertThat(launcher.waitFor()).isZero();
  }

  @Test
  void aSigtermWhileTheDaemonIsAwayIsSaidWhenItIsBack() throws Exception {
    try (var daemon = server.accept()) {
      read(daemon);
      Frame.of(Kind.CONSOLE, "up\n").write(daemon);
      out.readNBytes(3);
    }
    launcher.toHandle().destroy();
    try (var daemon = server.accept()) {
      assertThat(read(daemon).kind()).isEqualTo(Kind.CONTINUE);
      assertThat(read(daemon).kind()).isEqualTo(Kind.STOP);
      Frame.exit(0, "").write(daemon);
    }
    assertThat(launcher.waitFor()).isZero();
  }

  @Test
  void aSigtermBeforeAnyDaemonAnsweredEndsItAtOnce() throws Exception {
    try (var daemon = server.accept()) {
      read(daemon);
      launcher.toHandle().destroy();
      assertThat(launcher.waitFor()).isEqualTo(143);
    }
  }

  @Test
  void whatIsNoFrameIsTakenForADaemonThatWentAway() throws Exception {
    try (var daemon = server.accept()) {
      read(daemon);
      daemon.write(ByteBuffer.wrap("HTTP/1.1 200 OK\r\n".getBytes(StandardCharsets.US_ASCII)));
    }
    try (var daemon = server.accept()) {
      assertThat(read(daemon).kind()).isEqualTo(Kind.START);
      Frame.exit(0, "").write(daemon);
    }
    assertThat(launcher.waitFor()).isZero();
  }

  @Test
  void aFrameOfTheLongestIsShownWholeAndOneThatSaysItIsLongerIsNot() throws Exception {
    var longest = new byte[Frame.MOST_BYTES];
    Arrays.fill(longest, (byte) 'x');
    try (var daemon = server.accept()) {
      read(daemon);
      new Frame(Kind.CONSOLE, longest).write(daemon);
      assertThat(out.readNBytes(longest.length)).isEqualTo(longest);
    }
    for (var length : List.of(longest.length + 1, -1, Integer.MIN_VALUE)) {
      try (var daemon = server.accept()) {
        assertThat(read(daemon).position()).isEqualTo(longest.length);
        daemon.write(ByteBuffer.allocate(5).put((byte) 4).putInt(length).flip());
        assertThat(Frame.read(daemon)).isNull();
      }
    }
    try (var daemon = server.accept()) {
      read(daemon);
      daemon.write(ByteBuffer.allocate(5).put((byte) 6).putInt(0).flip()); // no exit status in it
    }
    try (var daemon = server.accept()) {
      read(daemon);
      Frame.exit(0, "").write(daemon);
    }
    assertThat(launcher.waitFor()).isZero();
  }

  @Test
  void aSigtermIsHandedOnWhileNobodyReadsTheLog() throws Exception {
    try (var daemon = server.accept()) {
      read(daemon);
      // More than a pipe holds; how much the socket holds beside it is the kernel's affair.
      var guest = beside(() -> console(daemon, 4));
      await().until(() -> out.available() > 0);
      launcher.toHandle().destroy();
      assertThat(read(daemon).kind()).isEqualTo(Kind.STOP);
      var log = beside(out::readAllBytes);
      guest.get();
      Frame.exit(0, "").write(daemon);
      assertThat(log.get()).hasSize(4 * Frame.MOST_BYTES);
    }
    assertThat(launcher.waitFor()).isZero();
  }

  private static boolean console(SocketChannel daemon, int frames) throws IOException {
    for (var i = 0; i < frames; i++) {
      new Frame(Kind.CONSOLE, new byte[Frame.MOST_BYTES]).write(daemon);
    }
    return true;
  }

  private static <T> FutureTask<T> beside(Callable<T> work) {
    var task = new FutureTask<>(work);
    Thread.ofVirtual().start(task);
    return task;
  }

  private static Frame read(SocketChannel channel) throws IOException {
    var frame = Frame.read(channel);
    assertThat(frame).isNotNull();
    return frame;
  }

  private String output() throws IOException {
    return new String(out.readAllBytes(), StandardCharsets.UTF_8);
  }
}

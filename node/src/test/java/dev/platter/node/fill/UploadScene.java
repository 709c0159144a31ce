package dev.platter.node.fill;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.fill.Format;
import dev.platter.lab.Shell;
import dev.platter.node.Progress;
import dev.platter.plan.FillRecord;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A server that takes a disk, and clients of it: curl, ours, and one that stops midway. */
abstract class UploadScene {
  static final String TOKEN = "secret-token";

  @TempDir Path dir;
  Path raw;
  Path qcow2;
  Path volume;

  @BeforeEach
  void makeDisks() throws IOException {
    raw = dir.resolve("disk.raw");
    qcow2 = dir.resolve("disk.qcow2");
    volume = Files.createDirectory(dir.resolve("volume"));
    Shell.run("sh", "-c", "head -c 3M /dev/urandom >%s; truncate -s 6M %1$s".formatted(raw));
    Shell.run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, qcow2);
  }

  UploadServer serve(Path target, long size, Duration patience) throws IOException {
    return serve(target, size, null, patience);
  }

  UploadServer serve(Path target, long size, @Nullable Format format, Duration patience)
      throws IOException {
    return UploadServer.start(
        new UploadServer.Options(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            new StateLayout(dir.resolve("state"), dir.resolve("run")),
            target,
            size,
            false,
            format,
            Optional.of(TOKEN),
            patience));
  }

  UploadServer serve() throws IOException {
    return serve(volume, 0, Duration.ofSeconds(30));
  }

  static String url(UploadServer server, String path) {
    return "http://127.0.0.1:" + server.address().getPort() + path;
  }

  /** Status and body of an answer. */
  String curl(Object... arguments) throws IOException {
    var body = dir.resolve("body");
    Files.deleteIfExists(body);
    var command =
        new ArrayList<Object>(
            List.of(
                "curl",
                "-s",
                "-m",
                "30",
                "-w",
                "%{http_code} ",
                "-o",
                body,
                "-H",
                "Authorization: Bearer " + TOKEN));
    command.addAll(List.of(arguments));
    return Shell.shell().execute(command.toArray()).out()
        + (Files.exists(body) ? Files.readString(body) : "");
  }

  void assertIsThere() throws IOException {
    Shell.run("cmp", raw, volume.resolve("disk.img"));
    var record = FillRecord.parse(Files.readString(volume.resolve("disk.img.json"))).orElseThrow();
    assertThat(record.complete()).isTrue();
  }

  boolean isHalf() throws IOException {
    var file = volume.resolve("disk.img.json");
    return Files.exists(file) && !FillRecord.parse(Files.readString(file)).orElseThrow().complete();
  }

  /** The start of a PUT by hand, so that it can stop in the middle. */
  static Socket put(UploadServer server, long length, byte[] bytes) throws IOException {
    var socket = new Socket(InetAddress.getLoopbackAddress(), server.address().getPort());
    var head =
        "PUT /disk HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n"
            .formatted(TOKEN, length);
    socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
    socket.getOutputStream().write(bytes);
    return socket;
  }

  long offset(UploadServer server) throws IOException {
    var headers =
        Shell.run("curl", "-sI", "-H", "Authorization: Bearer " + TOKEN, url(server, "/disk"));
    return headers
        .lines()
        .filter(line -> line.toLowerCase(Locale.ROOT).startsWith("upload-offset:"))
        .mapToLong(line -> Long.parseLong(line.substring(15).strip()))
        .findFirst()
        .orElseThrow();
  }

  DiskUpload.Done upload(UploadServer server, Path file) throws IOException {
    return new DiskUpload(
            file, URI.create(url(server, "/disk")), Optional.of(TOKEN), 3, Duration.ofMillis(50))
        .run(Progress.NONE);
  }
}

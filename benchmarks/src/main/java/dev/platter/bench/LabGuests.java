package dev.platter.bench;

import dev.platter.node.libvirt.PrivateLibvirt;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;

/** What rounds with real guests share: libvirt, and that KVM was looked for. */
final class LabGuests implements AutoCloseable {
  static final String ACCELERATOR = "accelerator.json";

  private final Path work;
  private final PrivateLibvirt libvirt;
  private final String uri;
  private int nodes;

  /**
   * @param work for the nodes; short, since sockets lie below it
   */
  LabGuests(Path work) throws IOException {
    this.work = work;
    this.libvirt =
        new PrivateLibvirt(
            work.resolve("libvirt/state"), work.resolve("libvirt/run"), Duration.ofHours(1));
    this.uri = libvirt.ensureRunning();
  }

  /** Fetches what guests read, and never the rest. */
  LabNode freshNode() throws Exception {
    return freshNode(LabDaemon.NEVER);
  }

  /**
   * @param quiet for how long its guests must have read nothing before the rest is fetched
   */
  LabNode freshNode(Duration quiet) throws Exception {
    return LabNode.start(work.resolve("n" + nodes++), uri, quiet, work.resolve(ACCELERATOR));
  }

  @Override
  public void close() throws IOException {
    libvirt.stop();
  }
}

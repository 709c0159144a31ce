package dev.platter.cluster.fill;

import dev.platter.cluster.api.FillResult;
import dev.platter.cluster.api.Reason;
import dev.platter.image.Digest;
import dev.platter.image.fill.Format;
import dev.platter.model.PlatterException;
import dev.platter.node.NodeConfig;
import dev.platter.node.fill.DiskImport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One attempt to fill the volume of a claim, in a pod of its own. How it went is written where the
 * kubelet finds it; the controller reads it in the status of the pod.
 */
public final class FillRun {
  private FillRun() {}

  /**
   * @param source where the disk comes from; null if somebody sends it
   * @param target the directory of the volume, or its device
   * @param size of the claim, 0 if the target is a device
   * @param login the files of a Secret
   * @param ca the files of a ConfigMap with certificates
   * @param port where the progress is told
   * @param uploadPort where the disk is taken, if somebody sends it
   * @param result where the last words go
   */
  public record Wanted(
      @Nullable String source,
      Path target,
      Optional<Digest> digest,
      @Nullable Format format,
      long size,
      Optional<Path> login,
      Optional<Path> ca,
      int port,
      int uploadPort,
      Path result) {}

  /** Does it; what goes wrong is thrown as well as written. */
  public static void run(Wanted wanted, Map<String, String> environment) throws Exception {
    try (var progress = ProgressServer.start(wanted.port())) {
      var digest = fill(wanted, environment, progress);
      write(wanted, new FillResult(digest, Reason.FILLED.word(), Reason.FILLED.sentence()));
    } catch (PlatterException e) {
      var message = (e.getMessage() + ". " + e.next()).strip();
      write(wanted, new FillResult(null, Reason.of(e.code()).word(), message));
      throw e;
    } catch (IOException | RuntimeException e) {
      write(wanted, new FillResult(null, Reason.INTERNAL.word(), e.toString()));
      throw e;
    }
  }

  private static String fill(
      Wanted wanted, Map<String, String> environment, ProgressServer progress)
      throws IOException, InterruptedException {
    var all = FillHome.prepare(wanted, environment);
    var state = Path.of(environment.getOrDefault("HOME", "/tmp"), "state");
    var config =
        new NodeConfig(
            NodeConfig.layout(Optional.of(state), environment), Optional.empty(), Optional.empty());
    var source = wanted.source();
    if (source == null) {
      return FillUpload.take(wanted, config.layout(), progress);
    }
    return new DiskImport(
            source, wanted.target(), wanted.digest(), wanted.format(), wanted.size(), false, true)
        .run(config, all, progress)
        .digest();
  }

  private static void write(Wanted wanted, FillResult result) throws IOException {
    Files.writeString(wanted.result(), result.text());
  }
}

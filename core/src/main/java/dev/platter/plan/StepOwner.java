package dev.platter.plan;

import dev.platter.plan.PlannedDisk.Link;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Which steps of a plan a disk needs. */
public final class StepOwner {
  private final StateLayout layout;

  StepOwner(StateLayout layout) {
    this.layout = layout;
  }

  /** The local file that a step makes for a disk. */
  public static Optional<String> file(Step step) {
    return switch (step) {
      case Step.CreateOverlay overlay -> Optional.of(overlay.path());
      case Step.CreateSnapshot snapshot -> Optional.of(snapshot.path());
      case Step.CloneDisk clone -> Optional.of(clone.path());
      case Step.CreateBlank blank -> Optional.of(blank.path());
      case Step.CreateVolume volume -> Optional.of(volume.path());
      case Step.MakeDirectory _,
          Step.EnsureImage _,
          Step.EnsureLayers _,
          Step.TakeLease _,
          Step.CheckFile _,
          Step.CheckDevice _,
          Step.MakeDiskImg _,
          Step.CheckDiskImg _,
          Step.FillClaim _,
          Step.DefineSecret _,
          Step.ServeWeb _,
          Step.WriteSeed _,
          Step.MakeVolume _,
          Step.ServeVolume _,
          Step.UseIdentity _,
          Step.StartDomain _ ->
          Optional.empty();
    };
  }

  boolean needs(PlannedDisk disk, Step step, List<Step> all) {
    var source = disk.chain().getLast();
    var network = source.network();
    return switch (step) {
      case Step.CreateOverlay _,
          Step.CreateVolume _,
          Step.CreateSnapshot _,
          Step.CloneDisk _,
          Step.CreateBlank _ ->
          file(step).filter(path -> has(disk, path)).isPresent();
      case Step.EnsureImage image -> {
        var base = layout.base(image.digest()).toString();
        yield has(disk, base) || isCloned(disk, all, from -> from.toString().equals(base));
      }
      case Step.EnsureLayers image ->
          has(disk, layout.layerDisk(image.image().layers().getLast()).toString());
      case Step.TakeLease lease ->
          lease.source().name().equals("file:" + source.file())
              || lease.source().name().equals("device:" + source.device())
              || (network != null && lease.source().equals(network.sourceName()))
              || all.stream()
                  .anyMatch(
                      other ->
                          switch (other) {
                            case Step.ServeWeb web ->
                                serves(web, network)
                                    && lease.source().equals(web.from().sourceName());
                            case Step.UseIdentity use ->
                                has(disk, use.file()) && lease.source().equals(use.source());
                            default -> false;
                          });
      case Step.CheckFile check -> check.path().equals(source.file());
      case Step.CheckDevice check ->
          check.path().equals(source.device())
              || isCloned(disk, all, from -> check.path().equals(from.device()));
      case Step.MakeDiskImg img -> isDiskImg(img.root(), source);
      case Step.CheckDiskImg img ->
          isDiskImg(img.root(), source) || isCloned(disk, all, from -> isDiskImg(img.root(), from));
      case Step.FillClaim fill -> needs(disk, fill.disk(), all);
      case Step.DefineSecret secret -> {
        var login = network == null ? null : network.login();
        yield login != null && login.secret().equals(secret.uuid());
      }
      case Step.ServeWeb web -> serves(web, network);
      case Step.UseIdentity use -> has(disk, use.file());
      case Step.MakeVolume volume -> volume.disk().equals(disk.name());
      case Step.ServeVolume volume -> volume.disk().equals(disk.name());
      case Step.MakeDirectory _, Step.WriteSeed _, Step.StartDomain _ -> false;
    };
  }

  private static boolean isCloned(PlannedDisk disk, List<Step> all, Predicate<Link> from) {
    return all.stream()
        .anyMatch(
            step ->
                step instanceof Step.CloneDisk clone
                    && from.test(clone.from())
                    && has(disk, clone.path()));
  }

  private boolean serves(Step.ServeWeb web, @Nullable NetworkDisk network) {
    return NetworkDisk.served(web.export(), layout).equals(network);
  }

  private static boolean isDiskImg(String root, Link link) {
    return StateLayout.diskImg(Path.of(root)).toString().equals(link.file());
  }

  private static boolean has(PlannedDisk disk, String file) {
    return disk.chain().stream().anyMatch(link -> file.equals(link.file()));
  }
}

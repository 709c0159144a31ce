package dev.platter.cli;

import dev.platter.model.Binding;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Volume;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** A claim that is named on the command line, and what is behind it on this machine. */
final class ClaimArgument {
  /**
   * @param size of the claim, 0 if nothing says
   */
  record Place(Path path, long size) {}

  private ClaimArgument() {}

  static Place volume(String name, String namespace, List<String> files) throws IOException {
    var volumes = Manifest.objects(files).volumes();
    var key = namespace + "/" + name;
    var claim = volumes.claims().get(key);
    if (claim == null) {
      throw PlatterException.of(
          Code.NOT_FOUND,
          "there is no PersistentVolumeClaim " + key + " in " + String.join(", ", files),
          "Name one of them.");
    }
    var volume =
        claim.volume() == null
            ? Binding.of(claim, volumes)
            : Optional.ofNullable(volumes.volumes().get(claim.volume()));
    if (volume.isPresent() && volume.get().storage() instanceof Volume.Local local) {
      return new Place(Path.of(local.path()), claim.size().bytes());
    }
    throw PlatterException.of(
        Code.INVALID,
        "the claim " + key + " has no volume that is a directory or a device of this machine",
        "Give its PersistentVolume (local or hostPath) with -f as well.");
  }
}

package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Durable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Set;

/**
 * Where sockets lie. It may be in a directory that everybody can write to, so it must be ours and
 * ours alone.
 */
final class RunDirectory {
  private static final Set<PosixFilePermission> OWNER_ONLY =
      Set.of(
          PosixFilePermission.OWNER_READ,
          PosixFilePermission.OWNER_WRITE,
          PosixFilePermission.OWNER_EXECUTE);

  private RunDirectory() {}

  static void ensure(Path run) throws IOException {
    Durable.makeDirectories(run);
    for (var directory = run;
        directory != null && isTemporary(directory);
        directory = directory.getParent()) {
      var owner = Files.getAttribute(directory, "unix:uid", LinkOption.NOFOLLOW_LINKS);
      var permissions = Files.getPosixFilePermissions(directory, LinkOption.NOFOLLOW_LINKS);
      if (!owner.equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"))
          || !Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)
          || !OWNER_ONLY.containsAll(permissions)) {
        throw PlatterException.of(
            Code.CONFLICT,
            directory + " is not a directory of yours alone",
            "Somebody may have made it before you. Remove it, or use another state directory (--state).");
      }
    }
  }

  private static boolean isTemporary(Path directory) {
    return directory.startsWith("/tmp")
        && directory.getNameCount() > 1
        && directory.getName(1).toString().startsWith("platter-");
  }
}

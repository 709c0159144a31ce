package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.plan.Boot;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The kernel and initramfs that run container images: those that are installed, or those that
 * {@code guest/container/build} makes of the distribution's packages.
 */
final class BootFiles {
  /** A directory that has them. */
  static final String PROPERTY = "platter.boot";

  private static final String INSTALLED = "/usr/lib/platter/boot";

  private static final String BUILD =
      "Run 'guest/container/build " + INSTALLED + "' in Platter's repository.";

  private BootFiles() {}

  static Boot find() {
    var installed = Path.of(System.getProperty(PROPERTY, INSTALLED));
    if (!Files.exists(kernel(installed)) || !Files.exists(initrd(installed))) {
      var home = System.getProperty("platter.home");
      if (home == null) {
        throw missing();
      }
      installed = build(Path.of(home));
    }
    return new Boot(kernel(installed).toString(), initrd(installed).toString());
  }

  static PlatterException missing() {
    return PlatterException.of(
        Code.UNAVAILABLE, "there is no kernel here that could run a container image", BUILD);
  }

  /** Takes a few seconds once, and then none. */
  private static Path build(Path home) {
    var cacheHome = System.getenv("XDG_CACHE_HOME");
    var cache =
        cacheHome == null || cacheHome.isEmpty()
            ? Path.of(System.getProperty("user.home"), ".cache")
            : Path.of(cacheHome);
    var directory = cache.resolve("platter").resolve("guest-container");
    try {
      var process =
          new ProcessBuilder(home.resolve("guest/container/build").toString(), directory.toString())
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      if (process.waitFor() == 0) {
        return directory;
      }
    } catch (IOException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE, "the kernel for container images could not be built: " + e, BUILD, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    throw PlatterException.of(
        Code.UNAVAILABLE,
        "the kernel for container images could not be built",
        "Its own message is above.");
  }

  private static Path kernel(Path directory) {
    return directory.resolve("vmlinuz");
  }

  private static Path initrd(Path directory) {
    return directory.resolve("initrd.gz");
  }
}

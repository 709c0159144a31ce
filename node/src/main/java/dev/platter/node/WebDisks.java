package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import dev.platter.node.image.Images;
import dev.platter.node.web.WebAccess;
import dev.platter.plan.NetworkDisk;
import dev.platter.plan.Plan;
import dev.platter.plan.Step;
import java.io.IOException;
import java.util.TreeMap;

/**
 * Files on web servers that want to be told something which QEMU cannot be told. The daemon reads
 * them, and keeps in memory what it was told: a command gives it at each start, and again if the
 * daemon has ended in between.
 */
final class WebDisks {
  private final Images images;

  WebDisks(Images images) {
    this.images = images;
  }

  void serve(Step.ServeWeb step, SecretData secrets) throws IOException {
    images.serveWeb(step.export(), access(step.from(), secrets));
  }

  void forget(Step.ServeWeb step) throws IOException {
    images.forgetWeb(step.export());
  }

  boolean serveAgain(Plan plan, SecretData secrets) throws IOException {
    var any = false;
    for (var step : plan.steps()) {
      if (step instanceof Step.ServeWeb web) {
        serve(web, secrets);
        any = true;
      }
    }
    return any;
  }

  static WebAccess access(NetworkDisk disk, SecretData secrets) throws IOException {
    var web = disk.web();
    if (web == null) {
      throw new IllegalArgumentException(disk + " needs no secrets");
    }
    var ca = web.ca();
    var headers = new TreeMap<String, byte[]>();
    for (var header : web.headers()) {
      headers.put(header.name(), Secrets.value(header.value(), secrets));
    }
    try {
      return new WebAccess(
          disk.toString(), ca == null ? null : Secrets.value(ca, secrets), headers);
    } catch (IllegalArgumentException e) {
      throw PlatterException.of(
          Code.INVALID, disk + ": " + e.getMessage(), "Correct the Secret.", e);
    }
  }
}

package dev.platter.dialect;

import dev.platter.model.ContainerImageSource;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A pod whose image is no disk but any container image: the VM runs what its container says, as a
 * container would. There is no cloud-init in it, so what only that could do is refused.
 */
final class PodProgram {
  static final String ANNOTATION = "platter.dev/container-image";

  /** They say how a disk is made, or what cloud-init does. */
  private static final List<String> REFUSED =
      List.of(
          "VirtletCloudInit", "VirtletSSH", "VirtletRootVolumeSize", "VirtletFiles", "VirtletVMId");

  private final Fields spec;
  private final Fields container;

  PodProgram(Fields spec, Fields container) {
    this.spec = spec;
    this.container = container;
  }

  static void refuse(Fields annotations) {
    for (var name : annotations.names()) {
      if (REFUSED.stream().anyMatch(name::startsWith)) {
        annotations.problem(name, "is not for a container image; remove it, or " + ANNOTATION);
      }
    }
  }

  void refuse(PodMounts mounts) {
    if (!mounts.mounts().isEmpty() || !mounts.links().isEmpty()) {
      container.problem(
          "disks are not mounted for the program of a container image; it finds them by their"
              + " serial, below /sys/block");
    }
  }

  ContainerImageSource source(String image, PodEnvironment environment) {
    var command = container.has("command") ? container.texts("command") : null;
    var args = container.has("args") ? container.texts("args") : null;
    var env = environment.values(true);
    return new ContainerImageSource(
        image, command, args, env, container.text("workingDir"), user(), environment.secret());
  }

  /** The container's, or else the pod's, as in every pod. */
  private @Nullable String user() {
    var user = number("runAsUser");
    var group = number("runAsGroup");
    if (user == null && group != null) {
      container.problem("securityContext", "runAsGroup needs runAsUser here");
    }
    return user == null ? null : group == null ? user : user + ":" + group;
  }

  private @Nullable String number(String field) {
    for (var fields : List.of(container, spec)) {
      var context = fields.fields("securityContext");
      var number = context == null ? null : context.integer(field, 0, Integer.MAX_VALUE);
      if (number != null) {
        return number.toString();
      }
    }
    return null;
  }
}

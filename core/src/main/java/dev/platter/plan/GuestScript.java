package dev.platter.plan;

import dev.platter.model.Bus;
import dev.platter.model.Disk;
import dev.platter.model.GuestFile;
import dev.platter.model.Vm;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Locale;

/**
 * A shell script that does in a guest what its cloud-init cannot: it finds disks by serial in
 * sysfs, where there is no udev to name them, mounts them, and may write files. It can be run again
 * and again. Whatever a user wrote is between single quotes.
 */
final class GuestScript {
  /**
   * A virtio disk has its serial in sysfs, a SCSI disk has it in a page that kernels show since
   * 3.15; before that, the target that the disk is at has to do.
   */
  private static final String FUNCTIONS =
      """
      platter_disk() {
        for block in /sys/block/*; do
          if [ -e "$block/serial" ]; then
            serial=$(cat "$block/serial")
          elif [ -e "$block/device/vpd_pg80" ]; then
            serial=$(tail -c +5 "$block/device/vpd_pg80")
          else
            serial=
            case "$(readlink "$block/device")" in
              */*:0:"$2":0) serial=$1 ;;
            esac
          fi
          if [ "$serial" = "$1" ]; then
            echo "/dev/${block##*/}"
            return 0
          fi
        done
        echo "there is no disk $1" >&2
        return 1
      }
      platter_mounted() {
        wanted=$(readlink -f "$1")
        while read -r _ place _; do
          [ "$place" = "$wanted" ] && return 0
        done </proc/mounts
        return 1
      }
      platter_mount() {
        device=$(platter_disk "$1" "$2") || return 1
        [ "$3" = 0 ] || device=$device$3
        mkdir -p "$4"
        platter_mounted "$4" || mount -o "$5" "$device" "$4"
      }
      platter_link() {
        device=$(platter_disk "$1" "$2") || return 1
        mkdir -p "${3%/*}/"
        ln -sfn "$device" "$3"
      }
      platter_file() {
        mkdir -p "${2%/*}/"
        (umask 077 && base64 -d >"$2") && chmod "$1" "$2"
      }
      """;

  private final Vm vm;
  private final StringBuilder text = new StringBuilder(FUNCTIONS);

  private GuestScript(Vm vm) {
    this.vm = vm;
  }

  /**
   * The commands, without a first line that names a shell.
   *
   * @param alone whether nobody else writes files
   * @param hiding whether it is only shown to somebody, without the content of files
   */
  static String of(Vm vm, boolean alone, boolean hiding) {
    var script = new GuestScript(vm);
    var inside = vm.inside();
    inside.links().forEach(link -> script.call("link", link.disk(), quoted(link.path())));
    for (var mount : inside.mounts()) {
      script.call(
          "mount",
          mount.disk(),
          mount.partition() + " " + quoted(mount.path()) + (mount.readOnly() ? " ro" : " rw"));
    }
    for (var file : inside.files()) {
      if (alone || againAndAgain(vm, file)) {
        script.file(file, hiding);
      }
    }
    return script.text.toString();
  }

  /** What lies on a mounted disk is there only then; what lies in memory is gone at each boot. */
  static boolean againAndAgain(Vm vm, GuestFile file) {
    return file.path().matches("(/var)?/run/.*") || onDisk(vm, file);
  }

  static boolean onDisk(Vm vm, GuestFile file) {
    return vm.inside().mounts().stream()
        .anyMatch(mount -> file.path().startsWith(mount.path() + "/"));
  }

  private void call(String function, String disk, String arguments) {
    text.append("platter_" + function + " " + quoted(disk) + " ")
        .append(target(disk) + " " + arguments + "\n");
  }

  /** No disk has a target that is not a number. */
  private String target(String name) {
    return vm.disks().stream()
        .filter(disk -> disk.name().equals(name))
        .map(Disk::target)
        .filter(target -> target.bus() == Bus.SCSI)
        .map(target -> Integer.toString(target.position()))
        .findFirst()
        .orElse("-");
  }

  private void file(GuestFile file, boolean hidden) {
    text.append(
        String.format(
            Locale.ROOT,
            "platter_file %04o %s <<'PLATTER'%n%s%nPLATTER%n",
            file.mode(),
            quoted(file.path()),
            hidden
                ? file.content()
                : new String(
                    Base64.getMimeEncoder(76, new byte[] {'\n'}).encode(file.content().bytes()),
                    StandardCharsets.US_ASCII)));
  }

  private static String quoted(String word) {
    return "'" + word.replace("'", "'\\''") + "'";
  }
}

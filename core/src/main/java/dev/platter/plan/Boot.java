package dev.platter.plan;

/** What boots a VM whose disk has no boot loader: paths of a kernel and its initramfs. */
public record Boot(String kernel, String initrd) {
  /** Nothing but the guest's program on the console; a guest that breaks ends. */
  static final String COMMAND_LINE =
      "console=ttyS0 quiet loglevel=0 panic=-1 mitigations=off no_timer_check tsc=reliable";

  /** The port by which the guest tells the exit status of its program. */
  static final String EXIT_PORT = "dev.platter.exit";
}

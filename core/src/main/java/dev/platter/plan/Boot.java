package dev.platter.plan;

/** What boots a VM whose disk has no boot loader: paths of a kernel and its initramfs. */
public record Boot(String kernel, String initrd) {
  /**
   * Nothing but the guest's program on the console; a guest that breaks ends. From the fifth word
   * on it is about time: what would be tested, looked for or waited for.
   */
  static final String COMMAND_LINE =
      "console=ttyS0 quiet loglevel=0 panic=-1 mitigations=off no_timer_check tsc=reliable"
          + " cryptomgr.notests rcupdate.rcu_expedited=1 i8042.noaux i8042.nokbd audit=0 nowatchdog";

  /**
   * The file in which the guest tells the exit status of its program: memory that it shares, so it
   * cannot write more than this.
   */
  public static final int EXIT_BYTES = 4096;
}

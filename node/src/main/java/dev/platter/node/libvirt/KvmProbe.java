package dev.platter.node.libvirt;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Whether KVM really runs guests here. That /dev/kvm exists, and even that QEMU starts with it,
 * says little: where virtualisation is nested without hardware support, a guest's kernel mode may
 * be emulated one instruction at a time, and a Linux guest then never finishes unpacking itself.
 *
 * <p>So QEMU runs a ROM that enters 64-bit mode, counts to 2^24 in ring 0 and leaves through the
 * isa-debug-exit device with a status of our choice. Real KVM does that in some 10 ms and TCG in
 * 0.1 s; the emulation described above takes a minute. A second of the processor, which says the
 * same on a busy machine, or ten of the clock without the status mean no.
 *
 * <p>The answer is kept for this boot, kernel and QEMU binary, the slow no included: in the file,
 * and in this process for all its state directories.
 */
public final class KvmProbe {
  /** isa-debug-exit makes QEMU exit with (value << 1) | 1. */
  static final int EXIT_STATUS = 0x15 << 1 | 1;

  private static final Duration PROCESSOR_LIMIT = Duration.ofSeconds(1);
  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static final Duration LOOK = Duration.ofMillis(20);
  private static final int ROM_SIZE = 64 << 10;
  private static final int RESET_VECTOR = ROM_SIZE - 16;

  /** Lies at F000:0000, with RAM zeroed below it. */
  private static final String PROGRAM =
      "66c70600100320 0000" // movl $0x2003, 0x1000   page tables: the first 2 MiB,
          + "66c70600200330 0000" // movl $0x3003, 0x2000   each at its own address
          + "66c70600308300 0000" // movl $0x0083, 0x3000
          + "2e660f01167100" // lgdtl %cs:0x71
          + "66b800100000 0f22d8" // mov $0x1000, %cr3
          + "66b820000000 0f22e0" // mov $PAE, %cr4
          + "66b9800000c0 0f32 80cc01 0f30" // EFER |= LME
          + "66b811000080 0f22c0" // mov $(PG|ET|PE), %cr0
          + "66ea52000f00 0800" // ljmpl $8, $0xf0052     from here on 64-bit
          + "b900000001" // 52: mov $0x1000000, %ecx
          + "ffc9 75fc" // 57: dec %ecx; jnz 57
          + "b015 e6f4" // mov $0x15, %al; out %al, $0xf4
          + "ebfe" // 5f: jmp 5f
          + "0000000000000000 00000000009b2000" // 61: GDT: null, 64-bit code
          + "0f00 61000f00"; // 71: GDT's limit and address

  private static final String RESET = "ea000000f0"; // ljmp $0xf000, $0

  private static final Map<String, Boolean> ANSWERS = new ConcurrentHashMap<>();

  private final Path qemu;
  private final Path memo;

  /**
   * @param qemu qemu-system-x86_64
   * @param memo a file in a directory that only we can write to
   */
  public KvmProbe(Path qemu, Path memo) {
    this.qemu = qemu;
    this.memo = memo;
  }

  /** Takes a second or so the first time after a boot where the answer is no. */
  public boolean works() throws IOException {
    if (!opens(Path.of("/dev/kvm"))) {
      return false;
    }
    String key = key();
    String yes = key + " works\n";
    String no = key + " does not work\n";
    String known = memo();
    if (known.equals(yes) || known.equals(no)) {
      return known.equals(yes);
    }
    Boolean answer = ANSWERS.get(key);
    boolean works = answer == null ? runs("kvm") : answer;
    ANSWERS.put(key, works);
    remember(works ? yes : no);
    return works;
  }

  /** Whether QEMU with this accelerator runs the ROM to its end in time. */
  boolean runs(String accelerator) throws IOException {
    return runs(accelerator, LIMIT);
  }

  boolean runs(String accelerator, Duration limit) throws IOException {
    Path rom = Files.createTempFile("platter-probe", ".rom");
    try {
      Files.write(rom, rom());
      return exitStatus(accelerator, rom, limit) == EXIT_STATUS;
    } finally {
      Files.delete(rom);
    }
  }

  private int exitStatus(String accelerator, Path rom, Duration limit) throws IOException {
    Process process =
        new ProcessBuilder(
                List.of(
                    qemu.toString(),
                    "-accel",
                    accelerator,
                    "-machine",
                    "pc",
                    "-m",
                    "16",
                    "-bios",
                    rom.toString(),
                    "-device",
                    "isa-debug-exit,iobase=0xf4,iosize=1",
                    "-display",
                    "none",
                    "-monitor",
                    "none",
                    "-serial",
                    "none",
                    "-nodefaults",
                    "-no-user-config",
                    "-no-reboot"))
            .redirectInput(Path.of("/dev/null").toFile())
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    try {
      long end = System.nanoTime() + limit.toNanos();
      while (!process.waitFor(LOOK.toMillis(), TimeUnit.MILLISECONDS)) {
        Duration used = process.info().totalCpuDuration().orElse(Duration.ZERO);
        if (used.compareTo(PROCESSOR_LIMIT) > 0 || System.nanoTime() - end > 0) {
          return -1;
        }
      }
      return process.exitValue();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while probing KVM");
    } finally {
      process.destroyForcibly().onExit().join();
    }
  }

  private static byte[] rom() {
    HexFormat hex = HexFormat.of();
    byte[] program = hex.parseHex(PROGRAM.replace(" ", ""));
    byte[] reset = hex.parseHex(RESET);
    byte[] rom = new byte[ROM_SIZE];
    System.arraycopy(program, 0, rom, 0, program.length);
    System.arraycopy(reset, 0, rom, RESET_VECTOR, reset.length);
    return rom;
  }

  private String key() throws IOException {
    BasicFileAttributes binary = Files.readAttributes(qemu, BasicFileAttributes.class);
    return String.join(
        " ",
        Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip(),
        Files.readString(Path.of("/proc/sys/kernel/osrelease")).strip(),
        Long.toString(binary.lastModifiedTime().toMillis()),
        Long.toString(binary.size()),
        qemu.toString());
  }

  private String memo() throws IOException {
    try {
      return Files.readString(memo);
    } catch (NoSuchFileException e) {
      return "";
    }
  }

  /** Where there is no state directory yet, asking must not make one. */
  private void remember(String answer) throws IOException {
    Path directory = memo.toAbsolutePath().getParent();
    if (directory == null || !Files.isDirectory(directory)) {
      return;
    }
    Path fresh = Files.createTempFile(directory, "kvm", ".new");
    // No fsync: what a crash loses is asked again.
    Files.write(fresh, answer.getBytes(UTF_8));
    Files.move(fresh, memo, StandardCopyOption.ATOMIC_MOVE);
  }

  private static boolean opens(Path device) {
    try (FileChannel channel =
        FileChannel.open(device, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return channel.isOpen();
    } catch (IOException e) {
      return false;
    }
  }
}

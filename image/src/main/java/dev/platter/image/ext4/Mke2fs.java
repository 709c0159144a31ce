package dev.platter.image.ext4;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.image.Printable;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.UUID;

/**
 * Formats part of a file. Everything that {@code mke2fs} would take from its configuration, from
 * the machine or from the clock is given, so that all nodes make the same file system.
 *
 * <p>What it says goes to a pipe and is short. It needs no time limit: it writes little, to a file.
 */
final class Mke2fs {
  /**
   * Since Linux 2.6.28; what came later (64bit, metadata_csum) old guests mount read-only at best.
   */
  private static final String FEATURES =
      "none,has_journal,ext_attr,resize_inode,dir_index,filetype,extent,flex_bg,sparse_super,"
          + "large_file,huge_file,uninit_bg,dir_nlink,extra_isize";

  private static final int MOST_OUTPUT = 4096;

  private Mke2fs() {}

  static void format(Path file, long offset, long size, UUID id, Instant made) throws IOException {
    String extended =
        "offset=%d,nodiscard,lazy_itable_init=1,lazy_journal_init=1,root_owner=0:0,hash_seed=%s"
            .formatted(offset, id);
    List<String> command =
        List.of(
            program(),
            "-q",
            "-F",
            "-O",
            FEATURES,
            "-b",
            "4096",
            "-I",
            "256",
            "-i",
            "16384",
            "-G",
            "16",
            "-m",
            "0",
            "-U",
            id.toString(),
            "-E",
            extended,
            "--",
            file.toString(),
            size / 1024 + "k");
    var builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().clear();
    builder.environment().put("LC_ALL", "C");
    builder.environment().put("MKE2FS_CONFIG", "/dev/null");
    builder.environment().put("E2FSPROGS_FAKE_TIME", Long.toString(made.getEpochSecond()));
    run(builder);
  }

  /** Users other than root often lack the directories for it in their path. */
  private static String program() throws IOException {
    String path = System.getenv().getOrDefault("PATH", "") + ":/usr/sbin:/sbin";
    for (String directory : path.split(":")) {
      Path program = Path.of(directory, "mke2fs");
      if (!directory.isEmpty() && Files.isExecutable(program)) {
        return program.toString();
      }
    }
    throw new IOException("mke2fs is not installed; the package e2fsprogs has it");
  }

  private static void run(ProcessBuilder builder) throws IOException {
    Process process = builder.start();
    try {
      process.getOutputStream().close();
      String output = new String(process.getInputStream().readNBytes(MOST_OUTPUT), UTF_8);
      int status = process.waitFor();
      if (status != 0) {
        throw new IOException(
            "mke2fs ended with status %d: %s"
                .formatted(status, Printable.of(output.strip().replace('\n', ' '), 400)));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while mke2fs ran");
    } finally {
      process.destroyForcibly();
    }
  }
}

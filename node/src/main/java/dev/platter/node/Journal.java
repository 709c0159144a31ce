package dev.platter.node;

import dev.platter.node.durable.Durable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * What has been done of a plan. A record is on the disk before the call that writes it returns.
 *
 * <p>The file is made full of zeros and records overwrite them in place: then making a record
 * durable is one block written, with no change of the file's size or blocks for the file system to
 * log. A record is one line; a line that was cut off by a power loss has no line break and is
 * ignored, which is right since the call that wrote it never returned. The step that may be half
 * done is the first that is not recorded as done: steps run in order. It stays in doubt until it is
 * undone, even if whoever set out to undo it dies too.
 *
 * <p>Written through {@link RandomAccessFile}, since a file channel closes itself under an
 * interrupted thread, and an interrupt is just when records matter.
 */
final class Journal implements AutoCloseable {
  private static final int SIZE = 16 << 10;
  private static final int FULL = SIZE / 2;

  /** Where a VM is being taken. */
  enum Goal {
    UP,
    DOWN,
    REMOVE
  }

  /**
   * @param open the goal that was begun and not ended; null if the VM is at rest
   * @param everUp whether the VM has ever been up
   * @param up whether the last goal that was ended is {@link Goal#UP}
   * @param done the steps whose effect is there
   * @param inDoubt the step that may be half done; empty where none can be
   * @param reserved how many bytes steps that are under way are going to take
   */
  record State(
      @Nullable Goal open,
      boolean everUp,
      boolean up,
      SortedSet<Integer> done,
      OptionalInt inDoubt,
      Map<Integer, Long> reserved) {
    static State parse(String text) {
      Goal open = null;
      var everUp = false;
      var up = false;
      var done = new TreeSet<Integer>();
      var inDoubt = OptionalInt.empty();
      var reserved = new HashMap<Integer, Long>();
      var end = text.lastIndexOf('\n');
      for (var line : text.substring(0, end + 1).lines().toList()) {
        var words = line.split(" ", 2);
        var what = words.length > 1 ? words[1] : "";
        switch (words[0]) {
          case "begin" -> {
            if (open == Goal.UP) {
              inDoubt = firstMissing(done);
            }
            open = Goal.valueOf(what);
            reserved.clear();
          }
          case "end" -> {
            open = null;
            inDoubt = OptionalInt.empty();
            up = Goal.valueOf(what) == Goal.UP;
            everUp |= up;
          }
          case "reserve" -> {
            var space = what.indexOf(' ');
            reserved.put(
                Integer.valueOf(what.substring(0, space)), Long.valueOf(what.substring(space + 1)));
          }
          case "done" -> {
            done.add(Integer.valueOf(what));
            reserved.remove(Integer.valueOf(what));
          }
          case "undone" -> {
            var step = Integer.parseInt(what);
            done.remove(step);
            if (inDoubt.isPresent() && inDoubt.getAsInt() == step) {
              inDoubt = OptionalInt.empty();
            }
          }
          case "everUp" -> everUp = true;
          default -> throw new IllegalArgumentException("not a journal record: " + line);
        }
      }
      return new State(
          open,
          everUp,
          up,
          Collections.unmodifiableSortedSet(done),
          open == Goal.UP ? firstMissing(done) : inDoubt,
          Map.copyOf(reserved));
    }

    private static OptionalInt firstMissing(SortedSet<Integer> done) {
      return IntStream.rangeClosed(0, done.size()).filter(i -> !done.contains(i)).findFirst();
    }

    /** The least text with the same meaning, for a VM at rest. */
    String compact() {
      var out = new StringBuilder(everUp ? "everUp\n" : "");
      done.forEach(step -> out.append("done ").append(step).append('\n'));
      return out.append(up ? "end UP\n" : "end DOWN\n").toString();
    }
  }

  private final RandomAccessFile file;

  private Journal(RandomAccessFile file) {
    this.file = file;
  }

  /** A new journal, which counts once a plan is published beside it. */
  static Journal create(Path path) throws IOException {
    Durable.write(path, new byte[SIZE]);
    return open(path);
  }

  static Journal open(Path path) throws IOException {
    var text = text(path);
    var used = text.lastIndexOf('\n') + 1;
    var state = State.parse(text);
    if (used > FULL && state.open() == null) {
      used = publish(path, state);
    }
    // "rwd": each write is on the disk when it returns, as by fdatasync.
    var file = new RandomAccessFile(path.toFile(), "rwd");
    file.seek(used);
    return new Journal(file);
  }

  /** Replaces a journal by one that says this of a VM at rest; returns how much of it is used. */
  static int publish(Path path, State state) throws IOException {
    var compact = state.compact().getBytes(StandardCharsets.UTF_8);
    Durable.publish(path, ByteBuffer.allocate(Math.max(SIZE, compact.length)).put(compact).array());
    return compact.length;
  }

  static State read(Path path) throws IOException {
    return State.parse(text(path));
  }

  private static String text(Path path) throws IOException {
    var text = Files.readString(path, StandardCharsets.ISO_8859_1);
    var end = text.indexOf('\0');
    return end < 0 ? text : text.substring(0, end);
  }

  void begin(Goal goal) throws IOException {
    append("begin " + goal);
  }

  /** Counts until the step is done, or undone with all others. */
  void reserve(int step, long bytes) throws IOException {
    append("reserve " + step + " " + bytes);
  }

  void done(int step) throws IOException {
    append("done " + step);
  }

  void undone(int step) throws IOException {
    append("undone " + step);
  }

  void end(Goal goal) throws IOException {
    append("end " + goal);
  }

  private void append(String record) throws IOException {
    file.write((record + "\n").getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}

package dev.platter.node.image;

import dev.platter.model.ImageLogins;
import dev.platter.node.web.WebAccess;
import dev.platter.node.web.WebVersion;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The images of this machine, as those see them who run VMs. */
public interface Images extends AutoCloseable {
  /** Is told how far a long copy is; total is -1 if that is not known. */
  @FunctionalInterface
  interface BytesDone {
    BytesDone NOBODY = (_, _, _) -> {};

    /** What is said of an image that is written to a claim. */
    String FILL = "fill";

    /** And before, of a claim that is searched for bytes of somebody else. */
    String LOOK = "look";

    /** What is said of the layers of a container image. */
    String LAYERS = "layers";

    void bytes(String what, long done, long total);
  }

  /** What the reference means now. Nothing is stored but a file from the web, as long as needed. */
  String resolve(String reference, ImageLogins logins, BytesDone progress);

  default String resolve(String reference) {
    return resolve(reference, ImageLogins.NONE, BytesDone.NOBODY);
  }

  /**
   * Makes the base usable: afterwards its file is there in full size, and {@link #sealed} tells
   * whether QEMU may open it or has to go through the daemon. One that is here because others have
   * logged in for it is read from the caller's own registry first, if that is another.
   */
  void ensure(String reference, String digest, ImageLogins logins, BytesDone progress)
      throws IOException;

  default void ensure(String reference, String digest, BytesDone progress) throws IOException {
    ensure(reference, digest, ImageLogins.NONE, progress);
  }

  /** The same, but fetches all that is missing and waits until the base is sealed. */
  void complete(String reference, String digest, ImageLogins logins, BytesDone progress)
      throws IOException;

  default void complete(String reference, String digest, BytesDone progress) throws IOException {
    complete(reference, digest, ImageLogins.NONE, progress);
  }

  /** Sees to it that a base which is read through the daemon is served. */
  void serveAgain(String reference, String digest) throws IOException;

  /** Sees to it that the daemon is on duty, if this machine has one. */
  void keepDaemon() throws IOException;

  /**
   * Sees to it that the daemon is on duty, if this machine has one, when a process is short of room
   * in one of these directories; until the process ends.
   */
  void keepDaemonWhenShort(long process, List<Path> directories, long bytes) throws IOException;

  /**
   * Lets the daemon serve a file on a web server; if it does so already, with other secrets from
   * now on.
   *
   * @param expected the only version to serve; null for whatever there is
   * @return the version that is served
   */
  WebVersion serveWeb(String export, WebAccess access, @Nullable WebVersion expected)
      throws IOException;

  /** Nothing happens if it is not served. */
  void forgetWeb(String export) throws IOException;

  boolean sealed(String digest) throws IOException;

  /** Whether it can be used without a word from the registry of that name: all of it is here. */
  boolean isHere(String reference, String digest) throws IOException;

  List<ImageStatus> list() throws IOException;

  /** Removes the images that no VM uses. */
  List<ImageRecord> collect() throws IOException;

  @Override
  void close();
}

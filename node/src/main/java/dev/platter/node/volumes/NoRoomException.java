package dev.platter.node.volumes;

import dev.platter.model.ByteSize;
import java.io.IOException;
import java.nio.file.Path;

/** What was asked for is more than the pool may promise. */
public final class NoRoomException extends IOException {
  private static final long serialVersionUID = 1L;

  NoRoomException(Path pool, long wanted, long room) {
    super(
        "the pool "
            + pool
            + " has room for "
            + ByteSize.of(room).rounded()
            + " more, not for "
            + ByteSize.of(wanted).rounded()
            + ": delete volumes or snapshots there, or raise its limit");
  }
}

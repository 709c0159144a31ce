package dev.platter.block.nbd;

import static dev.platter.block.nbd.Protocol.*;

import dev.platter.block.BlockDevice;
import org.jspecify.annotations.Nullable;

/**
 * What a client may ask for. Every request goes through {@link #refusal} before anything else is
 * done with it; code behind it checks nothing again.
 */
final class Rules {
  private final long size;
  private final boolean readOnly;
  private final boolean structured;
  private final boolean allocation;

  Rules(BlockDevice device, boolean structured, boolean allocation) {
    this.size = device.size();
    this.readOnly = device.readOnly();
    this.structured = structured;
    this.allocation = allocation;
  }

  /** What the client is told that it may do. */
  static int transmissionFlags(BlockDevice device, boolean structured) {
    int flags = HAS_FLAGS | SEND_CACHE | CAN_MULTI_CONN | (structured ? SEND_DF : 0);
    return device.readOnly()
        ? flags | READ_ONLY
        : flags | SEND_FLUSH | SEND_FUA | SEND_TRIM | SEND_WRITE_ZEROES;
  }

  /**
   * Why a request is not carried out; null if it is.
   *
   * @param length an unsigned 32-bit number
   */
  @Nullable NbdError refusal(int command, int flags, long offset, long length) {
    return switch (command) {
      case CMD_READ ->
          first(
              flags(flags, structured ? FLAG_DF : 0),
              length > MOST_PAYLOAD ? NbdError.INVAL : null,
              range(offset, length, NbdError.INVAL));
      case CMD_WRITE -> first(flags(flags, 0), writable(), range(offset, length, NbdError.NOSPC));
      case CMD_WRITE_ZEROES ->
          first(flags(flags, FLAG_NO_HOLE), writable(), range(offset, length, NbdError.NOSPC));
      case CMD_TRIM -> first(flags(flags, 0), writable(), range(offset, length, NbdError.INVAL));
      case CMD_CACHE -> first(flags(flags, 0), range(offset, length, NbdError.INVAL), null);
      case CMD_FLUSH ->
          first(flags(flags, 0), offset != 0 || length != 0 ? NbdError.INVAL : null, null);
      case CMD_BLOCK_STATUS ->
          first(
              allocation ? null : NbdError.INVAL,
              flags(flags, FLAG_REQ_ONE),
              range(offset, length, NbdError.INVAL));
      default -> NbdError.INVAL;
    };
  }

  /** FUA is valid for every command where it was offered. */
  private @Nullable NbdError flags(int flags, int allowed) {
    int all = readOnly ? allowed : allowed | FLAG_FUA;
    return (flags & ~all) == 0 ? null : NbdError.INVAL;
  }

  private @Nullable NbdError writable() {
    return readOnly ? NbdError.PERM : null;
  }

  private @Nullable NbdError range(long offset, long length, NbdError outside) {
    if (length == 0) {
      return NbdError.INVAL;
    }
    return offset < 0 || offset > size - length ? outside : null;
  }

  private static @Nullable NbdError first(
      @Nullable NbdError a, @Nullable NbdError b, @Nullable NbdError c) {
    return a != null ? a : b != null ? b : c;
  }
}

package dev.platter.block.nbd;

import dev.platter.block.BlockDevice;
import dev.platter.block.wire.Input;
import java.nio.channels.ByteChannel;

/**
 * What client and server have agreed on.
 *
 * @param channel the socket, or TLS over it
 * @param allocation whether the client may ask which parts are holes
 */
record Session(
    ByteChannel channel, Input input, BlockDevice device, boolean structured, boolean allocation) {}

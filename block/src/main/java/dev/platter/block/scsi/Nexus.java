package dev.platter.block.scsi;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.Locale;

/**
 * An initiator's port, as reservations remember it: it is the same after a reconnect.
 *
 * @param isid 48 bits that tell sessions of one initiator apart
 */
public record Nexus(String initiator, long isid) {
  /** As iSCSI ports are written in SCSI parameters. */
  byte[] transportId() {
    byte[] name = String.format(Locale.ROOT, "%s,i,0x%012x", initiator, isid).getBytes(UTF_8);
    int padded = name.length / 4 * 4 + 4; // at least one zero ends it
    return ByteBuffer.allocate(4 + padded)
        .put((byte) 0x45)
        .put((byte) 0)
        .putShort((short) padded)
        .put(name)
        .array();
  }
}

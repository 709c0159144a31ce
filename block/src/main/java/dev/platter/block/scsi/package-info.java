/**
 * Disks as SCSI sees them (SAM-5, SPC-4, SBC-3): commands become reads, writes and answers,
 * whatever transport brings them.
 */
@NullMarked
package dev.platter.block.scsi;

import org.jspecify.annotations.NullMarked;

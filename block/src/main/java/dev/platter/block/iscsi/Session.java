package dev.platter.block.iscsi;

import dev.platter.block.scsi.Nexus;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a login has led to.
 *
 * @param target null in a discovery session, which can only ask for names
 * @param known the targets that the initiator may learn of
 */
record Session(
    Nexus nexus,
    @Nullable IscsiTarget target,
    List<IscsiTarget> known,
    Parameters parameters,
    CommandWindow window,
    PduReader reader,
    Outbox outbox) {}

package dev.platter.node;

import dev.platter.plan.LiveEffect;
import java.io.IOException;
import java.util.Collection;
import java.util.List;

/** The disks of a domain that runs. Every call fails if it does not, unless it says otherwise. */
public interface LiveDisks {
  /** The bytes that the guest sees. */
  long size(String device);

  /** What can be done towards an effect while the guest runs; may take long. */
  void prepare(LiveEffect effect, Progress progress);

  /** After this QEMU has the effect. */
  void apply(LiveEffect effect);

  /**
   * Fails unless QEMU, whose guest stands still, has these open.
   *
   * @param disks some that the VM was started with; none if all of them are on a network
   */
  void mustHaveOpen(Collection<String> disks, List<OpenFile> files) throws IOException;

  /** Whether QEMU has the effect; false if the domain does not run. */
  boolean has(LiveEffect effect);

  /** Ends what {@link #prepare} began; nothing happens if there is nothing or no domain. */
  void abandon(LiveEffect effect);

  /**
   * Stops the guest's processors; nothing happens if there is no domain. It waits for calls that
   * change the domain and are under way, also those of clients that are dead by now: what is seen
   * afterwards is how it stays.
   */
  void suspend();

  /** Nothing happens if the guest runs, or if there is no domain. */
  void resume();
}

package dev.platter.node;

import dev.platter.plan.FillRecord;
import dev.platter.plan.Step;
import java.io.IOException;
import java.util.Optional;

/**
 * Which images were written to the block devices of claims. All of a device is the guest's, so this
 * is kept elsewhere: where everybody finds it who can use the claim. What is put is not lost any
 * more when the call returns.
 */
public interface DeviceRecords {
  /**
   * @param claim {@code NAMESPACE/NAME}; empty for who knows the device alone, whom nobody but the
   *     machine itself can answer
   */
  Optional<FillRecord> find(String claim, Step.CheckDevice device) throws IOException;

  void put(String claim, Step.CheckDevice device, FillRecord record) throws IOException;
}

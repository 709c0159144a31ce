package dev.platter.node;

import dev.platter.node.durable.Durable;
import dev.platter.plan.FillRecord;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Optional;

/**
 * Of a machine without a cluster, whose devices nobody else has: a file for each, by what the
 * device is and not by its path, which may be another's tomorrow. One that is not known again
 * counts as somebody else's.
 */
record LocalDeviceRecords(StateLayout layout) implements DeviceRecords {
  @Override
  public Optional<FillRecord> find(String claim, Step.CheckDevice device) throws IOException {
    var file = file(device);
    return Files.exists(file) ? FillRecord.parse(Files.readString(file)) : Optional.empty();
  }

  @Override
  public void put(String claim, Step.CheckDevice device, FillRecord record) throws IOException {
    Durable.makeDirectories(layout.claims());
    Durable.publish(file(device), record.text());
  }

  private Path file(Step.CheckDevice device) throws IOException {
    return layout.claim(hash(DeviceIdentity.of(Path.of(device.path()))));
  }

  static String hash(String path) {
    try {
      var hash = MessageDigest.getInstance("SHA-256").digest(path.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(hash, 0, 16);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JDK has SHA-256", e);
    }
  }
}

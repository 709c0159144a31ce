package dev.platter.cluster.webhook;

import java.util.HashMap;
import java.util.Map;

/** A Secret that is nowhere. */
final class MemoryStore implements CertificateStore {
  Map<String, byte[]> data = new HashMap<>();
  int version;
  byte[] trusted = {};
  Runnable beforeReplace = () -> {};

  @Override
  public Stored read() {
    return new Stored(Integer.toString(version), new HashMap<>(data));
  }

  @Override
  public boolean replace(String wanted, Map<String, byte[]> changed) {
    beforeReplace.run();
    if (!wanted.equals(Integer.toString(version))) {
      return false;
    }
    version++;
    data = new HashMap<>(changed);
    return true;
  }

  @Override
  public void trust(byte[] bundle) {
    trusted = bundle.clone();
  }
}

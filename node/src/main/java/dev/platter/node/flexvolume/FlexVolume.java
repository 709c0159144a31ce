package dev.platter.node.flexvolume;

import java.util.Base64;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * A FlexVolume of a pod, as kubelet described it to the driver. Secrets are apart from all else and
 * are shown only to who asks for one by its name.
 *
 * <p>Kubelet's own words can be overridden by the options of the volume, so they are no proof of
 * anything. Which pod it is follows from where the file lay.
 */
public final class FlexVolume {
  private static final String KUBELET = "kubernetes.io/";
  private static final String SECRET = "secret";

  private final String name;
  private final Map<String, String> options = new TreeMap<>();
  private final Map<String, String> kubelet = new TreeMap<>();
  private final Map<String, String> secrets = new TreeMap<>();

  /**
   * @param json keys and values as they were written
   * @throws IllegalArgumentException if they contradict each other
   */
  FlexVolume(String name, Map<String, String> json) {
    this.name = name;
    json.forEach(this::add);
    if (!kubelet.getOrDefault("readwrite", "rw").matches("r[ow]")) {
      throw new IllegalArgumentException(KUBELET + "readwrite is neither rw nor ro");
    }
  }

  private void add(String key, String value) {
    if (key.startsWith(KUBELET + SECRET + "/")) {
      secrets.put(key, value);
    } else if (key.startsWith(KUBELET)) {
      kubelet.put(key.substring(KUBELET.length()), value);
    } else {
      var lower = key.toLowerCase(Locale.ROOT);
      var map = lower.equals(SECRET) ? secrets : options;
      if (map.put(lower, value) != null) {
        throw new IllegalArgumentException("the option " + lower + " is given twice");
      }
    }
  }

  /** The volume's in the pod or, if it was claimed, that of the persistent volume. */
  public String name() {
    return name;
  }

  /** What the volume's author wrote, but for the secret; keys are in lower case. */
  public Map<String, String> options() {
    return Map.copyOf(options);
  }

  public boolean readOnly() {
    return "ro".equals(kubelet.get("readwrite"));
  }

  /**
   * What kubelet added.
   *
   * @param key without {@code kubernetes.io/}: {@code pod.name}, {@code fsType}
   */
  public Optional<String> kubelet(String key) {
    return Optional.ofNullable(kubelet.get(key));
  }

  /** The option {@code secret}, as it is written. */
  public Optional<String> secret() {
    return Optional.ofNullable(secrets.get(SECRET));
  }

  /** The value of a key of the Secret to which the volume refers. */
  public Optional<byte[]> secret(String key) {
    return Optional.ofNullable(secrets.get(KUBELET + SECRET + "/" + key)).map(this::decode);
  }

  private byte[] decode(String base64) {
    try {
      return Base64.getDecoder().decode(base64);
    } catch (IllegalArgumentException e) {
      // Without the cause, which shows a part of it.
      throw new IllegalArgumentException("a secret of the FlexVolume " + name + " is not base64");
    }
  }

  @Override
  public String toString() {
    return "FlexVolume " + name + " " + options + " " + kubelet + " secrets: " + secrets.keySet();
  }
}

package dev.platter.node.flexvolume;

import java.io.IOException;
import java.util.List;

/** The shell script that kubelet runs for a FlexVolume. It does not depend on its own name. */
public final class FlexVolumeDriver {
  /** The names under which pods ask for it, as kubelet writes them in paths. */
  public static final List<String> NAMES =
      List.of("virtlet~flexvolume_driver", "kubernetes.io~flexvolume_driver");

  private FlexVolumeDriver() {}

  /** The script, to be installed as an executable file. */
  public static byte[] script() {
    try (var in = FlexVolumeDriver.class.getResourceAsStream("flexvolume_driver")) {
      if (in == null) {
        throw new IllegalStateException("this program was built without its FlexVolume driver");
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw new IllegalStateException("the FlexVolume driver cannot be read", e);
    }
  }
}

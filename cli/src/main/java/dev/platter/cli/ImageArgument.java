package dev.platter.cli;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.Node;
import dev.platter.node.image.ImageStatus;
import java.io.IOException;
import java.util.List;

/** An image as a user names it: by its reference, or by the start of its digest. */
final class ImageArgument {
  private ImageArgument() {}

  /** At least one. */
  static List<ImageStatus> find(Node node, String wanted) throws IOException {
    var found = node.images().list().stream().filter(status -> isMeant(status, wanted)).toList();
    if (found.isEmpty()) {
      throw PlatterException.of(
          Code.NOT_FOUND, "there is no image " + wanted, "'platter images' lists the images.");
    }
    return found;
  }

  private static boolean isMeant(ImageStatus status, String wanted) {
    var image = status.image();
    return image.reference().equals(wanted)
        || image.reference().endsWith("/" + wanted)
        || image.digest().startsWith(wanted)
        || image.digest().startsWith("sha256:" + wanted);
  }
}

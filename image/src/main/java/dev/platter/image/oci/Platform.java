package dev.platter.image.oci;

import com.fasterxml.jackson.databind.JsonNode;
import dev.platter.image.BadImageException;

/**
 * What an image is for. Variants ("v8") are left out: a disk is not a program, and its guest picks
 * its own instructions.
 */
public record Platform(String os, String architecture) {
  public static final Platform LINUX_AMD64 = new Platform("linux", "amd64");

  static Platform parse(JsonNode node, String what) throws BadImageException {
    return new Platform(
        Json.requireText(node, "os", what), Json.requireText(node, "architecture", what));
  }

  @Override
  public String toString() {
    return os + "/" + architecture;
  }
}

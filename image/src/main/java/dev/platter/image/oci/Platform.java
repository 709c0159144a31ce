package dev.platter.image.oci;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.image.BadImageException;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What an image is for. A variant is kept for other tools; it never keeps us from an image, since a
 * disk is not a program and its guest picks its own instructions.
 *
 * @param variant such as {@code v8}; empty if none is named
 */
public record Platform(String os, String architecture, String variant) {
  public static final Platform LINUX_AMD64 = new Platform("linux", "amd64");
  private static final Pattern TEXT = Pattern.compile("[a-z0-9]+/[a-z0-9_]+(/[a-z0-9.]+)?");

  public Platform(String os, String architecture) {
    this(os, architecture, "");
  }

  /** Reads {@code os/architecture[/variant]}, in the words of Go, as every container tool does. */
  public static Platform of(String text) {
    if (text.length() > 100 || !TEXT.matcher(text).matches()) {
      throw new IllegalArgumentException(
          "'" + text + "' is no platform; write os/architecture[/variant], such as linux/arm64");
    }
    String[] parts = text.split("/", -1);
    return new Platform(parts[0], parts[1], parts.length > 2 ? parts[2] : "");
  }

  static Platform parse(JsonNode node, String what) throws BadImageException {
    @Nullable String variant = Json.text(node, "variant", what);
    return new Platform(
        Json.requireText(node, "os", what),
        Json.requireText(node, "architecture", what),
        variant == null ? "" : variant);
  }

  ObjectNode toJson() {
    ObjectNode node = Json.MAPPER.createObjectNode();
    node.put("architecture", architecture).put("os", os);
    if (!variant.isEmpty()) {
      node.put("variant", variant);
    }
    return node;
  }

  /** Whether a disk for {@code other} is one for this. */
  boolean isRunBy(Platform other) {
    return os.equals(other.os) && architecture.equals(other.architecture);
  }

  /** Whether two names mean one platform: {@code arm64} is {@code arm64/v8}. */
  boolean isSameAs(Platform other) {
    return isRunBy(other) && plainVariant().equals(other.plainVariant());
  }

  private String plainVariant() {
    return switch (architecture + "/" + variant) {
      case "arm64/v8", "amd64/v1" -> "";
      case "arm/" -> "v7";
      default -> variant;
    };
  }

  @Override
  public String toString() {
    return os + "/" + architecture + (variant.isEmpty() ? "" : "/" + variant);
  }
}

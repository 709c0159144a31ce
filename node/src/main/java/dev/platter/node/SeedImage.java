package dev.platter.node;

import dev.platter.image.iso.IsoImage;
import dev.platter.plan.Seed;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.TreeMap;

/** A cloud-init seed as the bytes of its disk; the same seed always gives the same bytes. */
final class SeedImage {
  private SeedImage() {}

  static byte[] bytes(Seed seed) throws IOException {
    var files = new TreeMap<String, byte[]>();
    seed.files().forEach((name, text) -> files.put(name, text.getBytes(StandardCharsets.UTF_8)));
    var out = new ByteArrayOutputStream();
    new IsoImage(seed.label(), files).writeTo(out);
    return out.toByteArray();
  }
}

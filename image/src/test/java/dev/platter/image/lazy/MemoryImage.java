package dev.platter.image.lazy;

import dev.platter.image.Digest;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Manifest;
import dev.platter.image.oci.MediaTypes;
import dev.platter.image.oci.Platform;
import dev.platter.image.oci.Resolved;
import dev.platter.image.oci.VerifyingInputStream;
import dev.platter.image.tar.TarWriter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPOutputStream;

/** An image put together by a test, bytes and lies alike. */
final class MemoryImage implements BlobSource {
  private final Map<Digest, byte[]> blobs = new HashMap<>();
  private final List<Descriptor> layers = new ArrayList<>();
  private final List<Digest> diffIds = new ArrayList<>();
  final List<Digest> opened = new ArrayList<>();
  int ranges;

  interface Packing {
    void into(TarWriter tar) throws IOException;
  }

  static byte[] tar(Packing packing) throws IOException {
    var bytes = new ByteArrayOutputStream();
    try (var tar = new TarWriter(bytes, 0, 0)) {
      packing.into(tar);
    }
    return bytes.toByteArray();
  }

  static byte[] tarWith(String name, byte[] content) throws IOException {
    return tar(tar -> tar.file(name, 0644, content.length, new ByteArrayInputStream(content)));
  }

  static byte[] gzip(byte[] bytes) throws IOException {
    var packed = new ByteArrayOutputStream();
    try (var gzip = new GZIPOutputStream(packed)) {
      gzip.write(bytes);
    }
    return packed.toByteArray();
  }

  MemoryImage plainLayer(byte[] tar) {
    return layer(new Descriptor(MediaTypes.OCI_LAYER, Digest.of(tar), tar.length), tar, tar);
  }

  MemoryImage gzipLayer(byte[] tar) throws IOException {
    byte[] packed = gzip(tar);
    return layer(
        new Descriptor(MediaTypes.OCI_LAYER_GZIP, Digest.of(packed), packed.length), packed, tar);
  }

  /** {@code descriptor} may say what it likes about {@code bytes}. */
  MemoryImage layer(Descriptor descriptor, byte[] bytes, byte[] tar) {
    layers.add(descriptor);
    blobs.put(descriptor.digest(), bytes);
    diffIds.add(Digest.of(tar));
    return this;
  }

  Manifest manifest() {
    var ids = String.join("\",\"", diffIds.stream().map(Digest::toString).toList());
    return manifest(
        MediaTypes.OCI_CONFIG,
        "{\"os\":\"linux\",\"architecture\":\"amd64\",\"rootfs\":{\"diff_ids\":[\""
            + ids
            + "\"]}}");
  }

  Manifest manifest(String configType, String configJson) {
    byte[] config = configJson.getBytes(StandardCharsets.UTF_8);
    var descriptor = new Descriptor(configType, Digest.of(config), config.length);
    blobs.put(descriptor.digest(), config);
    return new Manifest(MediaTypes.OCI_MANIFEST, descriptor, layers, Map.of());
  }

  void forget(int layer) {
    blobs.remove(layers.get(layer).digest());
  }

  @Override
  public Resolved resolve(String tagOrDigest, Platform wanted) {
    throw new UnsupportedOperationException("tests make the manifest themselves");
  }

  @Override
  public InputStream open(Descriptor blob) throws IOException {
    byte[] bytes = blobs.get(blob.digest());
    if (bytes == null) {
      throw new FileNotFoundException(blob.digest().toString());
    }
    opened.add(blob.digest());
    return new VerifyingInputStream(new ByteArrayInputStream(bytes), blob);
  }

  @Override
  public InputStream open(Descriptor blob, long from, long length) throws IOException {
    byte[] bytes = blobs.get(blob.digest());
    if (bytes == null) {
      throw new FileNotFoundException(blob.digest().toString());
    }
    ranges++;
    return new ByteArrayInputStream(bytes, (int) from, (int) length);
  }

  /** Other bytes under the same name, as a registry could give them. */
  void replace(Descriptor blob, byte[] bytes) {
    blobs.put(blob.digest(), bytes);
  }
}

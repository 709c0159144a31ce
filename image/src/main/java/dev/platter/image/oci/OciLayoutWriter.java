package dev.platter.image.oci;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.image.Digest;
import dev.platter.image.tar.TarWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPOutputStream;

/**
 * Adds disks to an OCI layout as container images: one layer that holds {@code /disk/<name>}, owned
 * by 107 (qemu), as KubeVirt's containerDisk wants it. The same disk gives the same digest.
 *
 * <p>Blobs are complete before the manifest names them and the manifest before {@code index.json}
 * does; each appears by rename. A crash leaves at most a blob that nothing names. Two writers on
 * one layout at a time are not coordinated: one of them may lose its tag.
 */
public final class OciLayoutWriter {
  private static final int QEMU = 107;

  private final Path directory;
  private final Path blobs;

  /** Makes the layout if it is not there yet. */
  public OciLayoutWriter(Path directory) throws IOException {
    this.directory = directory;
    this.blobs = directory.resolve("blobs/sha256");
    Files.createDirectories(blobs);
    if (!Files.exists(directory.resolve("index.json"), LinkOption.NOFOLLOW_LINKS)) {
      publish(directory.resolve("index.json"), NewImage.bytes(emptyIndex()));
    }
    if (!Files.exists(directory.resolve("oci-layout"), LinkOption.NOFOLLOW_LINKS)) {
      ObjectNode marker = Json.MAPPER.createObjectNode().put("imageLayoutVersion", "1.0.0");
      publish(directory.resolve("oci-layout"), NewImage.bytes(marker));
    }
  }

  /** Packs {@code file} as {@code /disk/<name>} and tags the image; a tag in use moves to it. */
  public Descriptor add(String tag, Platform platform, String name, Path file) throws IOException {
    if (!name.matches("[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")) {
      throw new IllegalArgumentException("'" + name + "' cannot be the file name of a disk");
    }
    return add(tag, platform, out -> writeLayer(name, file, out));
  }

  /** Adds an image with one layer and tags it; a tag in use moves to it. */
  public Descriptor add(String tag, Platform platform, Layer.Content content) throws IOException {
    NewImage image = addUntagged(platform, content);
    tag(tag, image.manifestDescriptor());
    return image.manifestDescriptor();
  }

  /**
   * Adds an image with these layers on top of another, and tags it; a tag in use moves to it.
   *
   * @param by what makes the layers, for the history
   */
  public Descriptor addOnTop(
      String tag, BlobSource source, Manifest below, List<Layer.Content> contents, String by)
      throws IOException {
    List<Layer> added = new ArrayList<>();
    for (Layer.Content content : contents) {
      added.add(addLayer(content));
    }
    var image = ImageOnTop.of(source, below, added, by);
    for (Descriptor layer : below.layers()) {
      copy(source, layer);
    }
    addDocument(MediaTypes.OCI_CONFIG, image.config());
    Descriptor manifest = addDocument(MediaTypes.OCI_MANIFEST, image.manifest());
    tag(tag, manifest);
    return manifest;
  }

  private void copy(BlobSource source, Descriptor blob) throws IOException {
    if (Files.exists(blobs.resolve(blob.digest().hex()), LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    Path temporary = Files.createTempFile(blobs, ".layer-", ".tmp");
    try {
      try (InputStream in = source.open(blob);
          OutputStream out = Files.newOutputStream(temporary)) {
        in.transferTo(out);
      }
      publish(temporary, blobs.resolve(blob.digest().hex()));
    } finally {
      Files.deleteIfExists(temporary);
    }
  }

  /**
   * Adds an image with one layer to those that the tag names for other platforms.
   *
   * @return the index that the tag names now
   */
  public Descriptor append(String tag, Platform platform, Layer.Content content)
      throws IOException {
    NewImage image = addUntagged(platform, content);
    var layout = new OciLayout(directory);
    byte[] index = PlatformIndex.append(layout.tagged(tag), image, layout::document);
    Descriptor all = addDocument(MediaTypes.OCI_INDEX, index);
    tag(tag, all);
    return all;
  }

  private NewImage addUntagged(Platform platform, Layer.Content content) throws IOException {
    var image = new NewImage(platform, addLayer(content));
    addDocument(MediaTypes.OCI_CONFIG, image.config());
    addDocument(MediaTypes.OCI_MANIFEST, image.manifest());
    return image;
  }

  private Layer addLayer(Layer.Content content) throws IOException {
    Path temporary = Files.createTempFile(blobs, ".layer-", ".tmp");
    try {
      Layer layer;
      try (OutputStream out = Files.newOutputStream(temporary)) {
        layer = content.writeTo(out);
      }
      publish(temporary, blobs.resolve(layer.descriptor().digest().hex()));
      return layer;
    } finally {
      Files.deleteIfExists(temporary);
    }
  }

  private static Layer writeLayer(String name, Path file, OutputStream out) throws IOException {
    MessageDigest plain = Digest.sha256();
    var packed = new Packed(out);
    try (InputStream content = Files.newInputStream(file);
        var gzip = new GZIPOutputStream(packed, 64 << 10);
        var tar = new TarWriter(new DigestOutputStream(gzip, plain), QEMU, QEMU)) {
      tar.directory("disk", 0755);
      tar.file("disk/" + name, 0444, Files.size(file), content);
    }
    Digest digest = Digest.finish(packed.getMessageDigest());
    return new Layer(
        new Descriptor(MediaTypes.OCI_LAYER_GZIP, digest, packed.size), Digest.finish(plain));
  }

  /** Hashes and counts; leaves the stream below open. */
  private static final class Packed extends DigestOutputStream {
    private long size;

    Packed(OutputStream out) {
      super(out, Digest.sha256());
    }

    @Override
    public void write(int b) throws IOException {
      super.write(b);
      size++;
    }

    @Override
    public void write(byte[] bytes, int start, int length) throws IOException {
      super.write(bytes, start, length);
      size += length;
    }

    @Override
    public void close() throws IOException {
      flush();
    }
  }

  private static ObjectNode emptyIndex() {
    ObjectNode index = Json.MAPPER.createObjectNode().put("schemaVersion", 2);
    index.put("mediaType", MediaTypes.OCI_INDEX);
    index.putArray("manifests");
    return index;
  }

  /** Works on the tree, not on {@link Index}: what others wrote into it stays. */
  private void tag(String tag, Descriptor manifest) throws IOException {
    Path file = directory.resolve("index.json");
    ObjectNode index;
    try (InputStream in = Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS)) {
      index = Json.object(in.readNBytes(Json.MAX_BYTES + 1), "index.json");
    }
    ArrayNode kept = Json.MAPPER.createArrayNode();
    for (JsonNode entry : Json.requireArray(index, "manifests", "index.json")) {
      if (!entry.path("annotations").path(Descriptor.REF_NAME).asText().equals(tag)) {
        kept.add(entry);
      }
    }
    ObjectNode entry = manifest.toJson();
    entry.putObject("annotations").put(Descriptor.REF_NAME, tag);
    index.set("manifests", kept.add(entry));
    publish(file, NewImage.bytes(index));
  }

  private Descriptor addDocument(String mediaType, byte[] bytes) throws IOException {
    Digest digest = Digest.of(bytes);
    publish(blobs.resolve(digest.hex()), bytes);
    return new Descriptor(mediaType, digest, bytes.length);
  }

  private static void publish(Path target, byte[] bytes) throws IOException {
    Path temporary = Files.createTempFile(target.getParent(), ".json-", ".tmp");
    try {
      Files.write(temporary, bytes);
      publish(temporary, target);
    } finally {
      Files.deleteIfExists(temporary);
    }
  }

  /** Synced before the rename, so that a name never leads to bytes that a power cut took away. */
  private static void publish(Path temporary, Path target) throws IOException {
    Files.setPosixFilePermissions(temporary, PosixFilePermissions.fromString("rw-r--r--"));
    try (var channel = FileChannel.open(temporary, StandardOpenOption.WRITE)) {
      channel.force(true);
    }
    Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE);
    try (var parent = FileChannel.open(target.getParent(), StandardOpenOption.READ)) {
      parent.force(true);
    }
  }
}

package dev.platter.node.flexvolume;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Finds the FlexVolumes of a pod where kubelet had them mounted. Nothing below kubelet's directory
 * is followed: each directory is opened from the one above it, so that what was looked at is what
 * is read.
 *
 * <p>A volume whose directory has no file is not mounted (yet, or any more) and is left out. Errors
 * name the file and never show what is in it.
 */
public final class FlexVolumes {
  private static final Path FILE = Path.of("virtlet-flexvolume.json");
  private static final int MOST_BYTES = 1 << 20;
  private static final JsonFactory JSON =
      JsonFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();

  private final String pod;
  private final TreeMap<String, FlexVolume> found = new TreeMap<>();

  private FlexVolumes(String pod) {
    this.pod = pod;
  }

  /**
   * @param root kubelet's root directory, usually {@code /var/lib/kubelet}
   * @param uid the pod's
   * @return by name, in the order of names
   */
  public static SortedMap<String, FlexVolume> of(Path root, String uid) throws IOException {
    if (!uid.matches("[0-9A-Za-z-]{1,64}")) {
      throw new IllegalArgumentException("not the UID of a pod: " + uid);
    }
    var volumes = new FlexVolumes(uid);
    for (var driver : FlexVolumeDriver.NAMES) {
      try (var top = Files.newDirectoryStream(root)) {
        volumes.descend(secure(top), root, Path.of("pods", uid, "volumes", driver));
      } catch (NoSuchFileException e) {
        // The pod has no volume of this driver, or kubelet knows no such pod.
      }
    }
    return Collections.unmodifiableSortedMap(volumes.found);
  }

  private static SecureDirectoryStream<Path> secure(DirectoryStream<Path> stream) {
    if (stream instanceof SecureDirectoryStream<Path> secure) {
      return secure;
    }
    throw new IllegalStateException("this system cannot open a file from an open directory");
  }

  private void descend(SecureDirectoryStream<Path> from, Path at, Path way) throws IOException {
    var name = way.getName(0);
    var here = at.resolve(name);
    if (!attributes(from, name).isDirectory()) {
      throw refused(here, "is not a directory");
    }
    try (var stream = from.newDirectoryStream(name, LinkOption.NOFOLLOW_LINKS)) {
      if (way.getNameCount() > 1) {
        descend(stream, here, way.subpath(1, way.getNameCount()));
        return;
      }
      for (var entry : stream) {
        try {
          volume(stream, here, Path.of(String.valueOf(entry.getFileName())));
        } catch (NoSuchFileException e) {
          // kubelet has taken this one away; the others are still there.
        }
      }
    }
  }

  private void volume(SecureDirectoryStream<Path> driver, Path at, Path name) throws IOException {
    var file = at.resolve(name).resolve(FILE);
    if (!attributes(driver, name).isDirectory()) {
      throw refused(at.resolve(name), "is not a directory");
    }
    try (var directory = driver.newDirectoryStream(name, LinkOption.NOFOLLOW_LINKS)) {
      var bytes = bytes(directory, file);
      if (bytes != null
          && found.put(name.toString(), parse(file, name.toString(), bytes)) != null) {
        throw refused(file, "describes a volume whose name another FlexVolume of the pod has");
      }
    }
  }

  private static BasicFileAttributes attributes(SecureDirectoryStream<Path> in, Path name)
      throws IOException {
    return in.getFileAttributeView(name, BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
        .readAttributes();
  }

  private static byte @Nullable [] bytes(SecureDirectoryStream<Path> in, Path file)
      throws IOException {
    try {
      // Before it is opened: a FIFO would wait for a writer.
      if (!attributes(in, FILE).isRegularFile()) {
        throw refused(file, "is not a regular file");
      }
      Set<OpenOption> options = Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);
      try (var channel = in.newByteChannel(FILE, options)) {
        var bytes = Channels.newInputStream(channel).readNBytes(MOST_BYTES + 1);
        if (bytes.length > MOST_BYTES) {
          throw refused(file, "is larger than 1 MiB");
        }
        return bytes;
      }
    } catch (NoSuchFileException e) {
      return null;
    }
  }

  private FlexVolume parse(Path file, String name, byte[] bytes) throws IOException {
    try (var parser = JSON.createParser(bytes)) {
      var volume = new FlexVolume(name, texts(parser));
      var claimed = volume.kubelet("pod.uid");
      if (claimed.isPresent() && !claimed.get().equals(pod)) {
        throw refused(file, "says that it belongs to another pod");
      }
      return volume;
    } catch (JsonProcessingException e) {
      // Without the cause: what it says has parts of the text in it.
      var where = e.getLocation();
      throw refused(
          file,
          "is not JSON with every key once"
              + (where == null
                  ? ""
                  : " (line " + where.getLineNr() + ", column " + where.getColumnNr() + ")"));
    } catch (IllegalArgumentException e) {
      throw refused(file, "cannot be used: " + e.getMessage());
    }
  }

  private static Map<String, String> texts(JsonParser parser) throws IOException {
    if (parser.nextToken() != JsonToken.START_OBJECT) {
      throw new IllegalArgumentException("it is not a JSON object");
    }
    var texts = new LinkedHashMap<String, String>();
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      var key = parser.currentName();
      if (parser.nextToken() != JsonToken.VALUE_STRING) {
        throw new IllegalArgumentException("the value of " + key + " is not text");
      }
      texts.put(key, parser.getText());
    }
    if (parser.nextToken() != null) {
      throw new IllegalArgumentException("something follows the JSON object");
    }
    return texts;
  }

  private static PlatterException refused(Path file, String why) {
    return PlatterException.of(
        Code.REFUSED,
        file + " " + why,
        "Only Platter's FlexVolume driver writes there; delete the pod and see who else does.");
  }
}

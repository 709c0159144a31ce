package dev.platter.node;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.oci.OciLayout;
import dev.platter.model.ImageLogins;
import dev.platter.model.ImageMap;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.image.ImageSources;
import dev.platter.node.image.WebImage;
import dev.platter.registry.Credentials;
import dev.platter.registry.Registries;
import dev.platter.registry.RegistrySettings;
import dev.platter.registry.WebFiles;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Where images come from: what the machine's image map says of their names, else a registry or a
 * layout on this machine. The map is the owner's, so only it leads to addresses on the web.
 *
 * <p>A name is looked up as it is, then without its tag. A digest behind it is not part of it: what
 * the name leads to must have it.
 */
final class MappedSources implements ImageSources {
  private final NodeConfig config;
  private final Map<String, String> environment;
  private final UnaryOperator<RegistrySettings> rules;
  private @Nullable ImageMap map;
  private @Nullable Registries registries;
  private @Nullable WebFiles web;

  /**
   * @param environment says where logins and settings of registries are
   * @param rules what holds beside those settings
   */
  MappedSources(
      NodeConfig config, Map<String, String> environment, UnaryOperator<RegistrySettings> rules) {
    this.config = config;
    this.environment = environment;
    this.rules = rules;
  }

  static boolean isUrl(String name) {
    return name.startsWith("http://") || name.startsWith("https://");
  }

  @Override
  public Located find(String reference) throws IOException {
    return find(reference, ImageLogins.NONE);
  }

  @Override
  public Located find(String reference, ImageLogins logins) throws IOException {
    if (isUrl(reference)) {
      throw PlatterException.of(
          Code.INVALID,
          "'" + reference + "' is an address, not the name of an image",
          "The machine's image map can give it a name: see --image-map.");
    }
    var at = reference.lastIndexOf('@');
    var name = at < 0 ? reference : reference.substring(0, at);
    var target = lookUp(name);
    if (target.isEmpty()) {
      return at(reference, logins);
    }
    var digest = at < 0 ? Optional.<Digest>empty() : Optional.of(digest(reference, at));
    var place = target.get().replaceFirst("^docker://", "");
    if (isUrl(place)) {
      var url = url(name, place);
      return new Located(WebImage.at(config.layout(), url, web(), digest), "", url);
    }
    return digest.isEmpty() ? at(place, logins) : pinned(place, digest.get(), logins);
  }

  private Optional<String> lookUp(String name) throws IOException {
    if (name.startsWith("oci:")) {
      return Optional.empty();
    }
    var colon = name.lastIndexOf(':');
    return colon <= name.lastIndexOf('/')
        ? map().find(name)
        : map().find(name, name.substring(0, colon));
  }

  private static Digest digest(String reference, int at) {
    try {
      return Digest.parse(reference.substring(at + 1));
    } catch (BadImageException e) {
      throw PlatterException.of(
          Code.INVALID,
          "'" + reference + "' is not an image reference: " + e.getMessage(),
          "Write [HOST/]NAME[:TAG][@DIGEST].",
          e);
    }
  }

  /** A part of it may come from the image's name. */
  private static String url(String name, String url) {
    try {
      return new URI(url).toASCIIString();
    } catch (URISyntaxException e) {
      throw PlatterException.of(
          Code.INVALID,
          "the image map makes no address of the name '" + name + "': " + e.getReason(),
          "Correct the name, or the image map.",
          e);
    }
  }

  private Located pinned(String place, Digest digest, ImageLogins logins) throws IOException {
    if (place.startsWith("oci:")) {
      var layout = at(place);
      return new Located(layout.source(), digest.toString(), layout.name());
    }
    var at = place.indexOf('@');
    if (at >= 0 && !place.substring(at + 1).equals(digest.toString())) {
      throw PlatterException.of(
          Code.INVALID,
          "the image should have the digest %s, but the image map says %s".formatted(digest, place),
          "Remove the digest from one of them.");
    }
    return at(at >= 0 ? place : place + "@" + digest, logins);
  }

  @Override
  public Located at(String name) throws IOException {
    return at(name, ImageLogins.NONE);
  }

  @Override
  public Located at(String name, ImageLogins logins) throws IOException {
    if (isUrl(name)) {
      return new Located(WebImage.here(config.layout(), name), "", name);
    }
    return switch (ImageName.parse(name, config.registry())) {
      case ImageName.InLayout image ->
          new Located(new OciLayout(image.directory()), image.tagOrDigest(), image.toString());
      case ImageName.InRegistry image ->
          new Located(
              registries().with(logins.documents()).client(image.reference()),
              image.reference().tagOrDigest(),
              image.reference().toString());
    };
  }

  /** Read when the first image is looked for, as what follows. */
  private synchronized ImageMap map() throws IOException {
    if (map == null) {
      map = NodeFiles.imageMap(config.imageMaps());
    }
    return map;
  }

  /** One for all images, since limits on connections are its. */
  private synchronized Registries registries() throws IOException {
    if (registries == null) {
      registries = new Registries(settings(), Credentials.fromEnvironment(environment));
    }
    return registries;
  }

  private synchronized WebFiles web() throws IOException {
    if (web == null) {
      web = new WebFiles(settings());
    }
    return web;
  }

  private RegistrySettings settings() throws IOException {
    return rules.apply(RegistrySettings.fromEnvironment(environment));
  }
}

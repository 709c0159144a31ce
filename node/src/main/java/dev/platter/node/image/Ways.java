package dev.platter.node.image;

import dev.platter.image.BadImageException;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Platform;
import dev.platter.image.oci.Resolved;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.registry.RegistryClient;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The blobs of an image that several VMs may use, each of which has a name and logins for it. One
 * way is used while it works. When it does not, because a login was changed or its VM is gone, the
 * VMs that use the image now are asked for theirs: so nothing is kept that somebody took back, and
 * a daemon that was started anew needs nobody to tell it a login.
 *
 * <p>Those of other places are not asked. What they send would be checked like everything else; but
 * a login is not used to fetch what was begun from elsewhere, for people who could not log in.
 */
final class Ways implements BlobSource {
  private final ImageSources sources;
  private final Users users;
  private final String origin;
  private volatile Taken current;

  /** Those who use the image. */
  interface Users {
    List<Way> ways();

    /** Whether it was had from there before. */
    boolean isPlace(String place) throws IOException;
  }

  private record Taken(ImageSources.Located located, ImageLogins logins) {
    Way way() {
      return new Way(located.name(), logins);
    }
  }

  private interface Work<T> {
    T on(BlobSource source) throws IOException;
  }

  /**
   * @param name of the image, as {@link ImageSources#at} takes it
   */
  Ways(ImageSources sources, String name, ImageLogins logins, Users users) throws IOException {
    this.sources = sources;
    this.users = users;
    this.current = new Taken(sources.at(name, logins), logins);
    this.origin = current.located.place();
  }

  /** Where it leads now. */
  String place() {
    return current.located.place();
  }

  /** Whether a login of its user's own was needed so far. */
  boolean loggedIn() {
    return !current.logins.isEmpty() && registry().filter(RegistryClient::loggedIn).isPresent();
  }

  Optional<RegistryClient> registry() {
    return current.located.source() instanceof RegistryClient registry
        ? Optional.of(registry)
        : Optional.empty();
  }

  private <T> T attempt(Work<T> work) throws IOException {
    var first = current;
    try {
      return work.on(first.located.source());
    } catch (BadImageException e) {
      throw e;
    } catch (IOException e) {
      return attemptOthers(work, first, e);
    }
  }

  private <T> T attemptOthers(Work<T> work, Taken first, IOException why) throws IOException {
    var tried = new HashSet<>(Set.of(first.way()));
    var last = why;
    for (var way : users.ways()) {
      try {
        var next = new Taken(sources.find(way.reference(), way.logins()), way.logins());
        if (isAllowed(next.located.place()) && tried.add(next.way())) {
          var found = work.on(next.located.source());
          current = next;
          return found;
        }
      } catch (BadImageException e) {
        throw e;
      } catch (IOException e) {
        last = e;
      } catch (PlatterException e) {
        // The name means something to whoever wrote it, and nothing here.
      }
    }
    throw last;
  }

  private boolean isAllowed(String place) throws IOException {
    return place.equals(origin) || users.isPlace(place);
  }

  @Override
  public Resolved resolve(String tagOrDigest, Platform wanted) throws IOException {
    return attempt(source -> source.resolve(tagOrDigest, wanted));
  }

  @Override
  public InputStream open(Descriptor blob) throws IOException {
    return attempt(source -> source.open(blob));
  }

  @Override
  public InputStream open(Descriptor blob, long from, long length) throws IOException {
    return attempt(source -> source.open(blob, from, length));
  }
}

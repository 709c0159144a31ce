package dev.platter.registry;

import static dev.platter.registry.RegistryException.Kind.UNAVAILABLE;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Where one repository may be read: its mirrors, in their order, and the registry where it belongs.
 * Mirrors that are away are passed over, unless there is no other place left.
 */
final class Places {
  private final List<Endpoint> mirrors;
  private final Endpoint origin;
  private final Absences absences;

  /**
   * @param endpoints the last one is where the repository belongs
   */
  Places(List<Endpoint> endpoints, Absences absences) {
    this.mirrors = List.copyOf(endpoints.subList(0, endpoints.size() - 1));
    this.origin = endpoints.getLast();
    this.absences = absences;
  }

  /**
   * What is to be read.
   *
   * @param path relative to {@code /v2/<repository>/}
   * @param range as the header says it; null for all
   * @param what it is, for messages
   */
  record Wanted(String path, String accept, @Nullable String range, String what) {
    HttpResponse<InputStream> from(Endpoint place, boolean once) throws IOException {
      Call call = Call.get(place.uri(path), accept);
      call = range == null ? call : call.with("Range", range);
      return place.send(once ? call.onlyOnce() : call);
    }

    boolean isGood(HttpResponse<?> response) {
      return response.statusCode() == 200 || (response.statusCode() == 206 && range != null);
    }
  }

  Endpoint origin() {
    return origin;
  }

  boolean loggedIn() {
    return origin.loggedIn() || mirrors.stream().anyMatch(Endpoint::loggedIn);
  }

  /** Opens one more connection to the place that is going to be asked first. */
  void connect() throws IOException {
    for (Endpoint mirror : mirrors) {
      if (!absences.isAbsent(mirror.image().host())) {
        mirror.connect();
        return;
      }
    }
    origin.connect();
  }

  /**
   * 200 (or 206 if a range was asked for) of the first place that has it, or why it is not where it
   * belongs.
   */
  HttpResponse<InputStream> send(Wanted wanted) throws IOException {
    List<Endpoint> passedOver = new ArrayList<>();
    for (Endpoint mirror : mirrors) {
      Absences.Asking asking = absences.asking(mirror.image().host());
      if (asking == Absences.Asking.NOT) {
        passedOver.add(mirror);
        continue;
      }
      var found = ask(mirror, wanted, asking == Absences.Asking.ONCE);
      if (found.isPresent()) {
        return found.get();
      }
    }
    try {
      HttpResponse<InputStream> response = wanted.from(origin, false);
      if (wanted.isGood(response)) {
        return response;
      }
      throw origin.failure(response, wanted.what());
    } catch (RegistryException e) {
      for (Endpoint mirror : passedOver) {
        var found = ask(mirror, wanted, true);
        if (found.isPresent()) {
          return found.get();
        }
      }
      throw e;
    }
  }

  private Optional<HttpResponse<InputStream>> ask(Endpoint mirror, Wanted wanted, boolean once)
      throws IOException {
    String host = mirror.image().host();
    try {
      HttpResponse<InputStream> response = wanted.from(mirror, once);
      absences.answered(host);
      if (wanted.isGood(response)) {
        return Optional.of(response);
      }
      response.body().close();
    } catch (InterruptedIOException e) {
      throw e;
    } catch (IOException e) { // Also of a credential helper, which may know better of the origin.
      if (e instanceof RegistryException failure && failure.kind() == UNAVAILABLE) {
        absences.failed(host);
      }
    }
    return Optional.empty();
  }
}

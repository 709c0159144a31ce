package dev.platter.registry;

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
 * Mirrors that are away are passed over, unless there is no other place left. So are those that
 * fail for this repository, as one does that fetches it from where it cannot: they may have others.
 */
final class Places {
  private final List<Endpoint> mirrors;
  private final Endpoint origin;
  private final Absences away;
  private final Absences failing;

  /**
   * @param endpoints the last one is where the repository belongs
   * @param away what is known of mirrors, whatever is wanted of them
   * @param failing the same for this repository
   */
  Places(List<Endpoint> endpoints, Absences away, Absences failing) {
    this.mirrors = List.copyOf(endpoints.subList(0, endpoints.size() - 1));
    this.origin = endpoints.getLast();
    this.away = away;
    this.failing = failing;
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
      String host = mirror.image().host();
      if (!away.isAbsent(host) && !failing.isAbsent(host)) {
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
      Absences.Asking asking = asking(mirror.image().host());
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

  private Absences.Asking asking(String host) {
    Absences.Asking here = failing.asking(host);
    if (here == Absences.Asking.NOT) {
      return here;
    }
    Absences.Asking anything = away.asking(host);
    return anything == Absences.Asking.AS_USUAL ? here : anything;
  }

  private Optional<HttpResponse<InputStream>> ask(Endpoint mirror, Wanted wanted, boolean once)
      throws IOException {
    String host = mirror.image().host();
    try {
      HttpResponse<InputStream> response = wanted.from(mirror, once);
      answered(host);
      if (wanted.isGood(response)) {
        return Optional.of(response);
      }
      response.body().close();
    } catch (InterruptedIOException e) {
      throw e;
    } catch (RegistryException e) {
      switch (e.kind()) {
        case UNAVAILABLE -> (e.getCause() == null ? failing : away).failed(host);
        case UNAUTHORIZED -> answered(host);
        case NOT_FOUND, PROTOCOL -> {} // It says nothing of what else it is asked for.
      }
    } catch (IOException e) {
      // Of a credential helper, which may know better of the origin.
    }
    return Optional.empty();
  }

  private void answered(String host) {
    away.answered(host);
    failing.answered(host);
  }
}

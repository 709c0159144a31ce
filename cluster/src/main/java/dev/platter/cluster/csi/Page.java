package dev.platter.cluster.csi;

import io.grpc.Status;
import java.util.List;
import java.util.function.Function;

/**
 * A part of a list that is ordered by id. Where the next part begins is said by an id, so that what
 * comes and goes meanwhile moves nothing else.
 *
 * @param next empty at the end
 */
record Page<T>(List<T> entries, String next) {
  static <T> Page<T> of(List<T> all, Function<T, String> id, String token, int most) {
    if (most < 0) {
      throw Status.INVALID_ARGUMENT.withDescription("max_entries is negative").asRuntimeException();
    }
    if (!token.isEmpty() && !token.matches("(vol|snap)-[0-9a-f]{32}")) {
      throw Status.ABORTED
          .withDescription("starting_token is none that was given: begin anew")
          .asRuntimeException();
    }
    var rest = all.stream().filter(one -> id.apply(one).compareTo(token) >= 0).toList();
    return most == 0 || rest.size() <= most
        ? new Page<>(rest, "")
        : new Page<>(rest.subList(0, most), id.apply(rest.get(most)));
  }
}

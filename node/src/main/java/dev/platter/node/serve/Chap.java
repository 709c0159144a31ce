package dev.platter.node.serve;

import dev.platter.block.iscsi.ChapCredentials;
import dev.platter.block.iscsi.IscsiTarget;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Who may log in, and how we prove ourselves. It comes through the environment, where other users
 * do not see it; what is wrong with it is said by the names of variables, never by their values.
 *
 * @param ourselves null if initiators ask for no proof
 */
public record Chap(ChapCredentials initiator, @Nullable ChapCredentials ourselves) {
  public static final String USER = "PLATTER_CHAP_USER";
  public static final String SECRET = "PLATTER_CHAP_SECRET";
  public static final String MUTUAL_USER = "PLATTER_CHAP_MUTUAL_USER";
  public static final String MUTUAL_SECRET = "PLATTER_CHAP_MUTUAL_SECRET";

  /** RFC 7143 wants 96 bits; whoever has seen one login could guess at what is shorter. */
  private static final int SHORTEST = 12;

  public static Optional<Chap> of(Map<String, String> environment) {
    var initiator = pair(environment, USER, SECRET);
    var ourselves = pair(environment, MUTUAL_USER, MUTUAL_SECRET);
    if (initiator.isEmpty() && ourselves.isPresent()) {
      throw invalid(MUTUAL_USER + " is set, and " + USER + " is not");
    }
    return initiator.map(credentials -> new Chap(credentials, ourselves.orElse(null)));
  }

  private static Optional<ChapCredentials> pair(
      Map<String, String> environment, String userVariable, String secretVariable) {
    var user = environment.getOrDefault(userVariable, "");
    var secret = environment.getOrDefault(secretVariable, "");
    if (user.isEmpty() && secret.isEmpty()) {
      return Optional.empty();
    }
    if (user.isEmpty() || secret.isEmpty()) {
      throw invalid(
          (user.isEmpty() ? secretVariable : userVariable)
              + " is set, and "
              + (user.isEmpty() ? userVariable : secretVariable)
              + " is not");
    }
    var bytes = secret.getBytes(StandardCharsets.UTF_8);
    if (bytes.length < SHORTEST) {
      throw invalid(secretVariable + " has less than " + SHORTEST + " bytes");
    }
    try {
      return Optional.of(new ChapCredentials(user, bytes));
    } catch (IllegalArgumentException e) {
      throw invalid(userVariable + " and " + secretVariable + ": " + e.getMessage());
    }
  }

  private static PlatterException invalid(String what) {
    return PlatterException.of(
        Code.INVALID,
        what,
        "CHAP needs a user and a secret; mutual CHAP another user and another secret besides.");
  }

  IscsiTarget guard(IscsiTarget target) {
    return ourselves == null
        ? target.withChap(initiator)
        : target.withMutualChap(initiator, ourselves);
  }
}

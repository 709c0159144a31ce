package dev.platter.registry;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ChallengeTest {
  private static List<Challenge> parse(String... headers) {
    return Challenge.parse(List.of(headers));
  }

  @Test
  void dockerHubsChallengeIsRead() {
    assertThat(
            parse(
                "Bearer realm=\"https://auth.docker.io/token\",service=\"registry.docker.io\","
                    + "scope=\"repository:a/b:pull,push\""))
        .containsExactly(
            new Challenge(
                "bearer",
                Map.of(
                    "realm", "https://auth.docker.io/token",
                    "service", "registry.docker.io",
                    "scope", "repository:a/b:pull,push")));
  }

  @Test
  void severalChallengesInOneHeaderOrInManyAreRead() {
    assertThat(parse("Basic realm=x, Bearer realm = \"y\\\"z\"", "NEGOTIATE"))
        .extracting(Challenge::scheme, challenge -> challenge.parameter("realm"))
        .containsExactly(
            org.assertj.core.groups.Tuple.tuple("basic", "x"),
            org.assertj.core.groups.Tuple.tuple("bearer", "y\"z"),
            org.assertj.core.groups.Tuple.tuple("negotiate", ""));
  }

  @Test
  void nonsenseGivesNoChallenge() {
    assertThat(parse("", "realm=x", "=", "\"", ",,,", "x".repeat(9000))).isEmpty();
  }
}

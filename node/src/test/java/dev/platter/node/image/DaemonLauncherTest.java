package dev.platter.node.image;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DaemonLauncherTest {
  @ParameterizedTest
  @CsvSource({
    "DOCKER_CONFIG, true",
    "https_proxy, true",
    "NO_PROXY, true",
    "AWS_PROFILE, true",
    "AWS_WEB_IDENTITY_TOKEN_FILE, true",
    "GOOGLE_APPLICATION_CREDENTIALS, true",
    "MY_AWS_PROFILE, false",
    "LD_PRELOAD, false",
    "JAVA_TOOL_OPTIONS, false",
    "PLATTER_WEB_PASSWORD, false",
  })
  void theDaemonGetsWhatItNeedsToReachRegistries(String variable, boolean needed) {
    var environment = new HashMap<>(Map.of(variable, "v"));
    DaemonLauncher.reduce(environment);
    assertThat(environment.containsKey(variable)).isEqualTo(needed);
  }

  @Test
  void keysOfASessionAreLeftToWhoeverRenewsThem() {
    var own =
        Map.of("AWS_ACCESS_KEY_ID", "k", "AWS_SECRET_ACCESS_KEY", "s", "AWS_REGION", "nowhere");
    var environment = new HashMap<>(own);
    DaemonLauncher.reduce(environment);
    assertThat(environment).isEqualTo(own);
    environment.put("AWS_SESSION_TOKEN", "t");
    DaemonLauncher.reduce(environment);
    assertThat(environment).containsOnlyKeys("AWS_REGION");
  }
}

package dev.platter.node.image;

import static org.assertj.core.api.Assertions.assertThat;

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
    assertThat(DaemonLauncher.isNeeded(variable)).isEqualTo(needed);
  }
}

package dev.platter.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ReferenceTest {
  private static final String DIGEST = "sha256:" + "ab".repeat(32);

  @ParameterizedTest
  @CsvSource({
    "debian, docker.io/library/debian:latest",
    "debian:12, docker.io/library/debian:12",
    "user/vm, docker.io/user/vm:latest",
    "index.docker.io/user/vm, docker.io/user/vm:latest",
    "quay.io/containerdisks/fedora:39, quay.io/containerdisks/fedora:39",
    "localhost/vm, localhost/vm:latest",
    "localhost:5000/a/b/c:v1, localhost:5000/a/b/c:v1",
    "myhost/vm, docker.io/myhost/vm:latest",
    "myhost:80/vm, myhost:80/vm:latest",
    "MyHost/vm, MyHost/vm:latest",
    "'[::1]:5000/vm', '[::1]:5000/vm:latest'",
    "a--b/c__d.e, docker.io/a--b/c__d.e:latest",
    "r.io/vm@DIGEST, r.io/vm@DIGEST",
    "r.io/vm:t@DIGEST, r.io/vm:t@DIGEST",
  })
  void namesAreReadAsDockerReadsThem(String text, String full) {
    assertThat(Reference.parse(text.replace("DIGEST", DIGEST)))
        .hasToString(full.replace("DIGEST", DIGEST));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "Debian",
        "a/../b",
        "a//b",
        "/a",
        "a/",
        "-a",
        "a___b",
        "r.io/a:",
        "r.io/a:b:c",
        "r.io/a:.x",
        "r.io:99999/a",
        "r.io:0/a",
        "http://r.io/a",
        "r_.io/a",
        "a@sha256:12",
        "a@md5:00",
        "user:pw@r.io/a",
        "a b",
        "a?b",
        "r.io/a\n"
      })
  void whatIsNoReferenceIsRefused(String text) {
    assertThatThrownBy(() -> Reference.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("is not an image reference");
  }

  @ParameterizedTest
  @CsvSource({
    "localhost:5000/a, true",
    "127.0.0.1:5000/a, true",
    "127.9.9.9/a, true",
    "'[::1]/a', true",
    "localhost.example.com/a, false",
    "127.0.0.1.example.com/a, false",
    "10.0.0.1/a, false",
    "debian, false",
  })
  void onlyThisMachineIsLoopback(String text, boolean loopback) {
    assertThat(Reference.parse(text).isLoopback()).isEqualTo(loopback);
  }

  @ParameterizedTest
  @CsvSource({"a:b, b", "a, latest", "a:b@DIGEST, DIGEST"})
  void aDigestSaysMoreThanATag(String text, String wanted) {
    assertThat(Reference.parse(text.replace("DIGEST", DIGEST)).tagOrDigest())
        .isEqualTo(wanted.replace("DIGEST", DIGEST));
  }
}

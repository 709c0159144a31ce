package dev.platter.node.container;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.model.ClaimSource;
import dev.platter.model.Endpoint;
import dev.platter.model.IscsiSource;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Source;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The answer of a container is nobody's promise. */
class VolumeAnswerTest {
  private static Source read(String answer) {
    return VolumeService.source(answer.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void aClaimOrAnIscsiTargetIsTaken() {
    assertThat(read("pvc:\n  claimname: some-pvc-name\n"))
        .isEqualTo(new ClaimSource("some-pvc-name"));
    assertThat(
            read(
                """
                iscsi:
                  host:
                    name: iscsi-demo-target
                    port: "3260"
                  portal: iqn.2017-01.io.kubevirt:sn.42
                lun: 2
                """))
        .isEqualTo(
            new IscsiSource(
                new Endpoint("iscsi-demo-target", 3260), "iqn.2017-01.io.kubevirt:sn.42", 2, null));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "---\n---\n",
        "ok",
        "- 1",
        "pvc: [",
        "pvc: {claimname: ../../x}",
        "pvc: {claimname: a}\niscsi: {host: b, portal: iqn.c}",
        "pvc: {claimname: a, extra: b}",
        "iscsi: {host: b, portal: c}",
        "file: /etc/shadow",
        "image: registry.example/x",
        "blank: {}",
        "container: {image: again}",
        "&a {pvc: *a}",
        "&a [*a, *a, *a]",
        "pvc: {claimname: \"\u001b[31m\"}",
        "\u0000",
        "<html>"
      })
  void anythingElseIsRefused(String answer) {
    var failure = catchThrowableOfType(PlatterException.class, () -> read(answer));
    assertThat(failure.code()).isEqualTo(Code.REFUSED);
    assertThat(failure).hasMessageContaining("is not the source of a disk");
    assertThat(failure.getMessage() + failure.details()).doesNotContain("\u001b", "\u0000");
  }

  @Test
  void deepNestingIsRefusedWithoutRunningOutOfStack() {
    var failure = catchThrowableOfType(PlatterException.class, () -> read("[".repeat(60_000)));
    assertThat(failure.code()).isEqualTo(Code.REFUSED);
  }
}

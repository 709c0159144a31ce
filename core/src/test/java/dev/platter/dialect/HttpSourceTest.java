package dev.platter.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.model.Endpoint;
import dev.platter.model.HttpSource;
import dev.platter.model.PlatterException;
import dev.platter.model.SecretRef;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HttpSourceTest {
  private static String vm(String source) {
    return "- {name: a, access-mode: read-shared, source: {https: " + source + "}}\n";
  }

  @Test
  void aCaAndHeadersComeFromSecretsOrFiles() {
    var vm =
        Manifests.objects(
                "vm.yaml",
                vm(
                    "{url: 'https://example.com:8443/d.raw', ca: {file: /etc/ca.pem}, headers:"
                        + " [{name: Authorization, secret: {name: web}},"
                        + " {name: X-Key, secret: {name: web, key: k}}]}"))
            .vms()
            .getFirst();
    assertThat(vm.disks().getFirst().source())
        .isEqualTo(
            new HttpSource(
                true,
                new Endpoint("example.com", 8443),
                "d.raw",
                SecretRef.ofFile("/etc/ca.pem"),
                List.of(
                    new HttpSource.Header(
                        "Authorization", SecretRef.ofObject("default", "web", "value")),
                    new HttpSource.Header("X-Key", SecretRef.ofObject("default", "web", "k")))));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{url: 'http://example.com/d', ca: {file: /a}} | ca: is for https",
        "{url: 'https://example.com/d', ca: MIIBszCCAVmg} | ca: expected a mapping",
        "{url: 'https://example.com/d', headers: [{name: A, secret: hunter2}]} | secret: expected a mapping",
        "{url: 'https://example.com/d', headers: [{name: A, value: hunter2}]} | value: unknown field",
        "{url: 'https://example.com/d', headers: [{name: 'A b', secret: {file: /a}}]} | cannot be used",
        "{url: 'https://example.com/d', headers: [{name: Range, secret: {file: /a}}]} | not for you to send",
        "{url: 'https://example.com/d', headers: [{name: A, secret: {file: /a}}, {name: a, secret: {file: /a}}]} | given twice",
        "{url: 'https://example.com/d', headers: {A: b}} | expected a list"
      })
  void whatCannotBeUsedIsToldWithoutShowingIt(String source, String problem) {
    var error =
        catchThrowableOfType(
            PlatterException.class, () -> Manifests.objects("vm.yaml", vm(source)));
    assertThat(error.details()).anySatisfy(line -> assertThat(line).contains(problem));
    assertThat(error.details()).noneMatch(line -> line.contains("hunter2"));
  }
}

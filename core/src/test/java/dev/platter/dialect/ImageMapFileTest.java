package dev.platter.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.model.ImageMap;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.util.LinkedHashMap;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ImageMapFileTest {
  private static ImageMap read(String... texts) {
    var files = new LinkedHashMap<String, String>();
    for (int i = 0; i < texts.length; i++) {
      files.put(i + ".yaml", texts[i]);
    }
    return ImageMapFile.read(files);
  }

  private static List<String> problems(String... texts) {
    return catchThrowableOfType(PlatterException.class, () -> read(texts)).details();
  }

  @ParameterizedTest
  @CsvSource({
    "fedora, https://example.com/fedora.qcow2",
    "centos/7-1801, https://example.com/7/images/CentOS-7-x86_64-1801.qcow2",
    "dollar/5, 'https://example.com/$5-5a'",
    "hub, registry.example/disks/hub:1",
    "Xcentos/7-1801,",
    "centos/7-1801X,",
    "'centos/7-1801\n',",
    "nothing,"
  })
  void namesAndPatternsOfVirtletsFormatAreFound(String name, String url) {
    var map =
        read(
            """
            translations:
            - name: fedora
              url: https://example.com/fedora.qcow2
            - regexp: 'centos/(\\d+)-(\\d+)'
              url: https://example.com/$1/images/CentOS-${1}-x86_64-$2.qcow2
            - regexp: 'dollar/(\\d)'
              url: https://example.com/$$$1-${1}a
            - name: hub
              url: registry.example/disks/hub:1
            """);
    assertThat(map.find(name).orElse(null)).isEqualTo(url);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "../a",
        "a/../b",
        "a/..",
        ".",
        "a/%2e%2E/b",
        "%2E./b",
        "a%2Fb",
        "..\\a",
        "a?b",
        "a#b",
        "a&b"
      })
  void aNameDoesNotClimbOutOfWhereTheMapPutsIt(String name) {
    var map = read("translations: [{regexp: 'disks/(.+)', url: 'https://example.com/pub/$1'}]");
    assertThat(map.find("disks/a..b/.c")).contains("https://example.com/pub/a..b/.c");
    assertThat(catchThrowableOfType(PlatterException.class, () -> map.find("disks/" + name)).code())
        .isEqualTo(Code.REFUSED);
  }

  @ParameterizedTest
  @CsvSource({
    "x/%2:e%2e/y, https://example.com/pub/$1$2",
    "x/%2:e/y, https://example.com/pub/a%2Fb/$1$2",
    "x/:/y, https://example.com/pub/$1..$2",
    "%2:e/x, https://example.com/../$1$2",
    "%2:F, 'https://example.com/pub/${1}${2}'",
    "x:e/y, https://example.com/pub/$1/%2$2"
  })
  void twoPartsOfANameDoNotClimbTogether(String name, String url) {
    var map = read("translations: [{regexp: 'two/(.*):(.*)', url: '" + url + "'}]");
    assertThat(map.find("two/a:b")).as("the owner's own text").isPresent();
    assertThat(catchThrowableOfType(PlatterException.class, () -> map.find("two/" + name)).code())
        .isEqualTo(Code.REFUSED);
  }

  @ParameterizedTest
  @CsvSource({
    "$1, http://169.254.169.254/x",
    "docker://$1, https://169.254.169.254/x",
    "$1, docker://http://169.254.169.254/x",
    "http$1, ://169.254.169.254/x",
    "'${1}/x', http://169.254.169.254"
  })
  void aNameDoesNotChooseAHostOnTheWeb(String url, String name) {
    var map = read("translations: [{regexp: 'any/(.+)', url: '" + url + "'}]");
    assertThat(map.find("any/other")).isPresent();
    assertThat(catchThrowableOfType(PlatterException.class, () -> map.find("any/" + name)).code())
        .isEqualTo(Code.REFUSED);
  }

  @Test
  void wholeNamesCountBeforePatternsAndThenFilesInTheirOrder() {
    var map =
        read(
            """
            translations:
            - {regexp: 'a.*', url: registry.example/first}
            - {regexp: 'ab.*', url: registry.example/second}
            """,
            "translations: [{name: abc, url: registry.example/exact}, {name: x, url: r.example/1}]",
            "translations: [{name: x, url: r.example/2}, {regexp: b.*, url: r.example/3}]");
    assertThat(map.find("abc")).contains("registry.example/exact");
    assertThat(map.find("abd")).contains("registry.example/first");
    assertThat(map.find("x")).contains("r.example/1");
    assertThat(map.find("bx")).contains("r.example/3");
  }

  @Test
  void aPrefixIsPartOfEveryNameOfItsFile() {
    var map =
        read(
            """
            prefix: corp
            translations:
            - {name: fedora, url: r.example/f}
            - {regexp: 'v(\\d)', url: 'r.example/v:$1'}
            """);
    assertThat(map.find("corp/fedora")).contains("r.example/f");
    assertThat(map.find("corp/v1")).contains("r.example/v:1");
    assertThat(map.find("fedora")).isEmpty();
    assertThat(map.find("v1")).isEmpty();
    assertThat(map.find("corpv1")).isEmpty();
  }

  @Test
  void everyProblemOfEveryFileIsToldWithItsLine() {
    assertThat(
            problems(
                """
                translations:
                - name: a
                - {name: b, regexp: c, url: r.example/x}
                - {regexp: '(', url: r.example/x}
                - {regexp: '(d)', url: 'r.example/$2'}
                - {regexp: '(d)', url: 'r.example/$1x'}
                transports: {}
                """,
                """
                translations:
                - {name: e, url: ftp://example.com/x}
                - {name: f, url: https://user:secret@example.com/x}
                - {name: g, url: https://example.com}
                - {regexp: '(.*)', url: https://$1/x}
                - {name: e2, url: r.example/x}
                - {name: e2, url: r.example/x}
                unknown: 1
                """))
        .satisfiesExactly(
            line -> assertThat(line).startsWith("0.yaml:2: translations[0]: ").contains("'url'"),
            line -> assertThat(line).startsWith("0.yaml:3: ").contains("one of name and regexp"),
            line -> assertThat(line).startsWith("0.yaml:4: ").contains("not a regular expression"),
            line -> assertThat(line).startsWith("0.yaml:5: ").contains("no group 2"),
            line -> assertThat(line).startsWith("0.yaml:6: ").contains("in braces"),
            line -> assertThat(line).startsWith("0.yaml:7: ").contains("certs.d"),
            line -> assertThat(line).startsWith("1.yaml:2: ").contains("expected https://"),
            line ->
                assertThat(line)
                    .startsWith("1.yaml:3: ")
                    .contains("a password")
                    .doesNotContain("secret"),
            line -> assertThat(line).startsWith("1.yaml:4: ").contains("does not name a file"),
            line -> assertThat(line).startsWith("1.yaml:5: ").contains("the host"),
            line -> assertThat(line).startsWith("1.yaml:7: ").contains("given twice"),
            line -> assertThat(line).startsWith("1.yaml:8: ").contains("unknown field"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"(a+)+b", "(a|aa)*b", "(?:a|b|a)*c"})
  void aNameThatMakesAPatternRunForEverIsRefused(String pattern) {
    var map = read("translations: [{regexp: '" + pattern + "', url: r.example/x}]");
    var error = catchThrowableOfType(PlatterException.class, () -> map.find("a".repeat(4096)));
    assertThat(error.code()).isEqualTo(Code.REFUSED);
    assertThat(error).hasMessageContaining("takes too long");
    assertThat(map.find("a".repeat(5000))).as("longer than any name").isEmpty();
  }
}

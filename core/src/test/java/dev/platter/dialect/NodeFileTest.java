package dev.platter.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.model.ByteSize;
import dev.platter.model.PlatterException;
import dev.platter.model.Pool;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NodeFileTest {
  private static final Path USUAL = Path.of("/state/pools/default");

  private static List<Pool> pools(String text) {
    return NodeFile.pools("node.yaml", text, Map.of("default", USUAL), NodeFileTest::directory);
  }

  private static Path directory(String text) {
    if (text.contains("missing")) {
      throw new IllegalArgumentException("there is no directory " + text);
    }
    return Path.of(text.replace("/link/", "/storage/"));
  }

  private static List<String> problems(String... annotations) {
    var text = "annotations:\n  " + String.join("\n  ", annotations) + "\n";
    return catchThrowableOfType(PlatterException.class, () -> pools(text)).details();
  }

  @Test
  void poolsHaveDirectoriesAndLimits() {
    assertThat(
            pools(
                """
                annotations:
                  kubevirt.io/storage.usage-type.slow: /storage/rust
                  kubevirt.io/storage.usage-type.fast: /storage/ssd
                  platter.dev/storage.limit.fast: 100Gi
                  platter.dev/storage.limit.default: 5Gi
                """))
        .containsExactly(
            new Pool("default", USUAL, ByteSize.parse("5Gi")),
            new Pool("fast", Path.of("/storage/ssd"), ByteSize.parse("100Gi")),
            new Pool("slow", Path.of("/storage/rust"), null));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "# nothing\n", "annotations:\n", "annotations: {}\n", "{}"})
  void withoutAnnotationsThereIsTheDefaultPool(String text) {
    assertThat(pools(text)).containsExactly(new Pool("default", USUAL, null));
  }

  @Test
  void theDefaultPoolCanLieElsewhere() {
    assertThat(pools("annotations: {kubevirt.io/storage.usage-type.default: /storage/a}"))
        .containsExactly(new Pool("default", Path.of("/storage/a"), null));
  }

  @Test
  void everythingThatIsWrongIsNamedWithItsLine() {
    assertThat(
            problems(
                "kubevirt.io/storage.usage-type.a: storage/ssd",
                "kubevirt.io/storage.usage-type.b: /missing",
                "kubevirt.io/storage.usage-type.C: /storage/c",
                "kubevirt.io/storage.usage-type.d: [/storage/d]",
                "kubevirt.io/storage.usage-type.e:",
                "platter.dev/storage.limit.f: 1Gi",
                "platter.dev/storage.limit.default: much",
                "kubevirt.io/sotrage.usage-type.fast: /storage/ssd"))
        .hasSize(8)
        .satisfiesExactly(
            one -> assertThat(one).startsWith("node.yaml:2: ").contains("is relative"),
            two -> assertThat(two).startsWith("node.yaml:3: ").contains("no directory /missing"),
            three -> assertThat(three).startsWith("node.yaml:4: ").contains("lower-case"),
            four -> assertThat(four).startsWith("node.yaml:5: ").contains("expected text"),
            five -> assertThat(five).startsWith("node.yaml:6: ").contains("must not be empty"),
            six -> assertThat(six).startsWith("node.yaml:7: ").contains("no usage type 'f'"),
            seven -> assertThat(seven).startsWith("node.yaml:8: ").contains("is not a size"),
            eight ->
                assertThat(eight)
                    .startsWith("node.yaml:9: ")
                    .contains("did you mean 'kubevirt.io/storage.usage-type.fast'?"));
  }

  @ParameterizedTest
  @CsvSource({
    "/storage/a, /storage/a, is /storage/a",
    "/storage/a, /storage/a/b, lies in /storage/a",
    "/storage/a/b, /storage/a, contains /storage/a/b",
    "/storage/a, /link/a, is /storage/a",
  })
  void twoUsageTypesDoNotShareOrNestDirectories(String one, String other, String relation) {
    assertThat(
            problems(
                "kubevirt.io/storage.usage-type.one: " + one,
                "kubevirt.io/storage.usage-type.two: " + other))
        .singleElement()
        .asString()
        .startsWith("node.yaml:3: ")
        .contains(relation + ", the directory of the usage type one");
  }

  @Test
  void directoriesThatOnlyBeginAlikeAreTwo() {
    assertThat(
            pools(
                "annotations: {kubevirt.io/storage.usage-type.a: /storage/a,"
                    + " kubevirt.io/storage.usage-type.b: /storage/ab}"))
        .hasSize(3);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/state/pools/default", "/state", "/state/pools/default/x"})
  void theDefaultPoolIsNotShared(String directory) {
    assertThat(problems("kubevirt.io/storage.usage-type.a: " + directory))
        .singleElement()
        .asString()
        .contains("the directory of the usage type default");
  }

  @Test
  void aLimitOfNothingIsRefused() {
    assertThat(problems("platter.dev/storage.limit.default: 0"))
        .singleElement()
        .asString()
        .contains("nothing fits");
  }

  @Test
  void aUsageTypeIsNoLongerThanAnAnnotationCanName() {
    var longest = "a".repeat(44);
    assertThat(pools("annotations: {kubevirt.io/storage.usage-type." + longest + ": /storage/a}"))
        .hasSize(2);
    assertThat(problems("kubevirt.io/storage.usage-type." + longest + "a: /storage/a"))
        .singleElement()
        .asString()
        .contains("1 to 44");
  }

  @Test
  void otherFieldsAndDocumentsAreRefused() {
    assertThat(
            catchThrowableOfType(PlatterException.class, () -> pools("anotations: {}\n")).details())
        .containsExactly("node.yaml:1: anotations: unknown field; did you mean 'annotations'?");
    assertThat(catchThrowableOfType(PlatterException.class, () -> pools("{}\n---\n{}\n")).details())
        .singleElement()
        .asString()
        .contains("expected one YAML document");
  }
}

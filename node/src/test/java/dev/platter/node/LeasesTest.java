package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.model.Access;
import dev.platter.model.PlatterException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LeasesTest {
  @TempDir Path directory;
  private final Set<String> vms = new HashSet<>(Set.of("default_a", "default_b"));
  private String source = "";

  @BeforeEach
  void makeFile() throws IOException {
    source = "file:" + Files.createFile(directory.resolve("disk.raw"));
  }

  private Leases leases() {
    return new Leases(directory.resolve("leases"), vms::contains);
  }

  @ParameterizedTest
  @CsvSource({
    "WRITE_EXCLUSIVE,WRITE_EXCLUSIVE,false",
    "WRITE_EXCLUSIVE,READ_SHARED,false",
    "READ_SHARED,WRITE_EXCLUSIVE,false",
    "READ_SHARED,READ_SHARED,true",
    "WRITE_SHARED,WRITE_SHARED,true",
    "WRITE_SHARED,READ_SHARED,false",
    "READ_SHARED,WRITE_SHARED,false"
  })
  void whoMayJoinWhom(Access first, Access second, boolean together) throws IOException {
    leases().take("default_a", source, first);
    if (together) {
      leases().take("default_b", source, second);
      assertThat(leases().list().getFirst().holders()).hasSize(2);
    } else {
      assertThatThrownBy(() -> leases().take("default_b", source, second))
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining("in use by the VM default/a");
    }
  }

  @Test
  void theSameFileByAnotherNameIsTheSameSource() throws IOException {
    var link = Files.createSymbolicLink(directory.resolve("link"), Path.of("disk.raw"));
    leases().take("default_a", source, Access.WRITE_EXCLUSIVE);
    assertThatThrownBy(() -> leases().take("default_b", "file:" + link, Access.WRITE_EXCLUSIVE))
        .hasMessageContaining("default/a");
    assertThatThrownBy(
            () ->
                leases()
                    .take("default_b", "file:" + directory + "/./disk.raw", Access.WRITE_EXCLUSIVE))
        .hasMessageContaining("default/a");
  }

  @Test
  void aReleasedLeaseIsFreeEvenIfItsFileIsGone() throws IOException {
    leases().take("default_a", source, Access.WRITE_EXCLUSIVE);
    Files.delete(directory.resolve("disk.raw"));
    leases().release("default_a", source, Access.WRITE_EXCLUSIVE);
    assertThat(leases().list()).isEmpty();
    leases().release("default_a", source, Access.WRITE_EXCLUSIVE);
  }

  @Test
  void theLeaseOfAVmThatIsGoneCountsForNothing() throws IOException {
    leases().take("default_a", source, Access.WRITE_EXCLUSIVE);
    vms.remove("default_a");
    leases().take("default_b", source, Access.WRITE_EXCLUSIVE);
    assertThat(leases().list().getFirst().holders())
        .extracting(Leases.Holder::vm)
        .containsExactly("default_b");
  }
}

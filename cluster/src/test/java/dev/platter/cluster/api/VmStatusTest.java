package dev.platter.cluster.api;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.client.utils.Serialization;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

class VmStatusTest {
  private static final String EVERYTHING =
      """
      {"phase":"Running",\
      "conditions":[{"type":"Ready","status":"True","reason":"Running","message":"The guest runs.",\
      "lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":3}],\
      "nodeName":"node1",\
      "sources":[{"disk":"data","volume":"v","answer":"{}"}],\
      "disks":[{"name":"root","source":"image","digest":"sha256:1","size":4,"chain":["a"],\
      "fetched":1,"total":2,"percent":50}],\
      "observedGeneration":3}""";

  /** Server-side apply refuses an object with one field that the schema does not have. */
  @Test
  void statusIsWrittenWithTheFieldsOfTheSchemaAndNoOthers() {
    var conditions =
        new Conditions(List.of(), 3L, Instant.parse("2026-01-01T00:00:00.9Z"))
            .add(Condition.READY, true, Reason.RUNNING, Reason.RUNNING.sentence())
            .all();
    var disk = new VmStatus.DiskStatus("root", "image", "sha256:1", 4L, List.of("a"), 1L, 2L, 50);
    var source = new VmStatus.SourceStatus("data", "v", "{}", null);
    var status =
        new VmStatus(VmPhase.RUNNING, conditions, "node1", List.of(source), List.of(disk), 3L);
    assertThat(Serialization.asJson(status)).isEqualTo(EVERYTHING);
    assertThat(Serialization.unmarshal(EVERYTHING, VmStatus.class)).isEqualTo(status);
  }

  @Test
  void whatIsEmptyIsLeftOutSoThatItStaysAnothersField() {
    assertThat(Serialization.asJson(VmStatus.NONE)).isEqualTo("{}");
  }

  @Test
  void objectOfALaterVersionIsReadAllTheSame() {
    var later = Serialization.unmarshal("{\"phase\":\"Paused\",\"more\":1}", VmStatus.class);
    assertThat(later).isEqualTo(VmStatus.NONE);
  }

  @Test
  void conditionKeepsItsTimeUntilItsStatusChanges() {
    var first = new Conditions(List.of(), 1L, Instant.EPOCH).add("A", true, Reason.RUNNING, "");
    var later = Instant.EPOCH.plusSeconds(9);
    var same = new Conditions(first.all(), 2L, later).add("A", true, Reason.CHANGED, "").all();
    assertThat(same.getFirst().lastTransitionTime()).isEqualTo("1970-01-01T00:00:00Z");
    var other = new Conditions(first.all(), 2L, later).add("A", false, Reason.CHANGED, "").all();
    assertThat(other.getFirst().lastTransitionTime()).isEqualTo("1970-01-01T00:00:09Z");
  }
}

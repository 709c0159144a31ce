package dev.platter.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Pod;
import org.junit.jupiter.api.Test;

class KubeClientTest {
  private static final String POD =
      """
      {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"b": "c"},
       "managedFields": [{"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": {".": {}}}}]},
       "spec": {"containers": [{"name": "d", "image": "e"}], "newField": {"f": 1}}}
      """;

  @Test
  void whoSetWhichFieldIsNotRead() {
    var json = KubeClient.serialization();
    var pod = json.unmarshal(POD, Pod.class);
    assertThat(pod.getMetadata().getManagedFields()).isEmpty();
    assertThat(pod.getMetadata().getAdditionalProperties()).isEmpty();
    assertThat(pod.getMetadata().getLabels()).containsEntry("b", "c");
    assertThat(json.asJson(pod)).doesNotContain("managedFields").contains("newField");
  }
}

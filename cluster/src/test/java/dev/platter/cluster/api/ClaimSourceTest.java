package dev.platter.cluster.api;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ClaimSourceTest {
  /** As a watch does with what comes. */
  @ParameterizedTest
  @ValueSource(classes = {DiskImport.class, DiskUpload.class, VmImage.class})
  void eachKindIsReadAsItself(Class<? extends HasMetadata> kind) throws Exception {
    var json = new KubernetesSerialization();
    var written = kind.getConstructor().newInstance();
    assertThat((Object) json.convertValue(json.unmarshal(json.asJson(written)), kind))
        .isExactlyInstanceOf(kind);
    assertThat(json.asJson(written))
        .doesNotContain("ours", "pinned", "immediate", "archive", "observed", "version");
  }
}

package dev.platter.cluster.node;

import dev.platter.model.Claim;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.DeviceRecords;
import dev.platter.plan.FillRecord;
import dev.platter.plan.Step;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.util.Map;
import java.util.Optional;

/**
 * An annotation of the claim: whichever node has the claim next finds it, and it goes when the
 * claim goes. It is read from the API server each time: whoever asks holds the claim's Lease, and
 * what was heard before may be older than that.
 */
record ClaimRecords(KubernetesClient client) implements DeviceRecords {
  private static final PatchContext MERGE = PatchContext.of(PatchType.JSON_MERGE);

  @Override
  public Optional<FillRecord> find(String claim, Step.CheckDevice device) {
    if (claim.isEmpty()) {
      return Optional.empty(); // What a claim says of itself was read with it.
    }
    var annotations = existing(claim).getMetadata().getAnnotations();
    return FillRecord.parse(
        annotations == null ? "" : annotations.getOrDefault(Claim.FILL_RECORD, ""));
  }

  /** The UID makes it fail if meanwhile another claim has the name. */
  @Override
  public void put(String claim, Step.CheckDevice device, FillRecord record) {
    var patch =
        Map.of(
            "metadata",
            Map.of(
                "uid",
                existing(claim).getMetadata().getUid(),
                "annotations",
                Map.of(Claim.FILL_RECORD, record.text())));
    resource(claim).patch(MERGE, client.getKubernetesSerialization().asJson(patch));
  }

  private PersistentVolumeClaim existing(String claim) {
    var found = resource(claim).get();
    if (found == null) {
      throw PlatterException.of(
          Code.NOT_FOUND, "there is no PersistentVolumeClaim " + claim, "Was it deleted?");
    }
    return found;
  }

  private Resource<PersistentVolumeClaim> resource(String claim) {
    var slash = claim.indexOf('/');
    return client
        .persistentVolumeClaims()
        .inNamespace(claim.substring(0, slash))
        .withName(claim.substring(slash + 1));
  }
}

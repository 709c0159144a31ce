package dev.platter.cluster.api;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
import io.fabric8.kubernetes.api.model.Namespaced;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Kind;
import io.fabric8.kubernetes.model.annotation.ShortNames;
import io.fabric8.kubernetes.model.annotation.Version;
import org.jspecify.annotations.Nullable;

/**
 * That the disk of a claim is going to be sent to it: a claim that names it in its {@code
 * dataSourceRef} has a pod that takes the disk, and is bound to the volume on which that pod has
 * written it.
 */
// The client library would take what has metadata by an interface for a kind that it has to guess.
@JsonDeserialize(using = JsonDeserializer.None.class)
@Group(Names.GROUP)
@Version(Names.VERSION)
@Kind(DiskUpload.KIND)
@ShortNames("dupload")
public final class DiskUpload extends CustomResource<DiskUpload.Spec, FillStatus>
    implements Namespaced, DiskSource {
  public static final String KIND = "DiskUpload";
  private static final long serialVersionUID = 1L;

  /**
   * @param format what the file is, whatever it looks like
   * @param immediate whether no pod has to want a claim first
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  @JsonInclude(JsonInclude.Include.NON_NULL)
  public record Spec(@Nullable String format, @Nullable Boolean immediate) {}

  @Override
  public FillStatus said() {
    FillStatus status = getStatus();
    return status == null ? FillStatus.NONE : status;
  }

  @Override
  public boolean immediate() {
    Spec spec = getSpec();
    return spec != null && Boolean.TRUE.equals(spec.immediate());
  }

  @Override
  public boolean archive() {
    Spec spec = getSpec();
    return spec != null && ARCHIVE.equals(spec.format());
  }

  @Override
  public void say(FillStatus status) {
    setStatus(status);
  }
}

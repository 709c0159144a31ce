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
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Where the disk of claims comes from: a claim that names it in its {@code dataSourceRef} is bound
 * to a volume on which the disk is. It stays when they are filled, and can fill others.
 */
// The client library would take what has metadata by an interface for a kind that it has to guess.
@JsonDeserialize(using = JsonDeserializer.None.class)
@Group(Names.GROUP)
@Version(Names.VERSION)
@Kind(DiskImport.KIND)
@ShortNames("dimport")
public final class DiskImport extends CustomResource<DiskImport.Spec, FillStatus>
    implements Namespaced, DiskSource {
  public static final String KIND = "DiskImport";
  private static final long serialVersionUID = 1L;

  /** Of the object whose disk this one has; null for one that says itself where its disk is. */
  private transient @Nullable String referredVersion;

  /**
   * @param digest of the file as it comes, packed; of an image, that of its manifest
   * @param format what the file is, whatever it looks like
   * @param immediate whether no pod has to want a claim first
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  @JsonInclude(JsonInclude.Include.NON_NULL)
  public record Spec(
      Source source,
      @Nullable String digest,
      @Nullable String format,
      @Nullable Boolean immediate) {}

  /** One of them. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  @JsonInclude(JsonInclude.Include.NON_NULL)
  public record Source(
      @Nullable Registry registry,
      @Nullable Http http,
      @Nullable S3 s3,
      @Nullable Reference diskImport) {}

  /** Another {@code DiskImport}, whose disk this one has: that of another namespace, as a rule. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public record Reference(String namespace, String name) {
    @Override
    public String toString() {
      return namespace + "/" + name;
    }
  }

  /**
   * @param pullSecret a Secret of type {@code kubernetes.io/dockerconfigjson}
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  @JsonInclude(JsonInclude.Include.NON_NULL)
  public record Registry(String image, @Nullable Named pullSecret, @Nullable Named caConfigMap) {}

  /**
   * @param secretRef a Secret with {@code username} and {@code password}, or {@code authorization}
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  @JsonInclude(JsonInclude.Include.NON_NULL)
  public record Http(String url, @Nullable Named secretRef, @Nullable Named caConfigMap) {}

  /**
   * @param secretRef a Secret with {@code accessKeyId} and {@code secretAccessKey}; null for what
   *     everybody may read
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  @JsonInclude(JsonInclude.Include.NON_NULL)
  public record S3(
      String endpoint,
      String bucket,
      String key,
      @Nullable String region,
      @Nullable Named secretRef,
      @Nullable Named caConfigMap) {}

  /** An object of the same namespace. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public record Named(String name) {}

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
  public boolean observed() {
    return DiskSource.super.observed() && Objects.equals(referredVersion, said().observedSource());
  }

  @Override
  public String version() {
    var own = DiskSource.super.version();
    return referredVersion == null ? own : own + "/" + referredVersion;
  }

  /** The object that it names instead of saying where its disk is; null if it says so. */
  public @Nullable Reference reference() {
    Spec spec = getSpec();
    return spec == null ? null : spec.source().diskImport();
  }

  /** The version of the object whose disk this one has; null if that is its own. */
  public @Nullable String referredVersion() {
    return referredVersion;
  }

  /** Whether only pods of its own namespace can fetch the disk. */
  public boolean needsItsNamespace() {
    var source = getSpec().source();
    var registry = source.registry();
    var http = source.http();
    var s3 = source.s3();
    return (registry != null && (registry.pullSecret() != null || registry.caConfigMap() != null))
        || (http != null && (http.secretRef() != null || http.caConfigMap() != null))
        || (s3 != null && (s3.secretRef() != null || s3.caConfigMap() != null));
  }

  /** This object with the disk of the one that it names: what its claims are filled from. */
  public DiskImport withDiskOf(DiskImport named) {
    var theirs = named.getSpec();
    var digest = getSpec().digest() == null ? theirs.digest() : getSpec().digest();
    var out = new DiskImport();
    out.setMetadata(getMetadata());
    out.setSpec(new Spec(theirs.source(), digest, theirs.format(), getSpec().immediate()));
    out.setStatus(getStatus());
    out.referredVersion = named.version();
    return out;
  }

  /** Whether all claims get the same bytes, so that one can be made from another. */
  public boolean pinned() {
    Spec spec = getSpec();
    if (spec == null) {
      return false;
    }
    var registry = spec.source().registry();
    return spec.digest() != null || (registry != null && registry.image().contains("@sha256:"));
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

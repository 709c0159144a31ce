package dev.platter.cluster.api;

/**
 * Words of KubeVirt's importer (CDI) that its clients look for in a cluster. They are not ours, so
 * we use them only where the operator has said so.
 */
public final class CdiNames {
  public static final String GROUP = "upload.cdi.kubevirt.io";
  public static final String VERSION = "v1beta1";

  /** The one kind of that group, and what it is called in paths. */
  public static final String TOKEN_REQUEST = "UploadTokenRequest";

  public static final String TOKEN_REQUESTS = "uploadtokenrequests";

  /** The group of {@link DataVolume}, of the same version. */
  public static final String DATA_GROUP = "cdi.kubevirt.io";

  /** Annotation of a claim, by a client: the disk is going to be sent. */
  public static final String UPLOAD_TARGET = "cdi.kubevirt.io/storage.upload.target";

  /** Annotation of a claim or a DataVolume, by a client: no pod has to want it first. */
  public static final String IMMEDIATE = "cdi.kubevirt.io/storage.bind.immediate.requested";

  /** Annotation of a claim, by a client: what is going to be sent. */
  public static final String CONTENT_TYPE = "cdi.kubevirt.io/storage.contentType";

  /** The content type of what is not a disk. */
  public static final String ARCHIVE = "archive";

  /** Annotations of a claim, for clients: how the pod is that takes the disk. */
  public static final String POD_PHASE = "cdi.kubevirt.io/storage.pod.phase";

  public static final String POD_READY = "cdi.kubevirt.io/storage.pod.ready";

  /**
   * Annotation of a DataVolume: where it is {@code true}, clients look for the state of an upload
   * at the claim that the other annotation names, which is one of the DataVolume's claim.
   */
  public static final String USE_POPULATOR = "cdi.kubevirt.io/storage.usePopulator";

  public static final String POPULATED_CLAIM = "cdi.kubevirt.io/storage.populator.pvcPrime";

  private CdiNames() {}
}

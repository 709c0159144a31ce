package dev.platter.image.oci;

import java.util.Set;

/** The media types we know, OCI's and Docker's for the same thing. */
public final class MediaTypes {
  public static final String OCI_INDEX = "application/vnd.oci.image.index.v1+json";
  public static final String OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json";
  public static final String DOCKER_LIST =
      "application/vnd.docker.distribution.manifest.list.v2+json";
  public static final String DOCKER_MANIFEST =
      "application/vnd.docker.distribution.manifest.v2+json";

  public static final String OCI_CONFIG = "application/vnd.oci.image.config.v1+json";
  public static final String DOCKER_CONFIG = "application/vnd.docker.container.image.v1+json";
  public static final String OCI_LAYER = "application/vnd.oci.image.layer.v1.tar";
  public static final String OCI_LAYER_GZIP = OCI_LAYER + "+gzip";
  static final String DOCKER_LAYER_GZIP = "application/vnd.docker.image.rootfs.diff.tar.gzip";

  static final Set<String> INDEXES = Set.of(OCI_INDEX, DOCKER_LIST);
  static final Set<String> MANIFESTS = Set.of(OCI_MANIFEST, DOCKER_MANIFEST);
  static final Set<String> CONFIGS = Set.of(OCI_CONFIG, DOCKER_CONFIG);

  private MediaTypes() {}
}

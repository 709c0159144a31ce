package dev.platter.image.oci;

import dev.platter.image.BadImageException;
import dev.platter.image.Printable;

/** How the tar of a layer is packed, as its media type says. */
public enum Packing {
  NONE,
  GZIP,
  ZSTD;

  /** Fails if a layer of this type is no tar. */
  public static Packing of(Descriptor layer) throws BadImageException {
    return switch (layer.mediaType()) {
      case MediaTypes.OCI_LAYER,
          "application/vnd.oci.image.layer.nondistributable.v1.tar",
          "application/vnd.docker.image.rootfs.diff.tar" ->
          NONE;
      case MediaTypes.OCI_LAYER_GZIP,
          "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
          MediaTypes.DOCKER_LAYER_GZIP,
          "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip" ->
          GZIP;
      case "application/vnd.oci.image.layer.v1.tar+zstd",
          "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
          "application/vnd.docker.image.rootfs.diff.tar.zstd" ->
          ZSTD;
      default ->
          throw new BadImageException(
              "layer "
                  + layer.digest()
                  + " has the type "
                  + Printable.of(layer.mediaType())
                  + ", which cannot hold a disk");
    };
  }
}

package dev.platter.node.image;

import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** Who uses which image. */
public interface ImageUsers {
  /** Nobody uses any. */
  ImageUsers NONE =
      new ImageUsers() {
        @Override
        public Set<String> digests() {
          return Set.of();
        }

        @Override
        public List<String> of(String digest) {
          return List.of();
        }

        @Override
        public List<Way> ways(String digest) {
          return List.of();
        }

        @Override
        public Set<Path> layers() {
          return Set.of();
        }
      };

  /** The digests that VMs name. */
  Set<String> digests();

  /** The names of the VMs that use an image. */
  List<String> of(String digest);

  /** How these VMs come to it. */
  List<Way> ways(String digest);

  /** The directories of all layers of container images that VMs name. */
  Set<Path> layers();
}

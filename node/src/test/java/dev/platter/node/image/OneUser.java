package dev.platter.node.image;

import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** One VM that uses one image. */
record OneUser(String digest) implements ImageUsers {
  @Override
  public Set<String> digests() {
    return Set.of(digest);
  }

  @Override
  public List<String> of(String image) {
    return List.of("default/user");
  }

  @Override
  public List<Way> ways(String image) {
    return List.of();
  }

  @Override
  public Set<Path> layers() {
    return Set.of();
  }
}

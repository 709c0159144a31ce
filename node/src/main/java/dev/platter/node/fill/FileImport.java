package dev.platter.node.fill;

import dev.platter.image.ByteSource;
import dev.platter.image.fill.Filled;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;

/** A file of this machine. */
record FileImport(Path file) implements ImportSource {
  FileImport {
    if (!Files.isRegularFile(file)) {
      throw PlatterException.of(
          Files.exists(file) ? Code.INVALID : Code.NOT_FOUND,
          Files.exists(file) ? file + " is not a regular file" : "there is no file " + file,
          "Name a disk, an address or an image.");
    }
  }

  @Override
  public String name() {
    return "file:" + file;
  }

  @Override
  public long length() {
    return file.toFile().length();
  }

  @Override
  public Filled into(Tries tries) throws IOException {
    try (var channel = FileChannel.open(file)) {
      return tries.once(fill -> fill.from(ByteSource.of(channel)));
    }
  }
}

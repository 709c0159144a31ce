package dev.platter.node.image;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.platter.block.FileDevice;
import dev.platter.block.base.Base;
import dev.platter.block.base.BlockCounts;
import dev.platter.image.BootTrace;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An image as it is now.
 *
 * @param present bytes of the disk that are known, zeros included
 * @param error what the last attempt to fetch something failed with
 * @param map what each part of the disk is, from its start: see {@link #MAP}; empty when nothing of
 *     it is on the disk
 * @param trace how many blocks a recorded boot read
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record ImageStatus(
    ImageRecord image, long present, @Nullable String error, String map, int trace) {
  /** The letters of a map: fetched, copied from another base, zero, missing. */
  public static final String MAP = "fdz.";

  /** How many parts a map has. */
  static final int CELLS = 1024;

  /** What the files say, without the daemon. */
  static ImageStatus of(StateLayout layout, ImageRecord image) throws IOException {
    return switch (image.state()) {
      case SEALED ->
          new ImageStatus(
              image,
              image.virtualSize(),
              null,
              map(layout.base(image.digest()), image.virtualSize()),
              trace(layout, image));
      case LAZY -> {
        var cells = Base.storedMap(layout.image(image.digest()), image.virtualSize(), CELLS);
        var blocks = cells.stream().mapToLong(BlockCounts::present).sum();
        yield new ImageStatus(
            image,
            Math.min(image.virtualSize(), blocks * Base.BLOCK),
            null,
            map(cells),
            trace(layout, image));
      }
      case QUARANTINED -> new ImageStatus(image, 0, image.why(), "", 0);
    };
  }

  /** How long the recorded boot is; 0 too if it cannot be read, which who uses it will say. */
  private static int trace(StateLayout layout, ImageRecord image) {
    try {
      return BootTrace.read(layout.bootTrace(image.digest())).blocks().length;
    } catch (IOException e) {
      return 0;
    }
  }

  /** Of an image that was removed. */
  static ImageStatus gone(ImageRecord image) {
    return new ImageStatus(image, 0, null, "", 0);
  }

  static List<ImageStatus> of(StateLayout layout, List<ImageRecord> images) throws IOException {
    var out = new ArrayList<ImageStatus>();
    for (var image : images) {
      out.add(of(layout, image));
    }
    return out;
  }

  /** What the blocks of each cell are. */
  static String map(List<BlockCounts> cells) {
    var text = new StringBuilder();
    cells.forEach(cell -> text.append(letter(cell)));
    return text.toString();
  }

  /** What most of a cell's blocks are; a cell with anything missing is missing until it is not. */
  private static char letter(BlockCounts cell) {
    if (cell.missing() > 0 && cell.missing() >= cell.fetched() + cell.copied()) {
      return '.';
    }
    if (cell.fetched() >= cell.copied() && cell.fetched() > 0) {
      return 'f';
    }
    return cell.copied() > 0 ? 'd' : 'z';
  }

  /** Where the file has data; who it came from is not remembered. */
  private static String map(Path base, long size) throws IOException {
    var map = new char[CELLS];
    Arrays.fill(map, 'z');
    try (var file = FileDevice.openReadOnly(base)) {
      for (long at = 0; at < size; ) {
        for (var run : file.extents(at, size - at)) {
          if (!run.isHole()) {
            Arrays.fill(map, cell(at, size), cell(at + run.length() - 1, size) + 1, 'f');
          }
          at += run.length();
        }
      }
    } catch (NoSuchFileException e) {
      return ""; // it is being removed
    }
    return new String(map);
  }

  private static int cell(long offset, long size) {
    return (int) (offset / Math.ceilDiv(size, CELLS));
  }
}

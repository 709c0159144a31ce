package dev.platter.image.stream;

import dev.platter.image.BadImageException;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * A disk in plain blocks, whose tables were read to the end: all that is left is to take the blocks
 * as they come.
 */
record Mapped(Forward file, long virtualSize, Places places, @Nullable Tables tables)
    implements StreamedFormat {
  private static final int PIECE = 1 << 20;

  /** Reads tables that lie between the data. */
  @FunctionalInterface
  interface Tables {
    /** Adds what a table says. */
    void read(Places.Place place, ByteBuffer bytes) throws IOException;
  }

  @Override
  public void copyTo(Canvas canvas) throws IOException {
    long end = 0;
    while (!places.isEmpty()) {
      Places.Place place = places.take();
      if (place.host() < end) {
        requireOrder(place);
      }
      if (place.kind() == Places.Kind.DATA) {
        copy(place, canvas);
      } else if (tables != null) {
        tables.read(place, file.fully(place.host(), place.length()));
      }
      end = place.host() + place.length();
    }
    canvas.flush();
  }

  /** Without tables on the way, all is in order, and what is not is there twice. */
  private void requireOrder(Places.Place place) throws IOException {
    if (tables == null) {
      throw new BadImageException("the bytes at " + place.host() + " are there for two blocks");
    }
    if (file.isStream()) {
      throw new OutOfOrder("tables of the file come after data that they describe");
    }
  }

  private void copy(Places.Place place, Canvas canvas) throws IOException {
    long wanted = Math.min(place.length(), virtualSize - place.guest());
    for (long done = 0; done < wanted; ) {
      int n = (int) Math.min(PIECE, wanted - done);
      ByteBuffer bytes = file.at(place.host() + done, n);
      if (!bytes.hasRemaining()) {
        throw new EOFException("it ends before the data at byte " + (place.host() + done));
      }
      n = bytes.remaining();
      canvas.write(place.guest() + done, bytes);
      done += n;
    }
  }
}

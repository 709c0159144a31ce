package dev.platter.node.image;

import dev.platter.image.BadImageException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Keeps what is found wrong with an image until there is somebody to tell. */
final class BadNews implements Consumer<BadImageException> {
  private @Nullable BadImageException news;
  private @Nullable Consumer<BadImageException> listener;

  @Override
  public void accept(BadImageException why) {
    Consumer<BadImageException> told;
    synchronized (this) {
      news = news == null ? why : news;
      told = listener;
    }
    if (told != null) {
      told.accept(why);
    }
  }

  void tell(Consumer<BadImageException> whom) {
    BadImageException before;
    synchronized (this) {
      listener = whom;
      before = news;
    }
    if (before != null) {
      whom.accept(before);
    }
  }
}

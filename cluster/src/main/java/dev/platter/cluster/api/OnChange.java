package dev.platter.cluster.api;

import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import java.util.function.Consumer;

/** Is told of objects that came, changed or went, all the same. */
public record OnChange<T>(Consumer<T> changed) implements ResourceEventHandler<T> {
  @Override
  public void onAdd(T object) {
    changed.accept(object);
  }

  @Override
  public void onUpdate(T old, T object) {
    changed.accept(object);
  }

  @Override
  public void onDelete(T object, boolean unknown) {
    changed.accept(object);
  }
}

package dev.platter.node;

import dev.platter.plan.NodeFacts;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A machine for what is decided by files alone: no VM runs on it, and all that it is told to do
 * works.
 */
final class IdleMachine implements Machine {
  /** What its libvirt was asked for. */
  final List<String> asked = new ArrayList<>();

  /** Why the guests of its libvirt stand still. */
  Optional<Stall> stall = Optional.empty();

  @Override
  public String libvirt() {
    return "";
  }

  @Override
  public Hypervisor hypervisor(String libvirt) {
    return idle(Hypervisor.class);
  }

  private <T> T idle(Class<T> type) {
    var loader = getClass().getClassLoader();
    return type.cast(
        Proxy.newProxyInstance(
            loader,
            new Class<?>[] {type},
            (_, method, _) -> {
              asked.add(method.getName());
              return switch (method.getName()) {
                case "state" ->
                    stall.isPresent() ? Hypervisor.DomainState.PAUSED : Hypervisor.DomainState.GONE;
                case "resumeAfterError" -> false;
                case "isStalled" -> stall.isPresent();
                case "stall" -> stall;
                case "disks" -> idle(LiveDisks.class);
                default -> null;
              };
            }));
  }

  @Override
  public NodeFacts.Accelerator accelerator() {
    return NodeFacts.Accelerator.TCG;
  }

  @Override
  public String emulator() {
    return "/usr/bin/qemu-system-x86_64";
  }

  @Override
  public void close() {}
}

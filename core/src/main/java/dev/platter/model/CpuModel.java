package dev.platter.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The processor that the guest sees, in libvirt's words. The texts are XML attributes and elements
 * of a domain, so nothing in them can become more than that.
 *
 * @param attributes of the element itself, such as its mode
 * @param topology null leaves it to libvirt
 */
public record CpuModel(
    List<Attribute> attributes,
    @Nullable Model model,
    @Nullable String vendor,
    @Nullable Topology topology,
    List<Feature> features) {

  /** One attribute of an element. */
  public record Attribute(String name, String value) {}

  /** {@code <model fallback=…>name</model>}. */
  public record Model(String name, @Nullable String fallback) {}

  /** How the virtual CPUs are counted out. */
  public record Topology(int sockets, int cores, int threads) {}

  /** One feature that is required, disabled and so on. */
  public record Feature(@Nullable String policy, String name) {}

  public CpuModel {
    attributes = List.copyOf(attributes);
    features = List.copyOf(features);
  }
}

package dev.platter.plan;

import dev.platter.model.CpuModel;
import java.util.ArrayList;

/** The processor of a libvirt domain. */
final class CpuXml {
  private CpuXml() {}

  static void write(Xml xml, CpuModel cpu) {
    var attributes = new ArrayList<String>();
    for (var attribute : cpu.attributes()) {
      attributes.add(attribute.name());
      attributes.add(attribute.value());
    }
    xml.open("cpu", () -> inside(xml, cpu), attributes.toArray(String[]::new));
  }

  private static void inside(Xml xml, CpuModel cpu) {
    var model = cpu.model();
    if (model != null && model.fallback() != null) {
      xml.text("model", model.name(), "fallback", model.fallback());
    } else if (model != null) {
      xml.text("model", model.name());
    }
    if (cpu.vendor() != null) {
      xml.text("vendor", cpu.vendor());
    }
    var topology = cpu.topology();
    if (topology != null) {
      xml.empty(
          "topology",
          "sockets",
          Integer.toString(topology.sockets()),
          "cores",
          Integer.toString(topology.cores()),
          "threads",
          Integer.toString(topology.threads()));
    }
    for (var feature : cpu.features()) {
      if (feature.policy() == null) {
        xml.empty("feature", "name", feature.name());
      } else {
        xml.empty("feature", "policy", feature.policy(), "name", feature.name());
      }
    }
  }
}

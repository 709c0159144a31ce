package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.w3c.dom.Element;

/**
 * A running domain that another node of a cluster has sent, beside the one that this node has
 * planned for the same VM. Whatever reaches something of this node is taken from what was planned
 * here. The other is believed in what a guest's memory would not fit without: the version of the
 * machine, its processor, and where in it the devices are.
 *
 * <p>What was sent and is not in the plan would be left out. It is refused all the same, since a
 * node that sends it was broken into, or has another idea of the VM, and its guest would not find
 * what it had.
 */
final class SentDomain {
  private static final Pattern MACHINE = Pattern.compile("(pc-)?q35(-\\d+\\.\\d+)?");

  /** What libvirt adds, and reaches nothing outside of the machine. */
  private static final Set<String> ADDED = Set.of("controller", "input");

  /** What it adds here as well: a console is the serial port under another name. */
  private static final Set<String> ADDED_AGAIN = Set.of("console", "watchdog", "audio");

  private static final Set<String> PARTS = Set.of("address", "model", "target");
  private static final Set<String> CPU =
      Set.of("model", "vendor", "topology", "feature", "cache", "maxphysaddr");

  private final String node;
  private final Element planned;
  private final Element sent;

  private SentDomain(String node, Element planned, Element sent) {
    this.node = node;
    this.planned = planned;
    this.sent = sent;
  }

  /**
   * @param node which has sent it
   * @param planned with the addresses of servers in the place of their names
   * @return what a QEMU that waits for the guest is started with
   */
  static String merged(String node, String planned, String sent) {
    var domain = DomainView.parse(planned);
    Element other;
    try {
      other = DomainView.parse(sent);
    } catch (IllegalStateException e) {
      throw PlatterException.of(
          Code.REFUSED, "what %s sends as a domain cannot be read".formatted(node), "", e);
    }
    new SentDomain(node, domain, other).merge();
    MovedDomain.awaitMemory(domain);
    return MovedDomain.text(domain);
  }

  private void merge() {
    if (!planned.getAttribute("type").equals(sent.getAttribute("type"))) {
      throw refused("runs the VM with %s, which is not how this node would run it", sent, "type");
    }
    machine();
    processor();
    options();
    paths();
    devices();
  }

  private void machine() {
    var theirs = type(sent);
    if (!MACHINE.matcher(theirs.getAttribute("machine")).matches()) {
      throw refused("has the machine %s", theirs, "machine");
    }
    type(planned).setAttribute("machine", theirs.getAttribute("machine"));
  }

  private static Element type(Element domain) {
    return only(only(domain, "os"), "type");
  }

  private void processor() {
    for (var theirs : children(sent, "cpu")) {
      for (var part : children(theirs)) {
        if (!CPU.contains(part.getTagName())) {
          throw refused("has a processor with <" + part.getTagName() + ">");
        }
      }
      children(planned, "cpu").forEach(planned::removeChild);
      planned.appendChild(planned.getOwnerDocument().importNode(theirs, true));
    }
  }

  private void options() {
    var own = arguments(planned);
    var theirs = new ArrayList<>(arguments(sent));
    theirs.removeAll(List.of("-incoming", "defer"));
    if (!own.equals(theirs)) {
      theirs.removeAll(own);
      throw refused("has other options for QEMU: " + String.join(" ", theirs));
    }
  }

  private static List<String> arguments(Element domain) {
    return children(domain, "qemu:commandline").stream()
        .flatMap(options -> children(options, "qemu:arg").stream())
        .map(argument -> argument.getAttribute("value"))
        .toList();
  }

  private void paths() {
    for (var part : List.of("os", "devices")) {
      var others = new TreeSet<>(DomainPaths.of(only(sent, part)));
      others.removeAll(DomainPaths.of(only(planned, part)));
      if (!others.isEmpty()) {
        throw refused("names " + String.join(", ", others));
      }
    }
  }

  private void devices() {
    var own = byPlace(only(planned, "devices"));
    var theirs = byPlace(only(sent, "devices"));
    for (var place : own.keySet()) {
      if (!theirs.containsKey(place)) {
        throw refused("lacks " + place);
      }
    }
    theirs.forEach(
        (place, device) -> {
          var here = own.get(place);
          if (here != null) {
            merge(place, here, device);
          } else if (ADDED.contains(device.getTagName())) {
            add(device);
          } else if (!ADDED_AGAIN.contains(device.getTagName())) {
            throw refused("has " + place + " too");
          }
        });
  }

  /** Devices by what they are called in messages. */
  private static Map<String, Element> byPlace(Element devices) {
    var out = new LinkedHashMap<String, Element>();
    var counts = new HashMap<String, Integer>();
    for (var device : children(devices)) {
      var kind = device.getTagName();
      var name =
          switch (kind) {
            case "disk" -> only(device, "target").getAttribute("dev");
            case "controller" ->
                device.getAttribute("type")
                    + " "
                    + Math.max(0, index(device.getAttribute("index")));
            default -> "";
          };
      var place = ("the " + kind + " " + name).strip();
      var n = counts.merge(place, 1, Integer::sum);
      out.put(n == 1 ? place : place + " (" + n + ")", device);
    }
    return out;
  }

  private static int index(String text) {
    return text.matches("\\d{1,4}") ? Integer.parseInt(text) : 0;
  }

  private void merge(String place, Element own, Element theirs) {
    for (var attribute : List.of("type", "device")) {
      if (!own.getAttribute(attribute).equals(theirs.getAttribute(attribute))) {
        throw refused("has another " + place.substring("the ".length()));
      }
    }
    source(place, own, theirs);
    if (children(own, "address").isEmpty()) {
      for (var address : children(theirs, "address")) {
        own.appendChild(own.getOwnerDocument().importNode(address, true));
      }
    }
  }

  /** Which server it is on may have been looked up there, with another answer. */
  private void source(String place, Element own, Element theirs) {
    var here = children(own, "source");
    var there = children(theirs, "source");
    for (var attribute : List.of("file", "dev", "path", "protocol", "name")) {
      if (!values(here, attribute).equals(values(there, attribute))) {
        throw refused(
            "has %s on %s and not on %s"
                .formatted(place, values(there, attribute), values(here, attribute)));
      }
    }
  }

  private static List<String> values(List<Element> elements, String attribute) {
    return elements.stream().map(element -> element.getAttribute(attribute)).toList();
  }

  private void add(Element device) {
    var copy = (Element) planned.getOwnerDocument().importNode(device, true);
    for (var part : children(copy)) {
      if (!PARTS.contains(part.getTagName())) {
        copy.removeChild(part);
      }
    }
    only(planned, "devices").appendChild(copy);
  }

  private PlatterException refused(String what, Element element, String attribute) {
    return refused(what.formatted(element.getAttribute(attribute)));
  }

  private PlatterException refused(String what) {
    return SentVm.refused(node, "its domain " + what);
  }

  private static Element only(Element parent, String name) {
    var found = children(parent, name);
    if (found.isEmpty()) {
      throw PlatterException.of(
          Code.REFUSED, "a domain has no <%s> in <%s>".formatted(name, parent.getTagName()), "");
    }
    return found.getFirst();
  }

  private static List<Element> children(Element parent, String name) {
    return children(parent).stream().filter(child -> child.getTagName().equals(name)).toList();
  }

  private static List<Element> children(Element parent) {
    var out = new ArrayList<Element>();
    for (var child = parent.getFirstChild(); child != null; child = child.getNextSibling()) {
      if (child instanceof Element element) {
        out.add(element);
      }
    }
    return out;
  }
}

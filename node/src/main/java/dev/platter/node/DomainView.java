package dev.platter.node;

import java.io.IOException;
import java.io.StringReader;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import javax.xml.XMLConstants;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.jspecify.annotations.Nullable;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.xml.sax.InputSource;
import org.xml.sax.SAXException;
import org.xml.sax.helpers.DefaultHandler;

/** The disks of a running domain as libvirt knows them, by target. */
final class DomainView {
  /**
   * @param file what is written to; empty if it is no file
   * @param mirrored whether a block job is under way
   * @param ready whether that job is through and waits to be ended
   */
  record Disk(String file, boolean mirrored, boolean ready) {}

  private final Map<String, Disk> disks = new LinkedHashMap<>();

  private DomainView() {}

  static DomainView of(String xml) {
    var view = new DomainView();
    var devices = child(parse(xml), "devices");
    for (var node = devices == null ? null : devices.getFirstChild();
        node != null;
        node = node.getNextSibling()) {
      if (node instanceof Element disk && disk.getTagName().equals("disk")) {
        var mirror = child(disk, "mirror");
        view.disks.put(
            attribute(disk, "target", "dev"),
            new Disk(
                attribute(disk, "source", "file"),
                mirror != null,
                mirror != null && mirror.getAttribute("ready").equals("yes")));
      }
    }
    return view;
  }

  Optional<Disk> disk(String device) {
    return Optional.ofNullable(disks.get(device));
  }

  Iterable<String> devices() {
    return disks.keySet();
  }

  static Element parse(String xml) {
    try {
      var factory = DocumentBuilderFactory.newInstance();
      factory.setFeature(XMLConstants.FEATURE_SECURE_PROCESSING, true);
      factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
      var builder = factory.newDocumentBuilder();
      builder.setErrorHandler(new DefaultHandler()); // The usual one writes to stderr.
      return builder.parse(new InputSource(new StringReader(xml))).getDocumentElement();
    } catch (ParserConfigurationException | SAXException | IOException e) {
      throw new IllegalStateException("libvirt's description of a domain cannot be read", e);
    }
  }

  private static @Nullable Element child(Node parent, String name) {
    for (var node = parent.getFirstChild(); node != null; node = node.getNextSibling()) {
      if (node instanceof Element element && element.getTagName().equals(name)) {
        return element;
      }
    }
    return null;
  }

  private static String attribute(Element parent, String child, String name) {
    var element = child(parent, child);
    return element == null ? "" : element.getAttribute(name);
  }
}

package dev.platter.node;

import java.io.StringWriter;
import java.util.function.UnaryOperator;
import javax.xml.transform.OutputKeys;
import javax.xml.transform.TransformerException;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/**
 * A running domain as the libvirt of another node has to start it for the guest to come to. It is
 * made of what runs and not of what is stored, since disks that were attached meanwhile are where
 * they are and not where libvirt would put them.
 */
final class MovedDomain {
  private static final String SOCKET = "addr.path=";

  private final UnaryOperator<String> path;

  private MovedDomain(UnaryOperator<String> path) {
    this.path = path;
  }

  /**
   * @param path says where what is at a path is at the other node
   */
  static String of(String running, UnaryOperator<String> path) {
    var domain = DomainView.parse(running);
    var moved = new MovedDomain(path);
    moved.attributes(domain);
    awaitMemory(domain);
    return text(domain);
  }

  private void attributes(Element element) {
    var attributes = element.getAttributes();
    for (var i = 0; i < attributes.getLength(); i++) {
      var attribute = attributes.item(i);
      attribute.setNodeValue(moved(attribute.getNodeValue()));
    }
    for (var child = element.getFirstChild(); child != null; child = child.getNextSibling()) {
      if (child instanceof Element inner) {
        attributes(inner);
      }
    }
  }

  /** QEMU's own options have paths inside, with commas doubled. */
  private String moved(String value) {
    if (value.startsWith("/")) {
      return path.apply(value);
    }
    var at = value.indexOf(SOCKET);
    if (at < 0) {
      return value;
    }
    var socket = value.substring(at + SOCKET.length()).replace(",,", ",");
    return value.substring(0, at) + SOCKET + path.apply(socket).replace(",", ",,");
  }

  /** Its QEMU waits for the guest. */
  static void awaitMemory(Element domain) {
    for (Node child = domain.getFirstChild(); child != null; child = child.getNextSibling()) {
      if (child instanceof Element options && options.getTagName().equals("qemu:commandline")) {
        for (var word : new String[] {"-incoming", "defer"}) {
          var argument = domain.getOwnerDocument().createElement("qemu:arg");
          argument.setAttribute("value", word);
          options.appendChild(argument);
        }
        return;
      }
    }
    throw new IllegalStateException("every VM of ours has options for QEMU itself");
  }

  static String text(Element domain) {
    try {
      var transformer = TransformerFactory.newInstance().newTransformer();
      transformer.setOutputProperty(OutputKeys.OMIT_XML_DECLARATION, "yes");
      var out = new StringWriter();
      transformer.transform(new DOMSource(domain), new StreamResult(out));
      return out.toString();
    } catch (TransformerException e) {
      throw new IllegalStateException("a domain that was read can be written", e);
    }
  }
}

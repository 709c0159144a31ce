package dev.platter.plan;

import java.io.StringReader;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Map;
import javax.xml.XMLConstants;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.transform.OutputKeys;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.xml.sax.InputSource;

/**
 * Turns a stored domain for one start: bases that are not complete yet are read through the daemon
 * instead of from their files. The plan does not change with that, since at the next start they may
 * be complete.
 */
public final class ServedBases {
  /**
   * Seconds that QEMU goes on trying to reach the daemon again while the guest waits: longer than
   * anybody needs to notice. libvirt takes no more than an unsigned int.
   */
  private static final String RECONNECT = "31536000";

  private ServedBases() {}

  /**
   * @param exports paths of bases to the names under which they are served
   * @param socket of the daemon's NBD server
   */
  public static String in(String domainXml, Map<String, String> exports, Path socket) {
    if (exports.isEmpty()) {
      return domainXml;
    }
    try {
      var document = parse(domainXml);
      var all = document.getElementsByTagName("source");
      var sources = new ArrayList<Element>();
      for (var i = 0; i < all.getLength(); i++) {
        sources.add((Element) all.item(i));
      }
      for (var source : sources) {
        var export = exports.get(source.getAttribute("file"));
        if (export != null) {
          serve(source, export, socket);
        }
      }
      return text(document);
    } catch (Exception e) {
      throw new IllegalStateException("the stored domain is not what Platter writes", e);
    }
  }

  private static void serve(Element source, String export, Path socket) {
    ((Element) source.getParentNode()).setAttribute("type", "network");
    source.removeAttribute("file");
    source.setAttribute("protocol", "nbd");
    source.setAttribute("name", export);
    var host = source.getOwnerDocument().createElement("host");
    host.setAttribute("transport", "unix");
    host.setAttribute("socket", socket.toString());
    var reconnect = source.getOwnerDocument().createElement("reconnect");
    reconnect.setAttribute("delay", RECONNECT);
    source.appendChild(host);
    source.appendChild(reconnect);
  }

  private static Document parse(String xml) throws Exception {
    var factory = DocumentBuilderFactory.newInstance();
    factory.setFeature(XMLConstants.FEATURE_SECURE_PROCESSING, true);
    factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
    return factory.newDocumentBuilder().parse(new InputSource(new StringReader(xml)));
  }

  private static String text(Document document) throws Exception {
    var factory = TransformerFactory.newInstance();
    factory.setFeature(XMLConstants.FEATURE_SECURE_PROCESSING, true);
    var transformer = factory.newTransformer();
    transformer.setOutputProperty(OutputKeys.OMIT_XML_DECLARATION, "yes");
    var out = new StringWriter();
    transformer.transform(new DOMSource(document), new StreamResult(out));
    return out.toString();
  }
}

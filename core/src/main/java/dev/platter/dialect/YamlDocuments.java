package dev.platter.dialect;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.api.lowlevel.Compose;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.nodes.Node;

/** YAML text to nodes that know their line. Size, depth and number of aliases are bounded. */
final class YamlDocuments {
  /** Kubernetes itself takes objects of up to 1.5 MiB; a file may hold several. */
  static final int MOST_CHARACTERS = 8 << 20;

  private static final int MOST_DOCUMENTS = 1000;

  private static final Pattern QUOTING =
      Pattern.compile(
          "(found undefined alias|found undefined tag handle|hexadecimal numbers|in UTF-8).*",
          Pattern.DOTALL);

  private static final String QUOTE =
      "$1 (text with *, !, & or \\\\ in it belongs in single quotes)";

  private YamlDocuments() {}

  static List<Node> parse(String text, Problems problems) {
    if (text.length() > MOST_CHARACTERS) {
      problems.add(1, "", "the file has more than " + (MOST_CHARACTERS >> 20) + " MiB; split it");
      throw problems.toException();
    }
    var settings =
        LoadSettings.builder()
            .setUseMarks(true)
            .setCodePointLimit(MOST_CHARACTERS)
            .setMaxAliasesForCollections(50)
            .build();
    var nodes = new ArrayList<Node>();
    try {
      for (var node : new Compose(settings).composeAllFromString(text)) {
        nodes.add(node);
        if (nodes.size() > MOST_DOCUMENTS) {
          problems.add(1, "", "the file has more than " + MOST_DOCUMENTS + " documents");
          throw problems.toException();
        }
      }
    } catch (YamlEngineException e) {
      if (!Slips.report(text, problems)) {
        describe(e, problems);
      }
      throw problems.toException();
    } catch (StackOverflowError e) {
      problems.add(1, "", "the YAML is nested too deeply");
      throw problems.toException();
    }
    return nodes;
  }

  /** The parser repeats parts of the text in some of its words, and the text may be a password. */
  private static void describe(YamlEngineException e, Problems problems) {
    if (e instanceof MarkedYamlEngineException marked) {
      var context = marked.getContext() == null ? "" : marked.getContext() + ", ";
      var problem = QUOTING.matcher(marked.getProblem()).replaceFirst(QUOTE);
      problems.add(marked.getProblemMark(), "", "not YAML: " + context + problem);
    } else {
      problems.add(1, "", "not YAML: " + e.getMessage());
    }
  }
}

package dev.platter.image.iso;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** A file or directory. */
abstract sealed class IsoNode {
  final String name;

  /** The name that plain ISO 9660 allows, without version. */
  String shortName = "";

  private IsoNode(String name) {
    this.name = name;
  }

  static final class File extends IsoNode {
    final byte[] content;
    int sector;

    File(String name, byte[] content) {
      super(name);
      this.content = content;
    }
  }

  static final class Directory extends IsoNode {
    final Directory parent;
    final List<IsoNode> children = new ArrayList<>();

    /** The root is its own parent, as on the image. */
    @SuppressWarnings("this-escape")
    Directory() {
      super("");
      parent = this;
    }

    Directory(String name, Directory parent) {
      super(name);
      this.parent = parent;
    }

    Directory directory(String wanted) {
      for (IsoNode child : children) {
        if (child instanceof Directory directory && child.name.equals(wanted)) {
          return directory;
        }
      }
      var made = new Directory(wanted, this);
      children.add(made);
      return made;
    }

    /** Eight characters and three, made unique by a number at the end of the eight. */
    void giveShortNames() {
      Set<String> taken = new HashSet<>();
      for (IsoNode child : children) {
        int dot = child instanceof File ? child.name.lastIndexOf('.') : -1;
        String base = allowed(dot > 0 ? child.name.substring(0, dot) : child.name, 8);
        String extension = dot > 0 ? allowed(child.name.substring(dot + 1), 3) : "";
        String candidate = join(base, extension, child);
        for (int n = 0; !taken.add(candidate); n++) {
          String number = Integer.toString(n);
          int keep = Math.min(base.length(), 8 - number.length());
          candidate = join(base.substring(0, keep) + number, extension, child);
        }
        child.shortName = candidate;
        if (child instanceof Directory directory) {
          directory.giveShortNames();
        }
      }
    }

    private static String join(String base, String extension, IsoNode node) {
      return node instanceof File ? base + "." + extension : base;
    }

    private static String allowed(String text, int max) {
      String clean = text.toUpperCase(Locale.ROOT).replaceAll("[^A-Z0-9_]", "_");
      return clean.substring(0, Math.min(max, clean.length()));
    }
  }
}

package dev.platter.image.seekable;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Reads a JSON document (RFC 8259) from front to back, as its caller asks for it. By hand, because
 * a guest waits until a table of contents is read, which may have megabytes, and because nothing of
 * it is to be kept but what the caller keeps: there is one buffer, and a few short texts, which
 * come again and again.
 *
 * <p>Refused is what is no JSON, texts of over a megabyte, and nesting beyond need.
 */
final class JsonText {
  private static final int MAX_TEXT = 1 << 20;
  private static final int MAX_DEPTH = 16;
  private static final int END = -1;

  /** What does not fit is not worth remembering. */
  private static final int SHORT = 32;

  /** What a text may have as it is, in one byte. */
  private static final boolean[] PLAIN = new boolean[256];

  static {
    Arrays.fill(PLAIN, ' ', 128, true);
    PLAIN['"'] = false;
    PLAIN['\\'] = false;
  }

  private final InputStream in;
  private final @Nullable String[] known = new @Nullable String[64];
  private byte[] buffer = new byte[16 << 10];
  private int at;
  private int end;
  private long before;

  JsonText(InputStream in) {
    this.in = in;
  }

  /** Whether a list or an object begins here; then what is in it comes next. */
  boolean opens(char bracket) throws IOException {
    return takes(bracket);
  }

  /** To be asked after a beginning: whether that was all. */
  boolean isEmpty(char bracket) throws IOException {
    return takes(bracket);
  }

  /** To be asked after each element: whether there is another one. */
  boolean goesOn(char bracket) throws IOException {
    if (takes(',')) {
      return true;
    }
    if (takes(bracket)) {
      return false;
    }
    throw malformed("neither ',' nor '" + bracket + "'");
  }

  /** The name of a field; its value comes next. */
  String name() throws IOException {
    @Nullable String name = text();
    if (name == null) {
      throw malformed("no name of a field");
    }
    if (!takes(':')) {
      throw malformed("no ':' after the name of a field");
    }
    return name;
  }

  /** A text; null if something else is here. */
  @Nullable String text() throws IOException {
    if (!takes('"')) {
      return null;
    }
    boolean plain = true;
    int length = 0;
    while (true) {
      while (at + length < end && PLAIN[buffer[at + length] & 0xff]) {
        length++;
      }
      if (at + length == end) {
        fill(length);
        continue;
      }
      byte b = buffer[at + length];
      if (b == '"') {
        break;
      }
      if (b >= 0 && b < ' ') {
        throw malformed("a control character in a text");
      }
      plain = false;
      length++;
      if (b == '\\') {
        if (at + length == end) {
          fill(length);
        }
        length++; // whatever it is: looked at later, but no end
      }
    }
    refuseLong(length);
    String text =
        plain
            ? remembered(length)
            : unescaped(new String(buffer, at, length, StandardCharsets.UTF_8));
    at += length + 1;
    return text;
  }

  /** A text that is a digest; null if something else is here, which is left where it is. */
  @Nullable Digest digest() throws IOException {
    if (peek() != '"') {
      return null;
    }
    int length = Digest.TEXT + 2;
    while (end - at < length) {
      if (!more(end - at)) {
        return null;
      }
    }
    @Nullable Digest digest = buffer[at + length - 1] == '"' ? Digest.read(buffer, at + 1) : null;
    if (digest != null) {
      at += length;
    }
    return digest;
  }

  private String remembered(int length) {
    if (length == 0 || length > SHORT) {
      return new String(buffer, at, length, StandardCharsets.ISO_8859_1);
    }
    int place = (31 * (31 * length + buffer[at]) + buffer[at + length - 1]) & (known.length - 1);
    @Nullable String text = known[place];
    if (text == null || !isHere(text, length)) {
      text = new String(buffer, at, length, StandardCharsets.ISO_8859_1);
      known[place] = text;
    }
    return text;
  }

  private boolean isHere(String text, int length) {
    if (text.length() != length) {
      return false;
    }
    for (int i = 0; i < length; i++) {
      if (text.charAt(i) != buffer[at + i]) {
        return false;
      }
    }
    return true;
  }

  private String unescaped(String written) throws BadImageException {
    var text = new StringBuilder(written.length());
    for (int i = 0; i < written.length(); i++) {
      char c = written.charAt(i);
      if (c != '\\') {
        text.append(c);
        continue;
      }
      char kind = written.charAt(++i); // there is one, or the quote would not be the end
      switch (kind) {
        case '"', '\\', '/' -> text.append(kind);
        case 'b' -> text.append('\b');
        case 'f' -> text.append('\f');
        case 'n' -> text.append('\n');
        case 'r' -> text.append('\r');
        case 't' -> text.append('\t');
        case 'u' -> {
          text.append(hex(written, i + 1));
          i += 4;
        }
        default -> throw malformed("an unknown escape in a text");
      }
    }
    return text.toString();
  }

  private char hex(String written, int from) throws BadImageException {
    int value = 0;
    for (int i = from; i < from + 4; i++) {
      char c = i < written.length() ? written.charAt(i) : ' ';
      int digit = c < 128 ? Character.digit(c, 16) : -1;
      if (digit < 0) {
        throw malformed("an escape in a text without four hex digits");
      }
      value = value << 4 | digit;
    }
    return (char) value;
  }

  /** A whole number from 0 to {@code most}; -1 if something else is here. */
  long number(long most) throws IOException {
    int first = peek();
    if (first < '0' || first > '9') {
      return -1;
    }
    long value = 0;
    int digits = 0;
    for (int c = peekNext(); c >= '0' && c <= '9'; c = peekNext()) {
      value = Math.min(most + 1, value * 10 + (c - '0'));
      at++;
      digits++;
    }
    int follows = peekNext();
    boolean whole = follows != '.' && follows != 'e' && follows != 'E';
    return whole && value <= most && (digits == 1 || first != '0') ? value : -1;
  }

  /** Passes over a value, whatever it is. */
  void skip() throws IOException {
    skip(MAX_DEPTH);
  }

  private void skip(int depth) throws IOException {
    switch (peek()) {
      case '{' -> skipAll('{', '}', depth);
      case '[' -> skipAll('[', ']', depth);
      case '"' -> text();
      case 't' -> word("true");
      case 'f' -> word("false");
      case 'n' -> word("null");
      default -> skipNumber();
    }
  }

  private void skipAll(char open, char close, int depth) throws IOException {
    if (depth == 0) {
      throw malformed("nesting that is too deep");
    }
    if (!opens(open) || isEmpty(close)) {
      return;
    }
    do {
      if (open == '{') {
        name();
      }
      skip(depth - 1);
    } while (goesOn(close));
  }

  private void word(String word) throws IOException {
    for (int i = 0; i < word.length(); i++, at++) {
      if (peekNext() != word.charAt(i)) {
        throw malformed("an unknown word");
      }
    }
  }

  private void skipNumber() throws IOException {
    takesNext('-');
    if (!takesNext('0')) {
      digits();
    }
    if (takesNext('.')) {
      digits();
    }
    if (takesNext('e') || takesNext('E')) {
      if (!takesNext('+')) {
        takesNext('-');
      }
      digits();
    }
  }

  private void digits() throws IOException {
    int first = peekNext();
    if (first < '0' || first > '9') {
      throw malformed("neither a value nor a digit");
    }
    for (int c = first; c >= '0' && c <= '9'; c = peekNext()) {
      at++;
    }
  }

  /** Whether nothing follows. */
  boolean isAtEnd() throws IOException {
    return peek() == END;
  }

  private boolean takes(char c) throws IOException {
    return peek() == c && takesNext(c);
  }

  private boolean takesNext(char c) throws IOException {
    if (peekNext() != c) {
      return false;
    }
    at++;
    return true;
  }

  /** The next byte that is not white space. */
  private int peek() throws IOException {
    int c = peekNext();
    while (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
      at++;
      c = peekNext();
    }
    return c;
  }

  private int peekNext() throws IOException {
    return at < end || more(0) ? buffer[at] & 0xff : END;
  }

  /** More of a text, of which some is here. */
  private void fill(int length) throws IOException {
    refuseLong(length);
    if (!more(length)) {
      throw malformed("a text without an end");
    }
  }

  private void refuseLong(int length) throws BadImageException {
    if (length > MAX_TEXT) {
      throw malformed("a text of over " + MAX_TEXT + " bytes");
    }
  }

  /** Reads on; keeps the bytes from here on, which become the first of the buffer. */
  private boolean more(int kept) throws IOException {
    before += at;
    System.arraycopy(buffer, at, buffer, 0, kept);
    at = 0;
    end = kept;
    if (end == buffer.length) {
      buffer = Arrays.copyOf(buffer, 2 * buffer.length);
    }
    int n = in.read(buffer, end, buffer.length - end);
    end += Math.max(0, n);
    return n > 0;
  }

  private BadImageException malformed(String why) {
    return new BadImageException("it is not valid JSON: %s at byte %d".formatted(why, before + at));
  }
}

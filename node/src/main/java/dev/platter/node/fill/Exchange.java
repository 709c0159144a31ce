package dev.platter.node.fill;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.platter.image.BufferStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Map;

/**
 * One request and its answer, after which the connection ends.
 *
 * @param answered told when the answer is on its way
 */
record Exchange(RequestHead head, RequestBody body, OutputStream out, Runnable answered) {
  /** Returns when the head is there. */
  static Exchange read(BufferStream in, OutputStream out, Runnable answered) throws IOException {
    try {
      var head = RequestHead.read(in);
      return new Exchange(head, RequestBody.of(head, in, out), out, answered);
    } catch (RequestHead.BadRequest e) {
      var answer = Answer.of(400, 400, "Request", String.valueOf(e.getMessage()));
      answer(out, 400, Map.of("Content-Type", "application/json"), answer.json(), false);
      throw e;
    }
  }

  void answer(int status, Map<String, String> headers, byte[] text) throws IOException {
    body.answered();
    answer(out, status, headers, text, head.method().equals("HEAD"));
    answered.run();
  }

  /** Passes an answer on as somebody else has given it. */
  void pass(byte[] all) throws IOException {
    body.answered();
    out.write(all);
    out.flush();
    answered.run();
  }

  private static void answer(
      OutputStream out, int status, Map<String, String> headers, byte[] text, boolean headOnly)
      throws IOException {
    var lines = new StringBuilder("HTTP/1.1 %d %s\r\n".formatted(status, phrase(status)));
    headers.forEach((name, value) -> lines.append(name + ": " + value + "\r\n"));
    lines.append("Content-Length: " + text.length + "\r\nConnection: close\r\n\r\n");
    var head = lines.toString().getBytes(US_ASCII);
    var all = new byte[head.length + (headOnly ? 0 : text.length)];
    System.arraycopy(head, 0, all, 0, head.length);
    System.arraycopy(text, 0, all, head.length, all.length - head.length);
    out.write(all);
    out.flush();
  }

  /** Nobody reads it but people. */
  private static String phrase(int status) {
    return status < 400 ? "OK" : "Refused";
  }
}

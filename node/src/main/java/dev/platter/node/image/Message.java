package dev.platter.node.image;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.web.WebAccess;
import dev.platter.node.web.WebVersion;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What commands and the daemon say to each other: one JSON document a line. A connection carries
 * one request and its answers, of which the last is {@link Done} or {@link Failed}.
 */
@JsonTypeInfo(use = JsonTypeInfo.Id.SIMPLE_NAME, property = "is")
@JsonSubTypes({
  @JsonSubTypes.Type(Message.Ensure.class),
  @JsonSubTypes.Type(Message.Complete.class),
  @JsonSubTypes.Type(Message.Look.class),
  @JsonSubTypes.Type(Message.Collect.class),
  @JsonSubTypes.Type(Message.ServeWeb.class),
  @JsonSubTypes.Type(Message.ForgetWeb.class),
  @JsonSubTypes.Type(Message.Bytes.class),
  @JsonSubTypes.Type(Message.Done.class),
  @JsonSubTypes.Type(Message.Failed.class)
})
@JsonInclude(JsonInclude.Include.NON_NULL)
sealed interface Message {
  /** A manifest of 4 MiB fits, written as base64. */
  int LONGEST = 8 << 20;

  ObjectMapper JSON = new ObjectMapper().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);

  /**
   * Carries secrets, and shows none.
   *
   * @param logins as {@link ImageLogins} has them
   * @param manifest the bytes with that digest, if the sender has them: it saves a round trip
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Ensure(String reference, String digest, List<byte[]> logins, byte @Nullable [] manifest)
      implements Message {
    @Override
    public String toString() {
      return "Ensure " + reference;
    }
  }

  /** Carries secrets, and shows none. */
  record Complete(String reference, String digest, List<byte[]> logins) implements Message {
    @Override
    public String toString() {
      return "Complete " + reference;
    }
  }

  /** Asks for the state of all images, as it is now. */
  record Look() implements Message {}

  record Collect() implements Message {}

  /** Carries secrets, and shows none. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record ServeWeb(
      String export,
      String url,
      byte @Nullable [] ca,
      Map<String, byte[]> headers,
      boolean elsewhere,
      @Nullable WebVersion expected)
      implements Message {
    static ServeWeb of(String export, WebAccess access, @Nullable WebVersion expected) {
      return new ServeWeb(
          export,
          access.url().toString(),
          access.ca(),
          access.headers(),
          access.elsewhere(),
          expected);
    }

    WebAccess access() {
      return new WebAccess(url, ca, headers, elsewhere);
    }

    @Override
    public String toString() {
      return "ServeWeb " + export;
    }
  }

  record ForgetWeb(String export) implements Message {}

  /** How far it is. */
  record Bytes(String what, long done, long total) implements Message {}

  /**
   * @param version of the file that is served from now on
   */
  record Done(List<ImageStatus> images, @Nullable WebVersion version) implements Message {
    Done(List<ImageStatus> images) {
      this(images, null);
    }
  }

  record Failed(Code code, String message, String next) implements Message {
    static Failed of(Throwable e) {
      return e instanceof PlatterException known
          ? new Failed(known.code(), String.valueOf(known.getMessage()), known.next())
          : new Failed(Code.INTERNAL, "the daemon failed: " + e, "");
    }

    PlatterException exception() {
      return PlatterException.of(code, message, next);
    }
  }

  default byte[] line() throws JsonProcessingException {
    return (JSON.writeValueAsString(this) + "\n").getBytes(StandardCharsets.UTF_8);
  }

  /** The next message; null at the end. */
  static @Nullable Message read(InputStream in) throws IOException {
    var line = new java.io.ByteArrayOutputStream();
    for (var b = in.read(); b != '\n'; b = in.read()) {
      if (b < 0) {
        return null;
      }
      if (line.size() == LONGEST) {
        throw new IOException("a message of more than " + LONGEST + " bytes");
      }
      line.write(b);
    }
    return JSON.readValue(line.toByteArray(), Message.class);
  }
}

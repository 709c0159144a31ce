package dev.platter.plan;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.util.Map;

/**
 * Plans as JSON text: what is stored with a VM, shown by {@code platter plan} and reviewed in
 * golden files.
 */
public final class PlanJson {
  private static final ObjectMapper MAPPER =
      new ObjectMapper()
          .enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
          .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
          // As the dialect reads the attributes of a container.
          .enable(DeserializationFeature.USE_LONG_FOR_INTS);
  private static final ObjectWriter WRITER =
      MAPPER.writer(
          new DefaultPrettyPrinter().withArrayIndenter(DefaultIndenter.SYSTEM_LINEFEED_INSTANCE));

  private PlanJson() {}

  public static String write(Plan plan) {
    return text(plan);
  }

  public static String write(DiskChange change) {
    return text(change);
  }

  private static String text(Object value) {
    try {
      return WRITER.writeValueAsString(value) + "\n";
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a plan always makes JSON", e);
    }
  }

  /**
   * @throws IllegalArgumentException if the text is not a change that this version can read
   */
  public static DiskChange readChange(String text) {
    try {
      return MAPPER.readValue(text, DiskChange.class);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("not a change: " + e.getOriginalMessage(), e);
    }
  }

  /** The plan as plain maps and lists. */
  @SuppressWarnings("unchecked") // a record becomes a map with text keys
  public static Map<String, Object> tree(Plan plan) {
    return MAPPER.convertValue(plan, Map.class);
  }

  /**
   * @throws IllegalArgumentException if the text is not a plan that this version can read
   */
  public static Plan read(String text) {
    try {
      var version = MAPPER.readTree(text).path("version").asInt();
      if (version != Plan.VERSION) {
        throw new IllegalArgumentException("plan version " + version + " is not " + Plan.VERSION);
      }
      return MAPPER.readValue(text, Plan.class);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("not a plan: " + e.getOriginalMessage(), e);
    }
  }
}

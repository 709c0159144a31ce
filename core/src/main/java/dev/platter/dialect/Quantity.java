package dev.platter.dialect;

import dev.platter.model.ByteSize;
import java.math.BigDecimal;

/** Kubernetes quantities of any resource: {@code 500m}, {@code 2}, {@code 1.5Gi}. */
final class Quantity {
  private Quantity() {}

  static BigDecimal parse(String text) {
    var stripped = text.strip();
    if (stripped.matches("\\d{1,18}(\\.\\d{1,9})?m?")) {
      return stripped.endsWith("m")
          ? new BigDecimal(stripped.substring(0, stripped.length() - 1)).movePointLeft(3)
          : new BigDecimal(stripped);
    }
    return BigDecimal.valueOf(ByteSize.parse(stripped).bytes());
  }
}

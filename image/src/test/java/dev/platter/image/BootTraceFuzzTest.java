package dev.platter.image;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.util.Arrays;

/**
 * Any bytes are a boot trace, which is then written with the same bytes, or are refused. An
 * ordinary test run tries the inputs in {@code BootTraceFuzzTestInputs}.
 */
class BootTraceFuzzTest {
  @FuzzTest(maxDuration = "30s")
  void anyBytesAreATraceOrAreRefused(byte[] bytes) {
    try {
      if (!Arrays.equals(BootTrace.parse(bytes).toBytes(), bytes)) {
        throw new AssertionError("written otherwise than it was read");
      }
    } catch (BadImageException e) {
      // Refused: that is an answer.
    }
  }
}

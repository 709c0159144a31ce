package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class RestTest {
  @Test
  void itComesOnceAfterWorkThatIsOver() {
    var rest = new Rest();
    assertThat(rest.after(0)).as("nothing was done").isFalse();
    assertThat(rest.after(3)).as("work goes on").isFalse();
    assertThat(rest.after(7)).as("work goes on").isFalse();
    assertThat(rest.after(7)).isTrue();
    assertThat(rest.after(7)).as("again").isFalse();
  }
}

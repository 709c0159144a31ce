package dev.platter.block.base;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class RateTest {
  private static final long SECOND = 1_000_000_000;

  private final AtomicLong clock = new AtomicLong(-7 * SECOND);
  private final Rate rate = new Rate(1000, clock::get);

  @Test
  void thoseWhoShareItHaveItTogether() {
    var first = rate.share(1000);
    var second = rate.share(2000);
    assertThat(first.nanosLeft()).isEqualTo(SECOND);
    assertThat(second.nanosLeft()).isEqualTo(3 * SECOND);
    clock.addAndGet(SECOND);
    assertThat(first.nanosLeft()).isZero();
    assertThat(rate.share(500).nanosLeft()).isEqualTo(5 * SECOND / 2);
    assertThat(rate.share(0).nanosLeft()).as("nothing to fetch").isZero();
  }

  @Test
  void theTimeThatFetchingTookIsPartOfIt() {
    var share = rate.share(1000);
    clock.addAndGet(3 * SECOND);
    assertThat(share.nanosLeft()).isNegative();
    assertThat(rate.share(1000).nanosLeft()).as("nothing is saved up").isEqualTo(SECOND);
  }

  @Test
  void noLimitIsNone() {
    assertThat(Rate.NONE.share(Long.MAX_VALUE).nanosLeft()).isZero();
    assertThat(Rate.NONE.atOnce(3, 5)).isEqualTo(5);
    assertThat(rate.atOnce(10, 5000)).isEqualTo(1000);
  }
}

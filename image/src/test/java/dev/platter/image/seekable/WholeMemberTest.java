package dev.platter.image.seekable;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.image.Libdeflate;
import dev.platter.image.testing.MixedBytes;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The short cut beside the JDK's own stream. */
class WholeMemberTest {
  private static final int SIZE = 100_000;

  @BeforeAll
  static void libdeflateIsHere() {
    assumeTrue(Libdeflate.isAvailable(), "libdeflate is not installed, or off");
  }

  @Test
  void ourMembersAreUnpackedBySizeKnownOrSizeSaid() {
    byte[] plain = MixedBytes.of(SIZE, 1);
    byte[] member = GzipMember.of(plain);
    assertThat(WholeMember.unpack(member, SIZE)).isEqualTo(plain);
    assertThat(WholeMember.unpack(member)).isEqualTo(plain);
    assertThat(WholeMember.unpack(GzipMember.of(new byte[0]))).isEmpty();
  }

  @Test
  void whatFollowsAMemberIsNotLookedAt() {
    byte[] plain = MixedBytes.of(SIZE, 2);
    byte[] member = GzipMember.of(plain);
    byte[] more = Arrays.copyOf(member, member.length + 777);
    assertThat(WholeMember.unpack(more, SIZE)).isEqualTo(plain);
  }

  @Test
  void whateverIsUnusualIsLeftToTheStream() {
    byte[] member = GzipMember.of(MixedBytes.of(SIZE, 3));
    assertThat(WholeMember.unpack(member, SIZE - 1)).as("has more").isNull();
    assertThat(WholeMember.unpack(member, SIZE + 1)).as("has less").isNull();
    assertThat(WholeMember.unpack(Arrays.copyOf(member, 9), SIZE)).as("no header").isNull();
    assertThat(WholeMember.unpack(Arrays.copyOf(member, 12))).as("no trailer").isNull();
    assertThat(WholeMember.unpack(changed(member, 3, 8))).as("a name in the header").isNull();
    assertThat(WholeMember.unpack(changed(member, 0, 1))).as("no gzip").isNull();
    assertThat(WholeMember.unpack(changed(member, member.length - 1, 0x70)))
        .as("says that it has over a gigabyte")
        .isNull();
    assertThat(WholeMember.unpack(changed(member, member.length - 1, 0x80)))
        .as("says that it has over two gigabytes")
        .isNull();
  }

  private static byte[] changed(byte[] member, int at, int bits) {
    byte[] changed = member.clone();
    changed[at] ^= (byte) bits;
    return changed;
  }

  @Test
  void whatIsTakenIsWhatTheStreamHas() {
    Random random = new Random(5);
    int taken = 0;
    for (int round = 0; round < 1000; round++) {
      byte[] member = GzipMember.of(MixedBytes.of(1 + random.nextInt(SIZE), random.nextInt()));
      for (int change = random.nextInt(3); change > 0; change--) {
        member[random.nextInt(member.length)] ^= (byte) (1 << random.nextInt(8));
      }
      byte @Nullable [] whole = WholeMember.unpack(member);
      if (whole != null) {
        taken++;
        assertThat(streamed(member, whole.length)).as("round %d", round).isEqualTo(whole);
      }
    }
    assertThat(taken).isBetween(300, 950);
  }

  /** No more than was asked for, since the check sum comes after it. */
  private static byte[] streamed(byte[] member, int size) {
    try (var gzip = new GZIPInputStream(new ByteArrayInputStream(member))) {
      byte[] plain = new byte[size];
      int done = 0;
      while (done < size) {
        int n = gzip.read(plain, done, size - done);
        if (n < 0) {
          return Arrays.copyOf(plain, done);
        }
        done += n;
      }
      return plain;
    } catch (IOException e) {
      return new byte[0];
    }
  }
}

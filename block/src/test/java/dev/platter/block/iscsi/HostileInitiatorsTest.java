package dev.platter.block.iscsi;

import static dev.platter.block.iscsi.Protocol.*;
import static dev.platter.block.iscsi.RawInitiator.names;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.block.MemoryDevice;
import dev.platter.block.iscsi.RawInitiator.Pdu;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What initiators must not get away with, and what no foreign tool says. */
class HostileInitiatorsTest {
  private static final String OPEN = "iqn.2024-01.dev.platter:open";
  private static final String GUARDED = "iqn.2024-01.dev.platter:guarded";
  private static final int AUTHENTICATION_FAILED = 0x0201;
  private static final int MIB = 1 << 20;

  private IscsiServer server;
  private InetSocketAddress portal;
  private MemoryDevice disk;

  @BeforeEach
  void listen() throws IOException {
    disk = new MemoryDevice(4 * MIB);
    server = new IscsiServer(Duration.ofSeconds(2));
    server.add(IscsiTarget.open(OPEN, Map.of(0, disk)));
    server.add(
        IscsiTarget.open(GUARDED, Map.of(0, disk))
            .withMutualChap(credentials("vm", "initiator"), credentials("us", "target")));
    portal = server.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  @AfterEach
  void close() throws IOException {
    server.close();
    disk.close();
  }

  private static ChapCredentials credentials(String name, String secret) {
    return new ChapCredentials(name, secret.getBytes(UTF_8));
  }

  private static byte[] bytes(int count, int value) {
    byte[] bytes = new byte[count];
    Arrays.fill(bytes, (byte) value);
    return bytes;
  }

  private byte[] onDisk(long offset, int length) {
    ByteBuffer read = ByteBuffer.allocate(length);
    disk.read(offset, read);
    return read.array();
  }

  private static final int[] WRITE_4_BLOCKS = {0x2a, 0, 0, 0, 0, 0, 0, 0, 4, 0};
  private static final int[] READ_4_BLOCKS = {0x28, 0, 0, 0, 0, 0, 0, 0, 4, 0};

  @Test
  void digestsOfHeadersAndDataGoBothWays() throws IOException {
    try (var initiator =
        RawInitiator.loggedIn(portal, OPEN, "HeaderDigest=CRC32C", "DataDigest=CRC32C,None")) {
      byte[] data = bytes(2048, 0x5a);
      initiator.send(initiator.command(FINAL | WRITE, 1, 2048, WRITE_4_BLOCKS), data);
      assertThat(initiator.receive().header().get(3)).isZero();
      initiator.send(initiator.command(FINAL | READ, 2, 2048, READ_4_BLOCKS), new byte[0]);
      assertThat(initiator.receive().data()).isEqualTo(data);
    }
  }

  @Test
  void damagedDataAreRejectedAndTheCommandFails() throws IOException {
    try (var initiator = RawInitiator.loggedIn(portal, OPEN, "DataDigest=CRC32C")) {
      ByteBuffer header = initiator.command(FINAL | WRITE, 1, 2048, WRITE_4_BLOCKS).putInt(4, 2048);
      initiator.write(ByteBuffer.wrap(header.array()));
      initiator.write(ByteBuffer.wrap(bytes(2048 + DIGEST, 0x77)));
      Pdu reject = initiator.receive();
      assertThat(reject.opcode()).isEqualTo(REJECT);
      assertThat(reject.header().get(2)).isEqualTo((byte) REJECT_DATA_DIGEST);
      assertThat(initiator.receive().sense()).isEqualTo(0xb_4705);
      assertThat(onDisk(0, 2048)).containsOnly(0);
      initiator.send(initiator.command(FINAL, 2, 0, 0), new byte[0]);
      assertThat(initiator.receive().header().get(3)).isZero();
    }
  }

  @Test
  void aDamagedHeaderEndsTheConnection() throws IOException {
    try (var initiator = RawInitiator.loggedIn(portal, OPEN, "HeaderDigest=CRC32C")) {
      initiator.write(ByteBuffer.wrap(initiator.command(FINAL, 1, 0, 0).array()));
      initiator.write(ByteBuffer.allocate(DIGEST));
      initiator.assertClosed();
    }
  }

  @Test
  void dataAreAskedForInBurstsAndTakenInOrder() throws IOException {
    try (var initiator =
        RawInitiator.loggedIn(
            portal, OPEN, "InitialR2T=Yes", "ImmediateData=No", "MaxBurstLength=1024")) {
      initiator.send(initiator.command(FINAL | WRITE, 9, 2048, WRITE_4_BLOCKS), new byte[0]);
      for (int burst = 0; burst < 2; burst++) {
        Pdu ready = initiator.receive();
        assertThat(ready.opcode()).isEqualTo(READY_TO_TRANSFER);
        assertThat(ready.header().getInt(40)).isEqualTo(1024 * burst);
        assertThat(ready.header().getInt(44)).isEqualTo(1024);
        for (int half = 0; half < 2; half++) {
          ByteBuffer out = RawInitiator.header(DATA_OUT, half == 1 ? FINAL : 0, 9);
          out.putInt(20, ready.header().getInt(20)).putInt(36, half);
          out.putInt(40, 1024 * burst + 512 * half);
          initiator.send(out, bytes(512, 1 + 2 * burst + half));
        }
      }
      assertThat(initiator.receive().header().get(3)).isZero();
      assertThat(onDisk(0, 512)).containsOnly(1);
      assertThat(onDisk(1536, 512)).containsOnly(4);
    }
  }

  @Test
  void aPduThatSaysItIsHugeEndsTheConnectionAndNoOther() throws IOException {
    try (var good = RawInitiator.loggedIn(portal, OPEN)) {
      for (int length : new int[] {MOST_DATA + 1, 0xffffff}) {
        try (var bad = new RawInitiator(portal)) {
          bad.write(ByteBuffer.wrap(RawInitiator.header(LOGIN, 0x87, 1).putInt(4, length).array()));
          bad.assertClosed();
        }
      }
      good.send(good.command(FINAL, 1, 0, 0), new byte[0]);
      assertThat(good.receive().header().get(3)).isZero();
    }
  }

  @Test
  void textWithoutEndIsRefused() throws IOException {
    try (var initiator = new RawInitiator(portal)) {
      for (int i = 0; i < 3; i++) {
        initiator.login(CONTINUE | 4, "X".repeat(8000));
        Pdu response = initiator.receive();
        if (response.loginStatus() != 0) {
          assertThat(i).isEqualTo(2);
          initiator.assertClosed();
          return;
        }
      }
    }
    throw new AssertionError("24000 bytes of text were taken");
  }

  @Test
  void whoDoesNotLogInIsCutOff() throws IOException {
    try (var silent = new RawInitiator(portal);
        var slow = new RawInitiator(portal)) {
      slow.security(false, names(OPEN) + "AuthMethod=None\0");
      slow.receive();
      silent.assertClosed();
      slow.assertClosed();
    }
  }

  @Test
  void securityCannotBeLeftOut() throws IOException {
    try (var initiator = new RawInitiator(portal)) {
      initiator.login(0x87, names(GUARDED));
      assertThat(initiator.receive().loginStatus()).isEqualTo(AUTHENTICATION_FAILED);
      initiator.assertClosed();
    }
    try (var initiator = new RawInitiator(portal)) {
      initiator.security(true, names(GUARDED) + "AuthMethod=None\0");
      assertThat(initiator.receive().loginStatus()).isEqualTo(AUTHENTICATION_FAILED);
    }
    try (var initiator = new RawInitiator(portal)) {
      initiator.security(true, names(GUARDED) + "AuthMethod=CHAP\0");
      assertThat(initiator.receive().header().get(1) & FINAL).isZero();
      initiator.login(0x87, names(GUARDED));
      assertThat(initiator.receive().loginStatus()).isNotZero();
    }
  }

  /** In the security stage, after the challenge. */
  private Pdu challenged(RawInitiator initiator) throws IOException {
    initiator.security(false, names(GUARDED) + "AuthMethod=CHAP,None\0");
    assertThat(initiator.receive().text()).containsEntry("AuthMethod", "CHAP");
    initiator.security(false, "CHAP_A=5\0");
    return initiator.receive();
  }

  private static String response(Pdu challenge, String secret) throws Exception {
    MessageDigest md5 = MessageDigest.getInstance("MD5");
    md5.update((byte) Integer.parseInt(challenge.text().get("CHAP_I")));
    md5.update(secret.getBytes(UTF_8));
    byte[] bytes = HexFormat.of().parseHex(challenge.text().get("CHAP_C").substring(2));
    return "0x" + HexFormat.of().formatHex(md5.digest(bytes));
  }

  @Test
  void everyLoginHasAChallengeOfItsOwn() throws Exception {
    try (var one = new RawInitiator(portal);
        var two = new RawInitiator(portal)) {
      Pdu first = challenged(one);
      Pdu second = challenged(two);
      assertThat(first.text().get("CHAP_C")).isNotEqualTo(second.text().get("CHAP_C"));
      // What was right for one login is no use in another.
      two.security(true, "CHAP_N=vm\0CHAP_R=" + response(first, "initiator") + "\0");
      assertThat(two.receive().loginStatus()).isEqualTo(AUTHENTICATION_FAILED);
      one.security(false, "CHAP_N=vm\0CHAP_R=" + response(first, "initiator") + "\0");
      assertThat(one.receive().loginStatus()).isZero();
      one.security(true, "");
      Pdu on = one.receive();
      assertThat(on.loginStatus()).isZero();
      assertThat(on.header().get(1) & FINAL).isNotZero();
    }
  }

  @Test
  void ourChallengeIsNotAnsweredByUs() throws Exception {
    try (var initiator = new RawInitiator(portal)) {
      Pdu challenge = challenged(initiator);
      String reflected = challenge.text().get("CHAP_C");
      initiator.security(
          true,
          "CHAP_N=vm\0CHAP_R=%s\0CHAP_I=1\0CHAP_C=%s\0"
              .formatted(response(challenge, "initiator"), reflected));
      Pdu refused = initiator.receive();
      assertThat(refused.loginStatus()).isEqualTo(AUTHENTICATION_FAILED);
      assertThat(refused.text()).doesNotContainKey("CHAP_R");
    }
  }

  @Test
  void whoDoesNotProveHimselfGetsNoProofOfOurs() throws Exception {
    try (var initiator = new RawInitiator(portal)) {
      challenged(initiator);
      initiator.security(true, "CHAP_N=vm\0CHAP_R=0x00\0CHAP_I=1\0CHAP_C=0x0102\0");
      Pdu refused = initiator.receive();
      assertThat(refused.loginStatus()).isEqualTo(AUTHENTICATION_FAILED);
      assertThat(refused.data()).isEmpty();
    }
  }

  @Test
  void namesThatOthersAreShownAreBounded() throws IOException {
    for (String name : new String[] {"x".repeat(224), "ü".repeat(100), "a b", ""}) {
      try (var initiator = new RawInitiator(portal)) {
        initiator.login(0x87, "InitiatorName=%s\0TargetName=%s\0".formatted(name, OPEN));
        assertThat(initiator.receive().loginStatus()).isEqualTo(0x0200);
      }
    }
  }

  @Test
  void aSessionTakesThePlaceOfTheOldOneOfTheSamePort() throws IOException {
    try (var old = RawInitiator.loggedIn(portal, OPEN);
        var young = RawInitiator.loggedIn(portal, OPEN)) {
      old.assertClosed();
      young.send(young.command(FINAL, 1, 0, 0), new byte[0]);
      assertThat(young.receive().header().get(3)).isZero();
    }
  }

  /** PERSISTENT RESERVE OUT, which must succeed. */
  private static void reserve(RawInitiator by, int action, int type, long key, long actionKey)
      throws IOException {
    int[] cdb = {0x5f, action, type, 0, 0, 0, 0, 0, 24, 0};
    byte[] keys = ByteBuffer.allocate(24).putLong(key).putLong(actionKey).array();
    by.send(by.command(FINAL | WRITE, 500 + by.commandNumber, 24, cdb), keys);
    assertThat(by.receive().header().get(3)).isZero();
  }

  @Test
  void aWriteThatWasPreemptedReachesTheDiskNoMore() throws IOException {
    try (var old = RawInitiator.loggedInAs("iqn.a:old", portal, OPEN, "ImmediateData=No");
        var young = RawInitiator.loggedInAs("iqn.a:young", portal, OPEN)) {
      int pending = reserveOver(old, young);
      // The data that the old one was asked for come now.
      ByteBuffer out = RawInitiator.header(DATA_OUT, FINAL, 9).putInt(20, pending);
      old.send(out, bytes(2048, 0x66));
      old.send(old.command(FINAL, 10, 0, 0), new byte[0]);
      Pdu next = old.receive();
      assertThat(next.header().getInt(16)).isEqualTo(10);
      assertThat(next.sense()).isEqualTo(0x6_2a05);
      assertThat(onDisk(0, 2048)).containsOnly(0);
      old.send(old.command(FINAL | WRITE, 11, 2048, WRITE_4_BLOCKS), new byte[0]);
      assertThat(old.receive().header().get(3)).isEqualTo((byte) 0x18);
    }
  }

  /**
   * The old one holds the disk and has begun to write when the young one takes it over.
   *
   * @return the tag that the old one's data are waited for with
   */
  private int reserveOver(RawInitiator old, RawInitiator young) throws IOException {
    int writeExclusive = 1;
    int[] register = {0x5f, 0, 0, 0, 0, 0, 0, 0, 24, 0};
    solicited(old, register, 0, 1);
    solicited(old, new int[] {0x5f, 1, writeExclusive, 0, 0, 0, 0, 0, 24, 0}, 1, 0);
    reserve(young, 0, 0, 0, 2);
    old.send(old.command(FINAL | WRITE, 9, 2048, WRITE_4_BLOCKS), new byte[0]);
    Pdu ready = old.receive();
    assertThat(ready.opcode()).isEqualTo(READY_TO_TRANSFER);
    reserve(young, 5, writeExclusive, 2, 1);
    return ready.header().getInt(20);
  }

  /** PERSISTENT RESERVE OUT of one who sends no immediate data. */
  private static void solicited(RawInitiator by, int[] cdb, long key, long actionKey)
      throws IOException {
    int tag = 700 + by.commandNumber;
    by.send(by.command(FINAL | WRITE, tag, 24, cdb), new byte[0]);
    int transfer = by.receive().header().getInt(20);
    byte[] keys = ByteBuffer.allocate(24).putLong(key).putLong(actionKey).array();
    by.send(RawInitiator.header(DATA_OUT, FINAL, tag).putInt(20, transfer), keys);
    assertThat(by.receive().header().get(3)).isZero();
  }

  @Test
  void theWindowBoundsWhatIsUnderWay() throws IOException {
    try (var initiator =
        RawInitiator.loggedIn(portal, OPEN, "InitialR2T=Yes", "ImmediateData=No")) {
      int last = 0;
      for (int tag = 1; tag <= CommandWindow.PLACES; tag++) {
        initiator.send(initiator.command(FINAL | WRITE, tag, 2048, WRITE_4_BLOCKS), new byte[0]);
        last = initiator.receive().header().getInt(32);
      }
      assertThat(last).isEqualTo(initiator.commandNumber - 1);
      // One more is as if it had not come; an immediate ping still is answered.
      initiator.send(initiator.command(FINAL | WRITE, 999, 2048, WRITE_4_BLOCKS), new byte[0]);
      initiator.send(RawInitiator.header(NOP_OUT | IMMEDIATE, FINAL, 1000), "x".getBytes(UTF_8));
      Pdu pong = initiator.receive();
      assertThat(pong.opcode()).isEqualTo(NOP_IN);
      assertThat(pong.data()).isEqualTo("x".getBytes(UTF_8));
      assertThat(pong.header().getInt(28)).isEqualTo(initiator.commandNumber - 1);
    }
  }
}

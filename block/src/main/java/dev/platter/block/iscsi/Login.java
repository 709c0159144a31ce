package dev.platter.block.iscsi;

import static dev.platter.block.iscsi.Protocol.*;

import dev.platter.block.scsi.Nexus;
import dev.platter.block.wire.BufferPool;
import dev.platter.block.wire.Input;
import dev.platter.block.wire.PeerException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A login (RFC 7143, 6.3): security, then what both want to work with. Whatever is wrong ends the
 * connection, with a status that says why; of credentials it says no more than that they are not
 * right. Who needs no proof may leave security out.
 *
 * <p>A discovery session lists what the one who asks could log in to: targets that are open, and
 * those whose credentials he has shown.
 */
final class Login {
  private static final int SECURITY = 0;
  private static final int OPERATIONAL = 1;
  private static final int FULL_FEATURE = 3;
  private static final int MOST_REQUESTS = 64;

  /** Others show it to others, so that what it is made of matters. */
  private static final Pattern NAME = Pattern.compile("[!-~]{1,223}");

  /** Who it is and what he wants; may be said again in a later stage. */
  private static final Set<String> DECLARED =
      Set.of("InitiatorName", "InitiatorAlias", "TargetName", "SessionType", "AuthMethod");

  /** What a login asks its server. */
  interface Targets {
    List<IscsiTarget> all();

    /** Takes the place of an earlier session of the same port; false if that does not end. */
    boolean begin(Nexus nexus, IscsiTarget target);

    /** A number for a session, not 0. */
    int newSession();
  }

  /** What is wrong, for the initiator. */
  private static final class Failed extends Exception {
    private static final long serialVersionUID = 1;
    final LoginStatus status;

    Failed(LoginStatus status) {
      super(status.name(), null, false, false);
      this.status = status;
    }
  }

  private final ByteChannel channel;
  private final Targets targets;
  private final BufferPool pool;
  private final PduReader reader;
  private final Parameters parameters = new Parameters();
  private final ByteBuffer text = ByteBuffer.allocate(Text.MOST_BYTES);

  private @Nullable CommandWindow window;
  private @Nullable Outbox outbox;
  private int stage;
  private boolean discovery;
  private @Nullable Nexus nexus;
  private @Nullable IscsiTarget target;
  private @Nullable Chap chap;
  private boolean chosen;

  Login(ByteChannel channel, Targets targets, BufferPool pool) {
    this.channel = channel;
    this.targets = targets;
    this.pool = pool;
    Input input = new Input(channel);
    this.reader = new PduReader(input, pool);
    input.whenIdle(this::flush);
  }

  private void flush() throws IOException {
    if (outbox != null) {
      outbox.flush();
    }
  }

  /** Null if it fails; the initiator has been told then. */
  @Nullable Session run() throws IOException {
    for (int requests = 0; requests < MOST_REQUESTS && reader.next(); requests++) {
      ByteBuffer header = reader.header();
      if (reader.opcode() != LOGIN) {
        throw new PeerException("not a login");
      }
      Outbox out = outbox;
      CommandWindow commands = window;
      if (out == null || commands == null) {
        commands = new CommandWindow(header.getInt(24));
        out = new Outbox(channel, pool, commands, header.getInt(28));
        window = commands;
        outbox = out;
        stage = (header.get(1) >> 2) & 3;
      }
      try {
        if (request(header, out)) {
          return session(commands, out);
        }
      } catch (Failed e) {
        respond(out, header, 0, 0, e.status, Map.of());
        out.flush();
        return null;
      }
    }
    return null;
  }

  private Session session(CommandWindow commands, Outbox out) throws IOException, Failed {
    Nexus from = nexus;
    if (from == null) {
      throw new Failed(LoginStatus.MISSING_PARAMETER);
    }
    out.flush();
    out.use(parameters);
    reader.useDigests(parameters.headerDigest, parameters.dataDigest);
    return new Session(from, target, known(), parameters, commands, reader, out);
  }

  private List<IscsiTarget> known() {
    Chap.Proof proof = chap == null ? null : chap.proof();
    if (target != null) {
      return List.of(target);
    }
    return targets.all().stream()
        .filter(one -> one.initiator() == null || (proof != null && proof.targets().contains(one)))
        .toList();
  }

  /** True if it was the last. */
  private boolean request(ByteBuffer header, Outbox out) throws IOException, Failed {
    int flags = header.get(1);
    boolean transit = (flags & FINAL) != 0;
    int next = flags & 3;
    checkHeader(header, flags);
    ByteBuffer data = reader.data();
    if (data == null || data.remaining() > text.remaining()) {
      throw new Failed(LoginStatus.INITIATOR_ERROR);
    }
    text.put(data);
    if ((flags & CONTINUE) != 0) {
      respond(out, header, 0, 0, LoginStatus.SUCCESS, Map.of());
      return false;
    }
    Map<String, String> said = said();
    var answer = new LinkedHashMap<String, String>();
    if (nexus == null) {
      introduce(header, said, answer);
    }
    if (stage == SECURITY) {
      secure(said, answer);
    } else {
      requireProof();
      said.keySet().removeAll(DECLARED);
      answer.putAll(negotiated(said));
    }
    boolean moves = transit && (stage == OPERATIONAL || isSecure());
    boolean last = moves && next == FULL_FEATURE;
    int session = last ? begin() : 0;
    respond(out, header, moves ? FINAL | next : 0, session, LoginStatus.SUCCESS, answer);
    if (moves) {
      stage = next;
    }
    return last;
  }

  private void checkHeader(ByteBuffer header, int flags) throws Failed {
    boolean transit = (flags & FINAL) != 0;
    int next = flags & 3;
    if (header.get(3) != 0) {
      throw new Failed(LoginStatus.VERSION_NOT_SUPPORTED);
    }
    if (header.getShort(14) != 0) {
      // Every session has one connection, and keeps it.
      throw new Failed(LoginStatus.NO_SUCH_SESSION);
    }
    boolean goesOn = transit && (flags & CONTINUE) != 0;
    boolean backwards = transit && (next <= stage || next == 2);
    if (((flags >> 2) & 3) != stage || stage > OPERATIONAL || goesOn || backwards) {
      throw new Failed(LoginStatus.INITIATOR_ERROR);
    }
  }

  private Map<String, String> said() throws Failed {
    try {
      return Text.parse(text.flip());
    } catch (PeerException e) {
      throw new Failed(LoginStatus.INITIATOR_ERROR);
    } finally {
      text.clear();
    }
  }

  private Map<String, String> negotiated(Map<String, String> said) throws Failed {
    try {
      return parameters.negotiate(said);
    } catch (PeerException e) {
      throw new Failed(LoginStatus.INITIATOR_ERROR);
    }
  }

  private void introduce(ByteBuffer header, Map<String, String> said, Map<String, String> answer)
      throws Failed {
    String initiator = said.get("InitiatorName");
    if (initiator == null) {
      throw new Failed(LoginStatus.MISSING_PARAMETER);
    }
    if (!NAME.matcher(initiator).matches()) {
      throw new Failed(LoginStatus.INITIATOR_ERROR);
    }
    nexus = new Nexus(initiator, header.getLong(8) >>> 16);
    switch (said.getOrDefault("SessionType", "Normal")) {
      case "Discovery" -> discovery = true;
      case "Normal" -> {
        target = find(said.get("TargetName"));
        answer.put("TargetPortalGroupTag", "1");
      }
      default -> throw new Failed(LoginStatus.SESSION_TYPE_NOT_SUPPORTED);
    }
  }

  private IscsiTarget find(@Nullable String name) throws Failed {
    if (name == null) {
      throw new Failed(LoginStatus.MISSING_PARAMETER);
    }
    return targets.all().stream()
        .filter(one -> one.name().equals(name))
        .findFirst()
        .orElseThrow(() -> new Failed(LoginStatus.NOT_FOUND));
  }

  /** The targets that can ask for a proof. */
  private List<IscsiTarget> guarded() {
    List<IscsiTarget> asked = target == null ? targets.all() : List.of(target);
    return asked.stream().filter(one -> one.initiator() != null).toList();
  }

  private void secure(Map<String, String> said, Map<String, String> answer) throws Failed {
    String methods = said.get("AuthMethod");
    if (isSecure() && chap != null) {
      // Nothing is left to prove: who has got our proof goes on with a request of its own.
      if (said.keySet().stream().anyMatch(key -> key.startsWith("CHAP_"))) {
        throw new Failed(LoginStatus.AUTHENTICATION_FAILED);
      }
    } else if (chap != null) {
      try {
        answer.putAll(chap.step(said));
      } catch (Chap.Refused e) {
        throw new Failed(LoginStatus.AUTHENTICATION_FAILED);
      }
    } else if (methods != null && !chosen) {
      choose(List.of(methods.split(",", 16)), answer);
    }
  }

  private void choose(List<String> offered, Map<String, String> answer) throws Failed {
    List<IscsiTarget> guarded = guarded();
    boolean wanted = !guarded.isEmpty();
    chosen = true;
    if (wanted && offered.contains("CHAP")) {
      chap = new Chap(guarded);
      answer.put("AuthMethod", "CHAP");
    } else if (offered.contains("None") && (!wanted || discovery)) {
      answer.put("AuthMethod", "None");
    } else {
      throw new Failed(LoginStatus.AUTHENTICATION_FAILED);
    }
  }

  private boolean isSecure() {
    boolean proved = chap != null && chap.proof() != null;
    boolean unguarded = target != null && target.initiator() == null;
    boolean open = chap == null && (discovery || unguarded);
    return proved || open;
  }

  private void requireProof() throws Failed {
    if (!isSecure()) {
      throw new Failed(LoginStatus.AUTHENTICATION_FAILED);
    }
  }

  private int begin() throws Failed {
    requireProof();
    if (target != null && nexus != null && !targets.begin(nexus, target)) {
      throw new Failed(LoginStatus.UNAVAILABLE);
    }
    return targets.newSession();
  }

  private static void respond(
      Outbox out,
      ByteBuffer request,
      int flags,
      int session,
      LoginStatus status,
      Map<String, String> answer)
      throws IOException {
    int stage = request.get(1) & 0x0c;
    ByteBuffer header = Outbox.header(LOGIN_RESPONSE, flags | stage, request.getInt(16));
    header.putLong(8, request.getLong(8));
    if (session != 0) {
      header.putShort(14, (short) session);
    }
    header.putShort(36, status.code);
    out.send(header, Text.format(answer));
  }
}

package dev.platter.block.iscsi;

import static dev.platter.block.iscsi.Protocol.MOST_DATA;

import dev.platter.block.wire.PeerException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * What initiator and target agree on in the operational stage. Keys that need an answer get one;
 * numbers out of their range are answered with Reject and change nothing.
 */
final class Parameters {
  private static final int MOST_BURST = 1 << 20;
  private static final int MOST_FIRST_BURST = 1 << 18;
  private static final int LARGEST = (1 << 24) - 1;

  private final Set<String> agreed = new HashSet<>();
  private boolean told;

  boolean headerDigest;
  boolean dataDigest;
  boolean initialR2t = true;
  boolean immediateData = true;
  int segment = 8192;
  int maxBurst = 1 << 18;
  int firstBurst = 1 << 16;

  /** What the initiator offers becomes what we answer. */
  Map<String, String> negotiate(Map<String, String> offered) throws PeerException {
    Map<String, String> answers = new LinkedHashMap<>();
    for (Map.Entry<String, String> offer : offered.entrySet()) {
      if (!agreed.add(offer.getKey())) {
        throw new PeerException(offer.getKey() + " is negotiated twice");
      }
      String answer = answer(offer.getKey(), offer.getValue());
      if (!answer.isEmpty()) {
        answers.put(offer.getKey(), answer);
      }
    }
    if (!told) {
      told = true;
      answers.put("MaxRecvDataSegmentLength", Integer.toString(MOST_DATA));
    }
    firstBurst = Math.min(firstBurst, maxBurst);
    return answers;
  }

  /** Empty for what is only told. */
  private String answer(String key, String value) {
    return switch (key) {
      case "HeaderDigest" -> {
        String chosen = digest(value);
        headerDigest = chosen.equals("CRC32C");
        yield chosen;
      }
      case "DataDigest" -> {
        String chosen = digest(value);
        dataDigest = chosen.equals("CRC32C");
        yield chosen;
      }
      case "InitialR2T" -> {
        initialR2t = !value.equals("No");
        yield yesOrNo(value);
      }
      case "ImmediateData" -> {
        immediateData = value.equals("Yes");
        yield yesOrNo(value);
      }
      case "MaxRecvDataSegmentLength" -> {
        int told = number(value, 512, LARGEST);
        segment = told < 0 ? segment : told;
        yield told < 0 ? "Reject" : "";
      }
      case "MaxBurstLength" -> {
        int offered = number(value, 512, LARGEST);
        maxBurst = offered < 0 ? maxBurst : Math.min(offered, MOST_BURST);
        yield offered < 0 ? "Reject" : Integer.toString(maxBurst);
      }
      case "FirstBurstLength" -> {
        int offered = number(value, 512, LARGEST);
        firstBurst = offered < 0 ? firstBurst : Math.min(offered, MOST_FIRST_BURST);
        yield offered < 0 ? "Reject" : Integer.toString(firstBurst);
      }
      case "MaxConnections", "MaxOutstandingR2T" -> number(value, 1, 65535) < 0 ? "Reject" : "1";
      case "DefaultTime2Wait" -> number(value, 0, 3600) < 0 ? "Reject" : value;
      case "DefaultTime2Retain" -> number(value, 0, 3600) < 0 ? "Reject" : "0";
      case "ErrorRecoveryLevel" -> number(value, 0, 2) < 0 ? "Reject" : "0";
      case "DataPDUInOrder", "DataSequenceInOrder" -> "Yes";
      case "IFMarker", "OFMarker" -> "No";
      case "TaskReporting" -> "RFC3720";
      case "iSCSIProtocolLevel" -> "1";
      case "InitiatorAlias" -> "";
      default -> "NotUnderstood";
    };
  }

  private static String yesOrNo(String value) {
    return value.equals("Yes") || value.equals("No") ? value : "Reject";
  }

  /** The first that we know: the initiator's wish comes first. */
  private static String digest(String offered) {
    return Arrays.stream(offered.split(",", 8))
        .filter(one -> one.equals("CRC32C") || one.equals("None"))
        .findFirst()
        .orElse("Reject");
  }

  /** In decimal or hexadecimal; negative if it is no such number. */
  static int number(String text, int least, int most) {
    try {
      int value =
          text.startsWith("0x") || text.startsWith("0X")
              ? Integer.parseInt(text, 2, text.length(), 16)
              : Integer.parseInt(text);
      return value < least || value > most ? -1 : value;
    } catch (NumberFormatException e) {
      return -1;
    }
  }
}

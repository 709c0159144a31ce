package dev.platter.node.network;

import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Gives secrets to a program of QEMU, as libvirt does: a key that is used once goes through its
 * standard input, and the secrets, encrypted with that key, are among the arguments. So there may
 * be any number of them, and neither arguments nor environment nor a file tell one.
 */
final class SecretArguments {
  static final String MASTER = "platter-master";

  private static final SecureRandom RANDOM = new SecureRandom();

  private final List<SecretValue> secrets;
  private final byte[] key = random(32);

  SecretArguments(List<SecretValue> secrets) {
    this.secrets = secrets;
  }

  List<String> arguments() {
    List<String> arguments = new ArrayList<>();
    if (!secrets.isEmpty()) {
      arguments.add("--object");
      arguments.add("secret,id=" + MASTER + ",format=base64,file=/dev/stdin");
    }
    for (SecretValue secret : secrets) {
      byte[] iv = random(16);
      arguments.add("--object");
      arguments.add(
          "secret,id=%s,format=base64,keyid=%s,iv=%s,data=%s"
              .formatted(secret.id(), MASTER, base64(iv), base64(encrypt(secret.bytes(), iv))));
    }
    return arguments;
  }

  /** What goes to standard input. */
  byte[] input() {
    return secrets.isEmpty() ? new byte[0] : Base64.getEncoder().encode(key);
  }

  private byte[] encrypt(byte[] plain, byte[] iv) {
    try {
      // QEMU's choice of mode. Nobody can feed it altered bytes who could not do worse.
      Cipher cipher = Cipher.getInstance("AES/CBC/PKCS5Padding");
      cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"), new IvParameterSpec(iv));
      return cipher.doFinal(plain);
    } catch (GeneralSecurityException e) {
      throw new AssertionError("every JDK has AES", e);
    }
  }

  private static byte[] random(int n) {
    byte[] bytes = new byte[n];
    RANDOM.nextBytes(bytes);
    return bytes;
  }

  private static String base64(byte[] bytes) {
    return Base64.getEncoder().encodeToString(bytes);
  }
}

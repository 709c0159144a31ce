package dev.platter.dialect;

import dev.platter.model.ConfigData;
import dev.platter.model.SecretData;
import dev.platter.model.Vm;
import dev.platter.model.Volumes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What manifests hold: VMs, and the objects that they refer to.
 *
 * @param tokens service accounts, as {@code NAMESPACE/NAME}, to the Secrets with their tokens
 */
public record Objects(
    List<Vm> vms,
    SecretData secrets,
    Volumes volumes,
    ConfigData configs,
    Map<String, String> tokens) {
  public static final Objects NONE =
      new Objects(List.of(), SecretData.NONE, Volumes.NONE, ConfigData.NONE, Map.of());

  public Objects {
    vms = List.copyOf(vms);
    tokens = Map.copyOf(tokens);
  }

  static Objects of(Vm vm) {
    return new Objects(List.of(vm), SecretData.NONE, Volumes.NONE, ConfigData.NONE, Map.of());
  }

  static Objects of(SecretData secrets) {
    return new Objects(List.of(), secrets, Volumes.NONE, ConfigData.NONE, Map.of());
  }

  static Objects of(Volumes volumes) {
    return new Objects(List.of(), SecretData.NONE, volumes, ConfigData.NONE, Map.of());
  }

  static Objects of(ConfigData configs) {
    return new Objects(List.of(), SecretData.NONE, Volumes.NONE, configs, Map.of());
  }

  static Objects ofToken(String account, String secret) {
    return new Objects(
        List.of(), SecretData.NONE, Volumes.NONE, ConfigData.NONE, Map.of(account, secret));
  }

  public Objects with(Objects other) {
    var all = new ArrayList<>(vms);
    all.addAll(other.vms);
    var allTokens = new HashMap<>(tokens);
    allTokens.putAll(other.tokens);
    return new Objects(
        all,
        secrets.with(other.secrets),
        volumes.with(other.volumes),
        configs.with(other.configs),
        allTokens);
  }
}

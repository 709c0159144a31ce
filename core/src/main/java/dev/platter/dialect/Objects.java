package dev.platter.dialect;

import dev.platter.model.ConfigData;
import dev.platter.model.GuestFile;
import dev.platter.model.Identities;
import dev.platter.model.SecretData;
import dev.platter.model.Vm;
import dev.platter.model.Volumes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * What manifests hold: VMs, and the objects that they refer to.
 *
 * @param tokens service accounts, as {@code NAMESPACE/NAME}, to the Secrets with their tokens
 * @param mounted what a kubelet has put into the volumes of pods that are files, by {@code
 *     NAMESPACE/POD/VOLUME} and then by the path in the volume: it goes before what the volume's
 *     description says
 */
public record Objects(
    List<Vm> vms,
    SecretData secrets,
    Volumes volumes,
    ConfigData configs,
    Map<String, String> tokens,
    Map<String, SortedMap<String, GuestFile>> mounted,
    Identities identities) {
  public static final Objects NONE =
      new Objects(
          List.of(),
          SecretData.NONE,
          Volumes.NONE,
          ConfigData.NONE,
          Map.of(),
          Map.of(),
          Identities.NONE);

  public Objects {
    vms = List.copyOf(vms);
    tokens = Map.copyOf(tokens);
    mounted = Map.copyOf(mounted);
  }

  public static Objects of(Vm vm) {
    return new Objects(
        List.of(vm),
        NONE.secrets,
        NONE.volumes,
        NONE.configs,
        NONE.tokens,
        NONE.mounted,
        NONE.identities);
  }

  public static Objects of(SecretData secrets) {
    return new Objects(
        NONE.vms, secrets, NONE.volumes, NONE.configs, NONE.tokens, NONE.mounted, NONE.identities);
  }

  public static Objects of(Volumes volumes) {
    return new Objects(
        NONE.vms, NONE.secrets, volumes, NONE.configs, NONE.tokens, NONE.mounted, NONE.identities);
  }

  public static Objects of(ConfigData configs) {
    return new Objects(
        NONE.vms, NONE.secrets, NONE.volumes, configs, NONE.tokens, NONE.mounted, NONE.identities);
  }

  public static Objects of(Identities identities) {
    return new Objects(
        NONE.vms, NONE.secrets, NONE.volumes, NONE.configs, NONE.tokens, NONE.mounted, identities);
  }

  /**
   * @param volume {@code NAMESPACE/POD/VOLUME}
   */
  public static Objects ofMounted(String volume, SortedMap<String, GuestFile> files) {
    return new Objects(
        NONE.vms,
        NONE.secrets,
        NONE.volumes,
        NONE.configs,
        NONE.tokens,
        Map.of(volume, new TreeMap<>(files)),
        NONE.identities);
  }

  static Objects ofToken(String account, String secret) {
    return new Objects(
        NONE.vms,
        NONE.secrets,
        NONE.volumes,
        NONE.configs,
        Map.of(account, secret),
        NONE.mounted,
        NONE.identities);
  }

  public Objects with(Objects other) {
    var all = new ArrayList<>(vms);
    all.addAll(other.vms);
    var allTokens = new HashMap<>(tokens);
    allTokens.putAll(other.tokens);
    var allMounted = new HashMap<>(mounted);
    allMounted.putAll(other.mounted);
    return new Objects(
        all,
        secrets.with(other.secrets),
        volumes.with(other.volumes),
        configs.with(other.configs),
        allTokens,
        allMounted,
        identities.with(other.identities));
  }
}

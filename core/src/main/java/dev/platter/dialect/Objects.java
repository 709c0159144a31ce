package dev.platter.dialect;

import dev.platter.model.SecretData;
import dev.platter.model.Vm;
import dev.platter.model.Volumes;
import java.util.ArrayList;
import java.util.List;

/** What manifests hold: VMs, and the objects that they refer to. */
public record Objects(List<Vm> vms, SecretData secrets, Volumes volumes) {
  public static final Objects NONE = new Objects(List.of(), SecretData.NONE, Volumes.NONE);

  public Objects {
    vms = List.copyOf(vms);
  }

  static Objects of(Vm vm) {
    return new Objects(List.of(vm), SecretData.NONE, Volumes.NONE);
  }

  static Objects of(SecretData secrets) {
    return new Objects(List.of(), secrets, Volumes.NONE);
  }

  static Objects of(Volumes volumes) {
    return new Objects(List.of(), SecretData.NONE, volumes);
  }

  public Objects with(Objects other) {
    var all = new ArrayList<>(vms);
    all.addAll(other.vms);
    return new Objects(all, secrets.with(other.secrets), volumes.with(other.volumes));
  }
}

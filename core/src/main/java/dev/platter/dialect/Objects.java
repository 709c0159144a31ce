package dev.platter.dialect;

import dev.platter.model.SecretData;
import dev.platter.model.Vm;
import java.util.ArrayList;
import java.util.List;

/** What manifests hold: VMs, and the objects that they refer to. */
public record Objects(List<Vm> vms, SecretData secrets) {
  public static final Objects NONE = new Objects(List.of(), SecretData.NONE);

  public Objects {
    vms = List.copyOf(vms);
  }

  public Objects with(Objects other) {
    var all = new ArrayList<>(vms);
    all.addAll(other.vms);
    return new Objects(all, secrets.with(other.secrets));
  }
}

package dev.platter.cluster.webhook;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.model.BlankSource;
import dev.platter.model.ClaimSource;
import dev.platter.model.ContainerImageSource;
import dev.platter.model.ContainerSource;
import dev.platter.model.Credentials;
import dev.platter.model.DeviceSource;
import dev.platter.model.DiskImgSource;
import dev.platter.model.FileSource;
import dev.platter.model.GlusterSource;
import dev.platter.model.HttpSource;
import dev.platter.model.IdentitySource;
import dev.platter.model.ImageSource;
import dev.platter.model.IscsiSource;
import dev.platter.model.NbdSource;
import dev.platter.model.RbdSource;
import dev.platter.model.SecretRef;
import dev.platter.model.ServedSource;
import dev.platter.model.Source;
import dev.platter.model.Vm;
import dev.platter.model.VolumeSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A Secret or a ConfigMap that a VM names outside its volumes. As a volume of the pod the kubelet
 * fetches it, and only from the pod's own namespace, so that no part of Platter needs a right to
 * read Secrets.
 *
 * @param optional whether the VM starts without it
 */
record DataRef(Kind kind, String name, boolean optional) {
  /** Only root reads it, which is who the node's daemon is and the launcher is not. */
  private static final int MODE = 0400;

  private static final List<String> SOURCES =
      List.of(
          "VirtletCloudInitUserDataSource", "VirtletSSHKeySource", "VirtletFilesFromDataSource");

  enum Kind {
    SECRET,
    CONFIG_MAP
  }

  static DataRef secret(String name) {
    return new DataRef(Kind.SECRET, name, false);
  }

  ObjectNode volume(String volumeName) {
    var volume = Json.object();
    volume.put("name", volumeName);
    var source =
        switch (kind) {
          case SECRET -> volume.putObject("secret").put("secretName", name);
          case CONFIG_MAP -> volume.putObject("configMap").put("name", name);
        };
    source.put("defaultMode", MODE);
    if (optional) {
      source.put("optional", true);
    }
    return volume;
  }

  /** Of an annotated pod: those of annotations, of variables and of FlexVolumes. */
  static List<DataRef> of(ObjectNode annotations, ObjectNode spec) {
    var out = new ArrayList<DataRef>();
    for (var source : SOURCES) {
      var text = Json.text(annotations, source);
      if (text != null) {
        out.add(ofAnnotation(source, text));
      }
    }
    for (var container : Json.objects(spec, "containers")) {
      for (var variable : Json.objects(container, "env")) {
        var from = Json.object(variable, "valueFrom");
        add(out, Kind.SECRET, Json.object(from, "secretKeyRef"));
        add(out, Kind.CONFIG_MAP, Json.object(from, "configMapKeyRef"));
      }
    }
    for (var volume : Json.objects(spec, "volumes")) {
      add(out, Kind.SECRET, Json.object(Json.object(volume, "flexVolume"), "secretRef"));
    }
    return out;
  }

  private static void add(List<DataRef> out, Kind kind, ObjectNode ref) {
    var name = Json.text(ref, "name");
    if (name != null && !name.isEmpty()) {
      out.add(new DataRef(kind, name, ref.path("optional").asBoolean()));
    }
  }

  private static DataRef ofAnnotation(String annotation, String text) {
    var parts = text.split("/", -1);
    var kind = parts[0].toLowerCase(Locale.ROOT);
    if (parts.length < 2 || parts[1].isEmpty() || !List.of("configmap", "secret").contains(kind)) {
      throw Json.refused(
          "metadata.annotations." + annotation + ": expected configmap/NAME or secret/NAME");
    }
    return new DataRef(kind.equals("secret") ? Kind.SECRET : Kind.CONFIG_MAP, parts[1], false);
  }

  /** Of a VM object: those of its disks. */
  static List<DataRef> of(Vm vm) {
    return vm.disks().stream()
        .flatMap(disk -> secrets(disk.source()))
        .filter(secret -> secret.kind() == SecretRef.Kind.OBJECT)
        .map(secret -> secret(secret.name().substring(secret.name().indexOf('/') + 1)))
        .toList();
  }

  private static Stream<SecretRef> secrets(Source source) {
    return switch (source) {
      case IscsiSource iscsi -> login(iscsi.login());
      case RbdSource rbd -> login(rbd.login());
      case HttpSource http ->
          Stream.concat(
              Stream.ofNullable(http.ca()), http.headers().stream().map(HttpSource.Header::value));
      case ImageSource _,
          ContainerImageSource _,
          FileSource _,
          BlankSource _,
          VolumeSource _,
          NbdSource _,
          GlusterSource _,
          DeviceSource _,
          DiskImgSource _,
          ClaimSource _,
          ContainerSource _,
          ServedSource _,
          IdentitySource _ ->
          Stream.empty();
    };
  }

  private static Stream<SecretRef> login(@Nullable Credentials login) {
    return login == null ? Stream.empty() : Stream.of(login.secret());
  }
}

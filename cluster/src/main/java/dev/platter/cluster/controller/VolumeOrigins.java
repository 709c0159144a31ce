package dev.platter.cluster.controller;

import dev.platter.cluster.api.DiskImport;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads the {@code source} of a DataVolume. Where a VM of one machine has DataVolumes too, the same
 * words mean the same. Whether an address is one is for the schema of {@code DiskImport} to say,
 * which it becomes.
 */
final class VolumeOrigins {
  private static final List<String> KNOWN =
      List.of("upload", "http", "registry", "s3", "blank", "pvc", "snapshot");
  private static final String DOCKER = "docker://";
  private static final String ADDRESS = "https://s3.example/bucket/key.qcow2";
  private static final Pattern NAME =
      Pattern.compile("[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*");
  private static final Pattern AWS_REGION = Pattern.compile("s3[.-]([a-z0-9-]+)\\.amazonaws\\.com");

  private VolumeOrigins() {}

  /**
   * @param namespace the DataVolume's
   * @throws dev.platter.model.PlatterException that says what is not done here
   */
  static VolumeOrigin read(Written spec, String namespace) {
    if (spec.has("sourceRef")) {
      throw spec.refused(
          ".sourceRef names a DataSource, and there are none here",
          "Write source; pvc and snapshot name what is in this namespace.");
    }
    var source = spec.of("source");
    var kinds = source.names();
    if (kinds.size() != 1) {
      throw source.refused(
          kinds.isEmpty()
              ? " does not say where the disk comes from"
              : " says more than once where the disk comes from",
          "Give one of " + String.join(", ", KNOWN) + ".");
    }
    var kind = kinds.getFirst();
    var fields = source.of(kind);
    return switch (kind) {
      case "upload" -> {
        fields.hasNothingBut();
        yield new VolumeOrigin.Upload();
      }
      case "blank" -> {
        fields.hasNothingBut();
        yield new VolumeOrigin.Blank();
      }
      case "http" -> http(fields);
      case "registry" -> registry(fields);
      case "s3" -> store(fields);
      case "pvc" -> new VolumeOrigin.Claim(named(fields, namespace));
      case "snapshot" -> new VolumeOrigin.Snapshot(named(fields, namespace));
      default ->
          throw fields.refused(
              " is not what Platter fills claims from",
              "Give one of " + String.join(", ", KNOWN) + ".");
    };
  }

  private static VolumeOrigin http(Written http) {
    for (var headers : List.of("extraHeaders", "secretExtraHeaders")) {
      if (http.has(headers)) {
        throw http.refused(
            "." + headers + " is not honoured by Platter",
            "A Secret with authorization, the value of that header, can be named in secretRef.");
      }
    }
    http.hasNothingBut("url", "secretRef", "certConfigMap");
    var from =
        new DiskImport.Http(
            http.required("url", "https://example.org/debian-12.qcow2"),
            name(http, "secretRef"),
            name(http, "certConfigMap"));
    return new VolumeOrigin.Import(new DiskImport.Source(null, from, null, null));
  }

  /** Who pulls it does not matter: {@code pullMethod: node} brings the same bytes. */
  private static VolumeOrigin registry(Written registry) {
    registry.hasNothingBut("url", "pullMethod", "secretRef", "certConfigMap");
    var url = registry.required("url", DOCKER + "registry.example/disks/debian:12");
    if (!url.startsWith(DOCKER) || url.length() == DOCKER.length()) {
      throw registry.refused(".url is no " + DOCKER + "IMAGE", "Write one.");
    }
    var from =
        new DiskImport.Registry(
            url.substring(DOCKER.length()),
            name(registry, "secretRef"),
            name(registry, "certConfigMap"));
    return new VolumeOrigin.Import(new DiskImport.Source(from, null, null, null));
  }

  /** The bucket is the first part of the path, and the object is the rest. */
  private static VolumeOrigin store(Written store) {
    store.hasNothingBut("url", "secretRef", "certConfigMap");
    var url = address(store);
    var path = url.getPath() == null ? "" : url.getPath();
    var slash = path.indexOf('/', 1);
    if (url.getHost() == null || url.getUserInfo() != null || slash < 2) {
      throw store.refused(".url has no bucket and object", "Write it as in " + ADDRESS + ".");
    }
    var from =
        new DiskImport.S3(
            url.getScheme() + "://" + url.getRawAuthority(),
            path.substring(1, slash),
            path.substring(slash + 1),
            region(url.getHost()),
            name(store, "secretRef"),
            name(store, "certConfigMap"));
    return new VolumeOrigin.Import(new DiskImport.Source(null, null, from, null));
  }

  private static URI address(Written store) {
    try {
      return new URI(store.required("url", ADDRESS));
    } catch (URISyntaxException e) {
      // Not shown: there may be a password in it.
      throw store.refused(".url is no address", "Write it as in " + ADDRESS + ".");
    }
  }

  private static @Nullable String region(String host) {
    var aws = AWS_REGION.matcher(host);
    return aws.matches() ? aws.group(1) : null;
  }

  /** Nothing can be named across namespaces: it would be read with our rights. */
  private static String named(Written fields, String namespace) {
    fields.hasNothingBut("name", "namespace");
    var place = fields.text("namespace");
    if (place != null && !place.equals(namespace)) {
      throw fields.refused(
          ".namespace is another than the DataVolume's",
          "A disk is copied within one namespace; leave it out.");
    }
    var name = fields.required("name", "golden");
    if (!NAME.matcher(name).matches()) { // It becomes a part of an address.
      throw fields.refused(".name is no name of an object", "Write it, such as golden.");
    }
    return name;
  }

  private static DiskImport.@Nullable Named name(Written fields, String field) {
    var name = fields.text(field);
    return name == null ? null : new DiskImport.Named(name);
  }
}

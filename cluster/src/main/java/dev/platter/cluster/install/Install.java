package dev.platter.cluster.install;

import dev.platter.dialect.NodeFile;
import dev.platter.model.ByteSize;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Pool;
import dev.platter.node.RawDevices;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * All objects that Platter is on a cluster, as one YAML text: a plain list of objects with fixed
 * names, in an order in which they can be applied, for {@code kubectl apply} and kustomize. Applied
 * again it changes what the options changed; certificates and VMs stay.
 */
public final class Install {
  public static final String DEFAULT_NAMESPACE = "platter-system";
  public static final String DEFAULT_KUBELET_ROOT = "/var/lib/kubelet";

  private static final String DNS_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
  private static final String DNS_NAME = DNS_LABEL + "(\\." + DNS_LABEL + ")*";
  private static final String IMAGE = "[A-Za-z0-9][A-Za-z0-9._:/@-]{0,1023}";
  private static final String FORMAT =
      """
      type: string
      enum: [raw, qcow2, vmdk, vhd, vhdx, vdi, tar]
      description: What the file is, whatever it looks like. Say raw for a raw disk that a guest has written to. With tar the file is an archive, packed with gzip, xz or zstd or not, and its files become those of the claim's file system; a claim with volumeMode Block is not filled with one.
      """;
  private static final String OBSERVED_SOURCE =
      "observedSource: {type: string, description: 'The UID and generation of the DiskImport that this one names; nothing if it names none, or cannot have its disk.'}\n";
  private static final String CDI = "- {name: PLATTER_CDI, value: \"true\"}\n";
  private static final List<String> PULL_POLICIES = List.of("IfNotPresent", "Always", "Never");

  /**
   * @param pools usage types with their directories on the nodes
   * @param rawDevices the block devices that VMs may name: patterns with commas between them
   * @param images what they may take of each node
   * @param pullSecrets Secrets of the namespace with logins for the registry of {@code image}
   * @param serviceMonitor whether Prometheus' operator is to be told of the metrics
   * @param cdi whether clients of CDI can send disks, and there are DataVolumes
   */
  public record Options(
      String namespace,
      String image,
      String pullPolicy,
      List<PoolOption> pools,
      String rawDevices,
      ImageBounds images,
      List<String> pullSecrets,
      String kubeletRoot,
      boolean serviceMonitor,
      boolean cdi) {
    public Options {
      pools = List.copyOf(pools);
      pullSecrets = List.copyOf(pullSecrets);
      var problems = new ArrayList<String>();
      check(problems, namespace.matches(DNS_LABEL), "'" + namespace + "' is not a namespace");
      check(problems, image.matches(IMAGE), "'" + image + "' is not the name of an image");
      check(
          problems,
          PULL_POLICIES.contains(pullPolicy),
          "'" + pullPolicy + "' is not a pull policy; write one of " + PULL_POLICIES);
      for (var secret : pullSecrets) {
        check(problems, secret.matches(DNS_NAME), "'" + secret + "' is not the name of a Secret");
      }
      check(
          problems,
          kubeletRoot.matches("/[A-Za-z0-9._/-]+") && !kubeletRoot.contains("/.."),
          "'" + kubeletRoot + "' is not an absolute path");
      if (!problems.isEmpty()) {
        throw PlatterException.all(
            Code.INVALID, "the options cannot be used", "See platter install --help.", problems);
      }
      RawDevices.parse(rawDevices);
    }

    private static void check(List<String> problems, boolean good, String otherwise) {
      if (!good) {
        problems.add(otherwise);
      }
    }
  }

  /**
   * {@code TYPE=DIRECTORY[:LIMIT]}.
   *
   * @param limit what its disks may take; null if there is no limit
   */
  public record PoolOption(String type, String directory, @Nullable ByteSize limit) {
    public static PoolOption parse(String text) {
      var equals = text.indexOf('=');
      var colon = text.indexOf(':', equals);
      if (equals < 1 || !text.startsWith("/", equals + 1)) {
        throw new IllegalArgumentException(
            "'"
                + text
                + "' is not a pool; write TYPE=DIRECTORY or TYPE=DIRECTORY:LIMIT, such as"
                + " fast=/storage/ssd:100Gi");
      }
      return new PoolOption(
          text.substring(0, equals),
          text.substring(equals + 1, colon < 0 ? text.length() : colon),
          colon < 0 ? null : ByteSize.parse(text.substring(colon + 1)));
    }
  }

  /**
   * What images may take of each node.
   *
   * @param limit of all images together, above which unused ones are removed; null for none
   * @param rate to fetch in a second in the background at most; null for no limit
   */
  public record ImageBounds(@Nullable ByteSize limit, @Nullable ByteSize rate) {
    public static final ImageBounds NONE = new ImageBounds(null, null);

    public ImageBounds {
      requireSome("limit", limit);
      requireSome("rate", rate);
    }

    /** To the daemon zero is no bound at all, which nobody means who writes it. */
    private static void requireSome(String what, @Nullable ByteSize size) {
      if (size != null && size.bytes() == 0) {
        throw new IllegalArgumentException(
            "a " + what + " of 0 leaves nothing for images; leave the option out for none");
      }
    }
  }

  private Install() {}

  public static String yaml(Options options) {
    var nodeFile = nodeFile(options.pools());
    var schema = new Template();
    schema.lines("auth", Template.read("auth.yaml"));
    var crds = new Template();
    crds.lines("spec", withoutComments(schema.fill("vm-spec.yaml")));
    crds.lines("conditions", Template.read("conditions.yaml"));
    crds.lines("claims", Template.read("fill-claims.yaml"));
    crds.lines("rules", Template.read("identity-rules.yaml"));
    crds.lines("properties", Template.read("identity-properties.yaml"));
    var template =
        new Template()
            .text("namespace", options.namespace())
            .text("image", options.image())
            .text("pullPolicy", options.pullPolicy())
            .text("rawDevices", options.rawDevices())
            .text("kubeletRoot", options.kubeletRoot())
            .text("nodeFileDigest", digest(nodeFile))
            .text("isNodeDaemon", isNodeDaemon(options.namespace()))
            .lines("cdi", options.cdi() ? CDI : "")
            .lines("nodeFile", nodeFile)
            .lines("imageBounds", imageBounds(options.images()))
            .lines("pullSecrets", pullSecrets(options.pullSecrets()))
            .lines("poolMounts", poolMounts(options.pools()))
            .lines("poolVolumes", poolVolumes(options.pools()));
    var documents = new ArrayList<String>();
    documents.add(template.fill("namespace.yaml"));
    documents.add(template.fill("disk-references.yaml"));
    documents.add(crds.fill("crds.yaml"));
    documents.add(crds.fill("identities.yaml"));
    documents.add(fills());
    documents.add(template.fill("controller.yaml"));
    documents.add(template.fill("node.yaml"));
    if (options.serviceMonitor()) {
      documents.add(template.fill("monitoring.yaml"));
    }
    documents.add(template.fill("admission.yaml"));
    if (options.cdi()) {
      documents.add(dataVolumes(options.namespace()));
      documents.add(template.fill("uploads.yaml"));
    }
    return String.join("---\n", documents);
  }

  private static String dataVolumes(String namespace) {
    return new Template()
        .text("namespace", namespace)
        .lines("conditions", Template.read("conditions.yaml"))
        .lines("claim", Template.read("datavolume-claim.yaml"))
        .lines("named", Template.read("datavolume-named.yaml"))
        .fill("datavolumes.yaml");
  }

  private static String fills() {
    return new Template()
        .lines("status", fillStatus(OBSERVED_SOURCE))
        .lines("uploadStatus", fillStatus(""))
        .lines("columns", Template.read("fill-columns.yaml"))
        .lines("format", FORMAT)
        .lines(
            "pullSecret",
            named(
                "A Secret of this namespace with a login for the registry, of type kubernetes.io/dockerconfigjson."))
        .lines(
            "webSecret",
            named(
                "A Secret of this namespace with username and password, or with authorization: the whole value of that header."))
        .lines(
            "storeSecret",
            named(
                "A Secret of this namespace with accessKeyId and secretAccessKey; without it the object is asked for as everybody can."))
        .lines(
            "caConfigMap",
            named(
                "A ConfigMap of this namespace with certificates of authorities (PEM) that the server's may be signed by, beside the usual ones."))
        .fill("fills.yaml");
  }

  private static String fillStatus(String observedSource) {
    return new Template()
        .lines("observedSource", observedSource)
        .lines("conditions", Template.read("conditions.yaml"))
        .lines("claims", Template.read("fill-claims.yaml"))
        .fill("fill-status.yaml");
  }

  private static String named(String description) {
    return """
    type: object
    description: %s
    required: [name]
    properties:
      name: {type: string, minLength: 1, maxLength: 253, description: Its name.}
    """
        .formatted(Template.quoted(description));
  }

  private static String withoutComments(String yaml) {
    return yaml.replaceAll("(?m)^#.*\n", "");
  }

  private static String isNodeDaemon(String namespace) {
    return "request.userInfo.username == 'system:serviceaccount:" + namespace + ":platter-node'";
  }

  /** What the node itself will read, checked as the node will check it. */
  private static String nodeFile(List<PoolOption> pools) {
    if (pools.isEmpty()) {
      return "annotations: {}\n";
    }
    var out = new StringBuilder("annotations:\n");
    for (var pool : pools) {
      out.append(annotation(Pool.USAGE_TYPE + pool.type(), pool.directory()));
      var limit = pool.limit();
      if (limit != null) {
        out.append(annotation(Pool.LIMIT + pool.type(), limit.toString()));
      }
    }
    var text = out.toString();
    var usual = Path.of("/var/lib/platter/pools");
    NodeFile.pools(
        "pools",
        text,
        Map.of(
            Pool.DEFAULT, usual.resolve(Pool.DEFAULT), Pool.VOLUMES, usual.resolve(Pool.VOLUMES)),
        directory -> Path.of(directory).normalize());
    return text;
  }

  private static String annotation(String name, String value) {
    return "  " + Template.quoted(name) + ": " + Template.quoted(value) + "\n";
  }

  static String pullSecrets(List<String> names) {
    if (names.isEmpty()) {
      return "";
    }
    var out = new StringBuilder("imagePullSecrets:\n");
    names.forEach(name -> out.append("- name: ").append(Template.quoted(name)).append('\n'));
    return out.toString();
  }

  /** As arguments of the daemon. */
  private static String imageBounds(ImageBounds images) {
    return argument("--limit", images.limit()) + argument("--rate", images.rate());
  }

  private static String argument(String option, @Nullable ByteSize value) {
    return value == null ? "" : "- %s\n- %s\n".formatted(option, Template.quoted(value.toString()));
  }

  /** At the same path as on the node: QEMU's files are named by it. */
  private static String poolMounts(List<PoolOption> pools) {
    var out = new StringBuilder();
    for (var i = 0; i < pools.size(); i++) {
      var path = Template.quoted(pools.get(i).directory());
      out.append("- {name: pool-%d, mountPath: %s}\n".formatted(i, path));
    }
    return out.toString();
  }

  private static String poolVolumes(List<PoolOption> pools) {
    var out = new StringBuilder();
    for (var i = 0; i < pools.size(); i++) {
      var path = Template.quoted(pools.get(i).directory());
      out.append("- name: pool-%d\n".formatted(i));
      out.append("  hostPath: {path: %s, type: DirectoryOrCreate}\n".formatted(path));
    }
    return out.toString();
  }

  private static String digest(String text) {
    try {
      var hash = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(hash, 0, 8);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JDK has SHA-256", e);
    }
  }
}

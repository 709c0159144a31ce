package dev.platter.dialect;

import dev.platter.model.Bus;
import dev.platter.model.ByteSize;
import dev.platter.model.CloudInit;
import dev.platter.model.CpuModel;
import dev.platter.model.GuestFile;
import dev.platter.model.Identity;
import dev.platter.model.PlainMaps;
import dev.platter.model.PlatterException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Reads what the annotations of a pod say about its VM. */
final class PodAnnotations {
  static final String RUNTIME = "kubernetes.io/target-runtime";
  static final String OUR_RUNTIME = "virtlet.cloud";
  static final String ROOT_SIZE = "VirtletRootVolumeSize";
  static final String SYSTEM_UUID = "VirtletSystemUUID";

  private static final String PREFIX = "Virtlet";
  private static final String USER_DATA = "VirtletCloudInitUserData";
  private static final String USER_DATA_SCRIPT = "VirtletCloudInitUserDataScript";
  private static final String USER_DATA_SOURCE = "VirtletCloudInitUserDataSource";
  private static final String USER_DATA_KEY = "VirtletCloudInitUserDataSourceKey";
  private static final String USER_DATA_ENCODING = "VirtletCloudInitUserDataSourceEncoding";
  private static final String SSH_KEYS = "VirtletSSHKeys";
  private static final String SSH_KEY_SOURCE = "VirtletSSHKeySource";
  private static final Map<String, Bus> DRIVERS =
      Map.of(Bus.SCSI.word(), Bus.SCSI, Bus.VIRTIO.word(), Bus.VIRTIO);
  private static final Map<String, Boolean> ENCODINGS = Map.of("plain", false, "base64", true);
  private static final int MOST_CPUS = 255;

  /** They make something that is made anyhow, or not needed here. */
  private static final String[] WITHOUT_EFFECT = {
    "VirtletForceDHCPNetworkConfig", "VirtletChown9pfsMounts"
  };

  private final Fields annotations;
  private final String namespace;
  private final Objects given;

  PodAnnotations(Fields annotations, String namespace, Objects given) {
    this.annotations = annotations;
    this.namespace = namespace;
    this.given = given;
  }

  /** Reports annotations that look like ours and are not. */
  void done() {
    annotations.ignore(WITHOUT_EFFECT);
    for (var name : annotations.names()) {
      if (!name.startsWith(PREFIX)) {
        annotations.ignore(name);
      }
    }
    annotations.done();
  }

  /** False, with the reason reported, if the pod is not to be a VM. */
  boolean isVm() {
    var runtime = annotations.text(RUNTIME);
    if (OUR_RUNTIME.equals(runtime)) {
      return true;
    }
    annotations.problem(
        RUNTIME,
        runtime == null
            ? "is missing: a pod that is a VM has " + RUNTIME + ": " + OUR_RUNTIME
            : "unknown runtime '" + Fields.brief(runtime) + "'; write " + OUR_RUNTIME);
    return false;
  }

  /** Whether the image is a container image that is run as it is. */
  boolean runsImage() {
    if (!annotations.flag(PodProgram.ANNOTATION)) {
      return false;
    }
    PodProgram.refuse(annotations);
    return true;
  }

  Bus bus() {
    var bus = annotations.word("VirtletDiskDriver", DRIVERS);
    return bus == null ? Bus.SCSI : bus;
  }

  /** Null if it is left to the resources. */
  @Nullable Integer cpus() {
    return annotations.<Integer>parsed(
        "VirtletVCPUCount",
        text -> {
          if (!text.matches("[-+]?\\d{1,9}") || Integer.parseInt(text) > MOST_CPUS) {
            throw new IllegalArgumentException(
                "expected a whole number up to "
                    + MOST_CPUS
                    + ", found '"
                    + Fields.brief(text)
                    + "'");
          }
          return Math.max(1, Integer.parseInt(text));
        });
  }

  @Nullable ByteSize rootSize() {
    return annotations.size(ROOT_SIZE);
  }

  @Nullable UUID systemUuid() {
    return annotations.<UUID>parsed(
        SYSTEM_UUID,
        text -> {
          if (!text.matches("\\p{XDigit}{8}(-\\p{XDigit}{4}){3}-\\p{XDigit}{12}")) {
            throw new IllegalArgumentException("'" + Fields.brief(text) + "' is not a UUID");
          }
          return UUID.fromString(text);
        });
  }

  /** Whose disk the root is; null if it is the pod's own. */
  @Nullable Identity identity(
      String pod, String image, Fields container, @Nullable UUID systemUuid) {
    var reader = new PodIdentity(annotations, namespace, given);
    var identity = reader.of(pod, image, container);
    if (identity != null) {
      reader.refuse(identity.spec(), pod, systemUuid);
    }
    return identity;
  }

  @Nullable CpuModel cpu() {
    var known =
        annotations.<CpuModel>parsed(
            "VirtletCPUModel",
            text ->
                switch (text) {
                  case "" -> CpuModels.NONE;
                  case "host-model" -> CpuModels.HOST;
                  default ->
                      throw new IllegalArgumentException(
                          "expected host-model or nothing, found '" + Fields.brief(text) + "'");
                });
    var written =
        annotations.<CpuModel>parsed(
            "VirtletLibvirtCPUSetting", text -> CpuModels.read(yaml(text, false)));
    var chosen = written == null ? known : written;
    return CpuModels.NONE.equals(chosen) ? null : chosen;
  }

  /** Whether the script of a user takes what cloud-init would have done with volumes and files. */
  static boolean takesScript(CloudInit cloudInit) {
    var text = cloudInit.userDataText();
    return text == null || text.contains(CloudInit.MOUNT_SCRIPT);
  }

  CloudInit cloudInit() {
    var type =
        annotations.<CloudInit.Type>parsed(
            "VirtletCloudInitImageType",
            text ->
                switch (text.toLowerCase(Locale.ROOT)) {
                  case "nocloud" -> CloudInit.Type.NOCLOUD;
                  case "configdrive" -> CloudInit.Type.CONFIGDRIVE;
                  default ->
                      throw new IllegalArgumentException(
                          "expected nocloud or configdrive, found '" + Fields.brief(text) + "'");
                });
    var overwrite = "true".equals(annotations.text("VirtletCloudInitUserDataOverwrite"));
    var written = map(USER_DATA);
    var source = source();
    var script = annotations.text(USER_DATA_SCRIPT);
    refuseLosing(script, source, written, overwrite);
    var keys = sshKeys(overwrite);
    return new CloudInit(
        type == null ? CloudInit.Type.NOCLOUD : type,
        overwrite ? written : PlainMaps.merge(source.map(), written),
        script != null ? script : written.isEmpty() || !overwrite ? source.text() : null,
        map("VirtletCloudInitMetaData"),
        null,
        keys.keys(),
        source.secret() || keys.secret());
  }

  /** A script is all of the user-data, so nothing else can be said beside it. */
  private void refuseLosing(
      @Nullable String script, UserData source, Map<String, Object> written, boolean overwrite) {
    if (script != null && annotations.has(USER_DATA)) {
      annotations.problem(USER_DATA_SCRIPT, "is given beside " + USER_DATA + "; remove one");
    } else if (script != null && annotations.has(USER_DATA_SOURCE) && !overwrite) {
      annotations.problem(USER_DATA_SCRIPT, "is given beside " + USER_DATA_SOURCE + "; remove one");
    } else if (source.text() != null && !written.isEmpty() && !overwrite) {
      annotations.problem(
          USER_DATA, "the key of " + USER_DATA_SOURCE + " is a script, which takes nothing more");
    }
  }

  /** User-data that is kept in an object: either a mapping or another kind of text. */
  private record UserData(Map<String, Object> map, @Nullable String text, boolean secret) {
    static final UserData NONE = new UserData(Map.of(), null, false);
  }

  private UserData source() {
    var key = annotations.text(USER_DATA_KEY);
    var encoded = annotations.word(USER_DATA_ENCODING, ENCODINGS);
    var found =
        annotations.<UserData>parsed(
            USER_DATA_SOURCE,
            text -> {
              var source = dataSource(text, 2);
              return key == null
                  ? new UserData(source.requiredYaml(), null, source.secret())
                  : whole(source, key, Boolean.TRUE.equals(encoded));
            });
    if (key != null && !annotations.has(USER_DATA_SOURCE)) {
      annotations.problem(USER_DATA_KEY, "needs " + USER_DATA_SOURCE);
    }
    return found == null ? UserData.NONE : found;
  }

  /** A mapping, which is merged with what Platter adds, or a script and the like, which is not. */
  private static UserData whole(DataSource source, String key, boolean encoded) {
    var decoded = encoded ? source.decoded(key) : source;
    var text = decoded.requiredText(key);
    var first = text.lines().findFirst().orElse("").strip();
    if (first.startsWith("#") && !first.equals("#cloud-config")) {
      return new UserData(Map.of(), text, source.secret());
    }
    if (decoded.requiredYaml(key) instanceof Map<?, ?> map) {
      return new UserData(PlainValues.cast(map), null, source.secret());
    }
    throw new IllegalArgumentException(
        "the value of "
            + key
            + " in the "
            + source.kind()
            + " "
            + source.name()
            + " is neither a mapping nor a script");
  }

  /** Of {@code KIND/NAME} or, with three parts, {@code KIND/NAME/KEY}. */
  private DataSource dataSource(String text, int mostParts) {
    var parts = text.split("/", -1);
    if (parts.length < 2 || parts.length > mostParts) {
      throw new IllegalArgumentException(
          "expected "
              + (mostParts == 2 ? "KIND/NAME" : "KIND/NAME or KIND/NAME/KEY")
              + ", such as configmap/my-data, found '"
              + Fields.brief(text)
              + "'");
    }
    return DataSource.parse(given, namespace, parts[0], parts[1]);
  }

  /** Keys of a Secret are public, but nobody says that there is nothing else in it. */
  private record SshKeys(List<String> keys, boolean secret) {}

  private SshKeys sshKeys(boolean overwrite) {
    var out = new ArrayList<String>();
    var written = annotations.text(SSH_KEYS);
    var kept =
        annotations.<String>parsed(
            SSH_KEY_SOURCE,
            text -> {
              var source = dataSource(text, 3);
              var parts = text.split("/", -1);
              return source.requiredText(parts.length == 3 ? parts[2] : "authorized_keys");
            });
    if (kept != null && !(overwrite && written != null)) {
      kept.lines().map(String::strip).filter(line -> !line.isEmpty()).forEach(out::add);
    }
    if (written != null) {
      written.lines().map(String::strip).filter(line -> !line.isEmpty()).forEach(out::add);
    }
    var source = annotations.text(SSH_KEY_SOURCE);
    return new SshKeys(
        out, source != null && source.toLowerCase(Locale.ROOT).startsWith("secret/"));
  }

  /** Where files for the root file system are; null if there are none. */
  @Nullable DataSource rootFiles() {
    return annotations.<DataSource>parsed(
        RootFiles.ANNOTATION,
        text -> {
          var source = dataSource(text, 2);
          source.required();
          return source;
        });
  }

  /** What {@code reader} makes of the files' source; its complaint becomes a problem. */
  List<GuestFile> checked(Supplier<List<GuestFile>> reader) {
    try {
      return reader.get();
    } catch (IllegalArgumentException e) {
      annotations.problem(RootFiles.ANNOTATION, String.valueOf(e.getMessage()));
      return List.of();
    }
  }

  private Map<String, Object> map(String key) {
    var value =
        annotations.<Map<String, Object>>parsed(
            key,
            text -> {
              if (yaml(text, true) instanceof Map<?, ?> map) {
                return PlainValues.cast(map);
              }
              throw new IllegalArgumentException("expected a YAML mapping");
            });
    return value == null ? Map.of() : value;
  }

  private static Object yaml(String text, boolean cloudConfig) {
    try {
      return PlainValues.parse(text, cloudConfig);
    } catch (PlatterException e) {
      throw new IllegalArgumentException(String.join("; ", e.details()), e);
    }
  }
}

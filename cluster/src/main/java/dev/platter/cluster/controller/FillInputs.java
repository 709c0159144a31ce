package dev.platter.cluster.controller;

import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.DiskSource;
import dev.platter.cluster.api.DiskUpload;
import dev.platter.cluster.api.UploadSecret;
import io.fabric8.kubernetes.api.model.ContainerPort;
import io.fabric8.kubernetes.api.model.ContainerPortBuilder;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.EnvVarBuilder;
import io.fabric8.kubernetes.api.model.Volume;
import io.fabric8.kubernetes.api.model.VolumeBuilder;
import io.fabric8.kubernetes.api.model.VolumeMount;
import io.fabric8.kubernetes.api.model.VolumeMountBuilder;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the pod that fills a claim is told of where the disk comes from. Secrets are never read
 * here: the kubelet gives them to the pod.
 *
 * @param arguments of {@code platter fill}
 */
record FillInputs(
    List<String> arguments,
    List<EnvVar> environment,
    List<Volume> volumes,
    List<VolumeMount> mounts,
    List<ContainerPort> ports) {
  private static final String LOGIN_DIRECTORY = "/run/platter/login";
  private static final String CA_DIRECTORY = "/run/platter/ca";

  /**
   * @param pod its name, which the Secret of an upload has as well
   */
  static FillInputs of(DiskSource source, String pod) {
    return switch (source) {
      case DiskImport wanted -> of(wanted.getSpec());
      case DiskUpload wanted -> of(wanted.getSpec(), pod);
    };
  }

  private static FillInputs none(List<String> arguments) {
    return new FillInputs(
        arguments, new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
  }

  private static FillInputs of(DiskImport.Spec spec) {
    var source = spec.source();
    var arguments = new ArrayList<String>();
    var out = none(arguments);
    if (source.registry() != null) {
      var from = source.registry();
      arguments.add("--source=docker://" + from.image());
      out.login(from.pullSecret());
      if (from.pullSecret() != null) {
        out.variable("REGISTRY_AUTH_FILE", LOGIN_DIRECTORY + "/.dockerconfigjson");
      }
      out.trust(from.caConfigMap());
    } else if (source.http() != null) {
      var from = source.http();
      arguments.add("--source=" + from.url());
      out.login(from.secretRef());
      out.trust(from.caConfigMap());
    } else if (source.s3() != null) {
      var from = source.s3();
      arguments.add("--source=s3://" + from.bucket() + "/" + from.key());
      out.variable("AWS_ENDPOINT_URL", from.endpoint());
      out.variable("AWS_REGION", from.region() == null ? "us-east-1" : from.region());
      out.login(from.secretRef());
      out.trust(from.caConfigMap());
    }
    if (spec.digest() != null) {
      arguments.add("--digest=" + spec.digest());
    }
    if (spec.format() != null) {
      arguments.add("--format=" + spec.format());
    }
    return out;
  }

  private static FillInputs of(DiskUpload.@Nullable Spec spec, String pod) {
    var arguments = new ArrayList<String>();
    arguments.add("--upload");
    if (spec != null && spec.format() != null) {
      arguments.add("--format=" + spec.format());
    }
    var out = none(arguments);
    out.login(new DiskImport.Named(pod));
    out.ports.add(
        new ContainerPortBuilder().withName("upload").withContainerPort(UploadSecret.PORT).build());
    return out;
  }

  private void variable(String name, String value) {
    environment.add(new EnvVarBuilder().withName(name).withValue(literal(value)).build());
  }

  /** Kubelets put variables in the place of {@code $(NAME)}. */
  static String literal(String text) {
    return text.replace("$", "$$");
  }

  /** A pod whose Secret is missing waits for it, and the kubelet says so. */
  private void login(DiskImport.@Nullable Named secret) {
    if (secret != null) {
      mount("login", LOGIN_DIRECTORY);
      volumes.add(
          new VolumeBuilder()
              .withName("login")
              .withNewSecret()
              .withSecretName(secret.name())
              .endSecret()
              .build());
      arguments.add("--login=" + LOGIN_DIRECTORY);
    }
  }

  private void trust(DiskImport.@Nullable Named configMap) {
    if (configMap != null) {
      mount("ca", CA_DIRECTORY);
      volumes.add(
          new VolumeBuilder()
              .withName("ca")
              .withNewConfigMap()
              .withName(configMap.name())
              .endConfigMap()
              .build());
      arguments.add("--ca=" + CA_DIRECTORY);
    }
  }

  private void mount(String name, String path) {
    mounts.add(
        new VolumeMountBuilder().withName(name).withMountPath(path).withReadOnly(true).build());
  }
}

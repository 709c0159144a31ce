package dev.platter.model;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The file system of a container image, whose program the VM runs. What is given beside it means
 * what it means for a Kubernetes container.
 *
 * @param reference as for {@link ImageSource}
 * @param command in the place of the image's entrypoint and command; null leaves them
 * @param args in the place of the image's command; null leaves it
 * @param env beside the image's environment, or instead of values there
 * @param directory in which the program runs; null for the image's
 * @param user {@code USER[:GROUP]}; null for the image's
 * @param secret whether a value of {@code env} came from a Secret
 */
public record ContainerImageSource(
    String reference,
    @Nullable List<String> command,
    @Nullable List<String> args,
    Map<String, String> env,
    @Nullable String directory,
    @Nullable String user,
    boolean secret)
    implements Source {
  public static final String KIND = "containerImage";

  public ContainerImageSource {
    command = command == null ? null : List.copyOf(command);
    args = args == null ? null : List.copyOf(args);
    env = Collections.unmodifiableMap(new LinkedHashMap<>(env));
  }

  @Override
  public String kind() {
    return KIND;
  }
}

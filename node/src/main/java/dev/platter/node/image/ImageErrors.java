package dev.platter.node.image;

import dev.platter.image.BadImageException;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Cancellation;
import dev.platter.registry.RegistryException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;

/** Says in the user's words why an image could not be had. */
final class ImageErrors {
  private ImageErrors() {}

  interface Work<T> {
    T get() throws IOException;
  }

  static <T> T explained(String reference, Work<T> work) {
    return explained(reference, "An image for a VM has one raw or qcow2 file in /disk.", work);
  }

  /**
   * @param wanted what the image should be like
   */
  static <T> T explained(String reference, String wanted, Work<T> work) {
    try {
      return work.get();
    } catch (ClosedByInterruptException e) {
      throw Cancellation.cancelled();
    } catch (BadImageException e) {
      throw PlatterException.of(
          Code.REFUSED, "the image " + reference + " is refused: " + e.getMessage(), wanted, e);
    } catch (RegistryException e) {
      throw PlatterException.of(
          code(e), "the image " + reference + ": " + e.getMessage(), advice(e), e);
    } catch (FileNotFoundException e) {
      throw PlatterException.of(
          Code.NOT_FOUND,
          "the image " + reference + ": " + e.getMessage(),
          "Check the directory and the tag of the reference oci:DIRECTORY:TAG.",
          e);
    } catch (IOException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE, "the image " + reference + " cannot be read: " + e.getMessage(), "", e);
    }
  }

  private static String advice(RegistryException e) {
    return e.kind() == RegistryException.Kind.UNAUTHORIZED
        ? "On a cluster, imagePullSecrets of the VM or of its pod give logins."
        : "";
  }

  private static Code code(RegistryException e) {
    return switch (e.kind()) {
      case NOT_FOUND -> Code.NOT_FOUND;
      case UNAUTHORIZED, UNAVAILABLE -> Code.UNAVAILABLE;
      case PROTOCOL -> Code.REFUSED;
    };
  }
}

package dev.platter.registry;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.platter.registry.Credentials.Login;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A program that keeps passwords, {@code docker-credential-NAME}: it gets a server's name on its
 * input and answers in JSON. Its output and its errors are never shown; they may be secrets.
 */
final class CredentialHelper {
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9-]{1,64}");
  private static final int MAX_ANSWER = 64 << 10;
  private static final JsonMapper MAPPER = new JsonMapper();

  /** What helpers print, by Docker's convention, when they know nothing. */
  private static final String NOT_FOUND = "credentials not found in native keychain";

  private final Path program;
  private final Duration patience;

  private CredentialHelper(Path program, Duration patience) {
    this.program = program;
    this.patience = patience;
  }

  /** Looked for in {@code path}, a list of directories; empty if it is not installed. */
  static Optional<CredentialHelper> find(String name, @Nullable String path, Duration patience)
      throws IOException {
    if (!NAME.matcher(name).matches()) {
      throw new IOException("the credential helper's name has other than letters, digits and -");
    }
    if (path != null) {
      for (String directory : path.split(File.pathSeparator, -1)) {
        Path program = Path.of(directory, "docker-credential-" + name);
        if (program.isAbsolute() && Files.isRegularFile(program) && Files.isExecutable(program)) {
          return Optional.of(new CredentialHelper(program, patience));
        }
      }
    }
    return Optional.empty();
  }

  Optional<Login> get(String server) throws IOException {
    Process process =
        new ProcessBuilder(program.toString(), "get")
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    try {
      var answer = new FutureTask<>(() -> answer(process));
      Thread.startVirtualThread(answer);
      try (OutputStream in = process.getOutputStream()) {
        in.write(server.getBytes(StandardCharsets.UTF_8));
      } catch (IOException e) {
        // It may answer without having read; its exit status says more than a broken pipe.
      }
      byte[] bytes = answer.get(patience.toMillis(), TimeUnit.MILLISECONDS);
      if (bytes.length > MAX_ANSWER) {
        throw failed(server, "answers with more than " + MAX_ANSWER + " bytes");
      }
      if (!process.waitFor(patience.toMillis(), TimeUnit.MILLISECONDS)) {
        throw failed(server, "does not end");
      }
      return login(bytes, process.exitValue(), server);
    } catch (TimeoutException e) {
      throw failed(server, "gave no answer for " + patience.toSeconds() + " s");
    } catch (ExecutionException e) {
      throw failed(server, "cannot be read");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while asking " + program.getFileName());
    } finally {
      process.destroyForcibly();
    }
  }

  private static byte[] answer(Process process) throws IOException {
    try (InputStream out = process.getInputStream()) {
      return out.readNBytes(MAX_ANSWER + 1);
    }
  }

  private Optional<Login> login(byte[] answer, int status, String server) throws IOException {
    if (status != 0) {
      if (new String(answer, StandardCharsets.UTF_8).strip().equals(NOT_FOUND)) {
        return Optional.empty();
      }
      throw failed(server, "ended with status " + status);
    }
    try {
      JsonNode json = MAPPER.readTree(answer);
      if (json.path("Username").isTextual() && json.path("Secret").isTextual()) {
        return Optional.of(
            new Login(json.path("Username").textValue(), json.path("Secret").textValue()));
      }
    } catch (IOException e) {
      // Without the cause: it quotes the text around the error.
    }
    throw failed(server, "answered with something else than a user name and a secret");
  }

  private IOException failed(String server, String why) {
    return new IOException(
        "%s, asked for the credentials of %s, %s".formatted(program.getFileName(), server, why));
  }
}

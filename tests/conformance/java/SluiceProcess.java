// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** The real binary (SLUICE_BINARY) on an ephemeral port, with a data directory of its own. */
final class SluiceProcess implements AutoCloseable {
  private static final long READY_SECONDS = 60;

  private final Path folder;
  private final Process process;
  private final int port;

  SluiceProcess() throws IOException, InterruptedException {
    folder = Files.createTempDirectory("sluice-java-");
    Path portFile = folder.resolve("port");
    process =
        new ProcessBuilder(
                System.getenv("SLUICE_BINARY"),
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--data-dir",
                folder.resolve("data").toString(),
                "--port-file",
                portFile.toString())
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("out").toFile())
            .start();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(READY_SECONDS);
    while (!Files.exists(portFile) || Files.readString(portFile).isBlank()) {
      if (!process.isAlive() || System.nanoTime() > end) {
        throw new AssertionError("the server did not get ready:\n" + Files.readString(folder.resolve("out")));
      }
      Thread.sleep(5);
    }
    port = Integer.parseInt(Files.readString(portFile).strip());
  }

  String address() {
    return "127.0.0.1:" + port;
  }

  /** Stops the server, which must end with 0. */
  @Override
  public void close() throws IOException, InterruptedException {
    process.destroy(); // SIGTERM
    boolean hasEnded = process.waitFor(READY_SECONDS, TimeUnit.SECONDS);
    if (!hasEnded || process.exitValue() != 0) {
      process.destroyForcibly();
      throw new AssertionError("the server did not stop well:\n" + Files.readString(folder.resolve("out")));
    }
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) Files.delete(file);
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/** An HTTP server that keeps what arrives and gives one answer. */
final class Target implements AutoCloseable {
  record Received(String method, String path, Map<String, List<String>> headers, String body) {
    /** The value of a header that was sent once. */
    String header(String name) {
      return headers.entrySet().stream()
          .filter(entry -> entry.getKey().equalsIgnoreCase(name))
          .map(entry -> String.join(" and ", entry.getValue()))
          .findFirst()
          .orElse(null);
    }
  }

  final List<Received> received = new CopyOnWriteArrayList<>();
  private final HttpServer server;

  Target(int status) throws IOException {
    server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    server.createContext(
        "/",
        exchange -> {
          String body = new String(exchange.getRequestBody().readAllBytes());
          received.add(
              new Received(
                  exchange.getRequestMethod(),
                  exchange.getRequestURI().toString(),
                  exchange.getRequestHeaders(),
                  body));
          exchange.sendResponseHeaders(status, -1);
          exchange.close();
        });
    server.start();
  }

  String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  @Override
  public void close() {
    server.stop(0);
  }
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Serves HTTP/1.1 on connections it is given, with GNU libmicrohttpd as the
// parser and GnuTLS for TLS. It accepts nothing itself (listener.h does), and it
// knows no route: every request goes to the one handler.
//
// Each phase of a request has a deadline of its own for the whole phase, so that
// a client which sends or reads one byte at a time is closed like a silent one.
// While the handler works there is none: the handler must answer.
//
// Threading: one thread runs all connections and calls the handler; the public
// methods and responders may be used from any thread.
// Ownership: owns its connections. The handler must outlive it.
// Failure: a request the limits forbid gets 413 or 431, a broken one is answered
// by the library or closed; the handler never sees either.

#include <cstddef>
#include <memory>

#include "base/status.h"
#include "base/time.h"
#include "front/net/connection.h"
#include "front/net/http.h"
#include "front/net/tls.h"

namespace sluice::front::net {

struct HttpOptions {
  std::size_t header_bytes_max = std::size_t{16} * 1024;
  std::size_t body_bytes_max = std::size_t{4} * 1024 * 1024;
  /// From the connection's hand-over to the end of the first header, and from a
  /// later request's first line to the end of its header.
  Duration header_deadline = absl::Seconds(10);
  /// From the end of the header to the end of the body.
  Duration body_deadline = absl::Seconds(60);
  /// From the answer to its last byte in the kernel.
  Duration answer_deadline = absl::Seconds(60);
  /// From an answer to the next request's first line.
  Duration idle_deadline = absl::Seconds(75);
};

class HttpServer {
 public:
  /// `tls` may be null: TLS connections must not be handed over then.
  /// Errors: INVALID_ARGUMENT when certificate and key are not usable;
  /// UNAVAILABLE when the system lacks descriptors or threads.
  static StatusOr<std::unique_ptr<HttpServer>> Start(const HttpOptions& options,
                                                     const TlsMaterial* tls, HttpHandler* handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  /// Takes the connection over. After Stop it is closed.
  void Serve(AcceptedConnection connection);

  /// Closes idle connections; requests that have begun go on and their
  /// connections close after the answer. Returns at once.
  void BeginDrain();

  /// Drains for at most `within`, answers what is still open with 503, closes
  /// everything and ends the thread. Idempotent.
  void Stop(Duration within);

 private:
  class Loop;
  explicit HttpServer(std::unique_ptr<Loop> loop);

  std::unique_ptr<Loop> loop_;
};

}  // namespace sluice::front::net

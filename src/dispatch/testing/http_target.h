// SPDX-License-Identifier: Apache-2.0
#pragma once

// An HTTP/1.1 server for tests: answers as told, also in ways no decent server
// would, and keeps every request as it came off the wire. One thread a
// connection; loopback only, on a port of its own.
//
//   auto target = HttpTarget::Start();
//   target->Script({{.status = 503}, {.status = 200}});
//   ... send two requests to target->Url("/task") ...
//   EXPECT_EQ(target->requests()[1].Header("X-CloudTasks-TaskRetryCount"), "1");
//
// Threading: every method from any thread. A handler runs on the connection's
// thread, several at a time, and may block.
// Failure: what goes wrong at start ends the process; afterwards a broken
// connection is just over.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace sluice::dispatch {

/// A request as it arrived.
struct ReceivedRequest {
  std::string head;  // request line and headers, up to and with the empty line
  std::string method;
  std::string target;                                        // as in the request line
  std::vector<std::pair<std::string, std::string>> headers;  // in order, case kept
  std::string body;
  std::uint64_t connection = 0;  // 1 for the first connection, and so on

  /// The value of the first header with exactly this name, case included.
  [[nodiscard]] std::optional<std::string> Header(std::string_view name) const;
  /// How many headers have this name in any case.
  [[nodiscard]] std::size_t CountHeader(std::string_view name) const;
};

/// How a request is answered. The default: 200 at once, no body, keep-alive.
struct HttpAnswer {
  enum class Form : std::uint8_t {
    kComplete,
    kHang,           // never answers; ends when the client goes or the target stops
    kClose,          // closes the connection without a byte
    kGarbage,        // answers with bytes that are not HTTP, then closes
    kSlowHead,       // one byte of the answer every `pace`
    kEndlessHead,    // headers without end
    kEndlessBody,    // status and headers, then a body without end, `pace` between parts
    kTruncatedBody,  // announces twice the body it sends, then closes
  };
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  Form form = Form::kComplete;
  Duration delay;       // before the first byte; cut short when the client goes
  Duration pace;        // for the slow forms
  bool closes = false;  // after a complete answer
};

class HttpTarget {
 public:
  struct Options {
    /// Serve TLS with a fresh self-signed certificate for 127.0.0.1 and localhost.
    bool is_tls = false;
    /// Keep-alive: requests answered on one connection before it is closed; 0: no limit.
    std::size_t requests_per_connection_max = 0;
  };
  using Handler = std::function<HttpAnswer(const ReceivedRequest&)>;

  static std::unique_ptr<HttpTarget> Start() { return Start(Options{}); }
  static std::unique_ptr<HttpTarget> Start(const Options& options);
  virtual ~HttpTarget() = default;  // as Stop

  [[nodiscard]] virtual std::uint16_t port() const = 0;
  /// `http://127.0.0.1:PORT` or `https://...` followed by `path`.
  [[nodiscard]] virtual std::string Url(std::string_view path) const = 0;
  /// The certificate in PEM form; empty without TLS.
  [[nodiscard]] virtual const std::string& certificate() const = 0;

  /// Answers for the next requests in order of arrival; then the default answer.
  virtual void Script(std::vector<HttpAnswer> answers) = 0;
  virtual void SetDefault(HttpAnswer answer) = 0;
  /// Decides every answer from now on, in place of script and default.
  virtual void SetHandler(Handler handler) = 0;

  /// Every request whose head and body arrived, in order of arrival.
  [[nodiscard]] virtual std::vector<ReceivedRequest> requests() const = 0;
  [[nodiscard]] virtual std::size_t request_count() const = 0;
  [[nodiscard]] virtual std::size_t connection_count() const = 0;
  /// Requests that were being answered at the same time, at most so far.
  [[nodiscard]] virtual std::size_t concurrency_max() const = 0;
  /// Requests whose client went away before the answer was complete.
  [[nodiscard]] virtual std::size_t cancelled_count() const = 0;
  /// Forgets requests and counts, keeps connections and answers.
  virtual void Clear() = 0;

  /// False when it took longer than `at_most`.
  virtual bool WaitForRequests(std::size_t count, Duration at_most) = 0;
  virtual bool WaitForCancelled(std::size_t count, Duration at_most) = 0;

  /// Closes the port and every connection. Idempotent.
  virtual void Stop() = 0;
};

/// A loopback port that nothing listens on (it was free a moment ago).
[[nodiscard]] std::uint16_t ClosedPort();

}  // namespace sluice::dispatch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// One HTTP request and what becomes of it: the seam between the HTTP client
// and whoever has something to send (task attempts; later push deliveries).
//
// Threading: both methods run on the client's thread and must not block.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time.h"
#include "core/tasks/model.h"
#include "dispatch/header_lines.h"

namespace sluice::dispatch {

/// What to send. `headers` is empty when the exchange is asked.
struct HttpRequestParts {
  core::HttpMethod method = core::HttpMethod::kPost;
  std::string url;           // as it goes on the wire (url.h)
  HeaderLines& headers;      // without Host, Content-Length and other framing
  std::string_view body;     // left out unless the method is POST, PUT or PATCH; lives as long as
                             // the exchange
  Duration deadline;         // for everything from the name look-up on; real time
  bool may_redirect = true;  // false: a redirect is an answer, whatever the client follows
};

struct HttpResult {
  enum class Kind : std::uint8_t {
    kResponse,          // a status and all headers arrived
    kTimedOut,          // they did not arrive by the deadline
    kConnectionFailed,  // no connection, or it broke, or the request cannot be sent
  };
  Kind kind = Kind::kConnectionFailed;
  std::int32_t http_status = 0;                 // for kResponse
  Duration retry_after = absl::ZeroDuration();  // what the response asks for; zero: nothing
  /// For people, when something went wrong: printable ASCII, at most
  /// kMessageBytesMax. Empty for a response.
  std::string message;
  Duration latency;
};

inline constexpr std::size_t kMessageBytesMax = 512;

class HttpExchange {
 public:
  virtual ~HttpExchange() = default;

  /// Fills in what to send. An error is the outcome: nothing is sent and
  /// Finished gets kConnectionFailed with the status's message.
  virtual Status Describe(HttpRequestParts* parts) = 0;

  /// Called once, unless the client stops first: then the exchange is destroyed
  /// without it. May submit further exchanges.
  virtual void Finished(HttpResult result) = 0;
};

}  // namespace sluice::dispatch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// A libcurl easy handle and everything one request on it needs; reused from
// request to request, since a new handle costs as much as a tenth of a request.
// It turns an exchange into a libcurl request and libcurl's answer into a
// result. It does not run: the reactor does.
//
// What goes on the wire is only what the exchange names, and the framing: no
// header, proxy, cookie, credential file or protocol of libcurl's own.
//
// Threading: one thread. Failure: everything that can go wrong with a request is
// a result of that request.

#include <curl/curl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "dispatch/curl_reactor.h"
#include "dispatch/header_lines.h"
#include "dispatch/http_exchange.h"

namespace sluice::dispatch {

struct HttpTransferOptions {
  bool is_tls_verified = true;
  std::string ca_file;  // PEM; empty: the system's authorities
  std::string proxy;    // URL; empty: none, whatever the environment says
  /// A new connection that takes longer has failed; never more than the deadline.
  Duration connect_timeout = absl::Seconds(30);
  /// An answer's body is dropped; after this much of it the connection is closed.
  std::size_t response_body_bytes_max = 1u << 20;
  std::size_t response_head_bytes_max = 256u << 10;
  int redirects_max = 0;  // 0: a redirect is an answer like any other; at most 3
};

inline constexpr int kRedirectsMax = 3;

class HttpTransfer {
 public:
  HttpTransfer(const HttpTransferOptions& options, CurlReactor* reactor);
  ~HttpTransfer();
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  /// The transfer behind an easy handle the reactor reports.
  static HttpTransfer* Of(CURL* easy);

  /// Takes an exchange and starts its request. False: it cannot be sent, and
  /// Take() says why.
  bool Begin(std::unique_ptr<HttpExchange> exchange);

  /// After the reactor reported `code`: true when the answer led to a further
  /// request, which has begun; false when Take() has the result.
  bool Continue(CURLcode code);

  struct Ended {
    std::unique_ptr<HttpExchange> exchange;
    HttpResult result;
  };
  /// Gives back the exchange with its result; the transfer is free again.
  Ended Take();

  /// Ends the request without a result and destroys the exchange.
  void Abandon();

 private:
  static std::size_t OnHead(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* self);

  void SetConstantOptions(const HttpTransferOptions& options);
  void SetMethodAndBody();
  void SetHeaders();
  void Send();
  bool FollowsRedirect();
  void SetResult(CURLcode code);
  [[nodiscard]] bool IsConnectTimeout() const;
  void SetFailure(std::string_view what);

  const HttpTransferOptions options_;
  CurlReactor* const reactor_;
  CURL* const easy_;
  std::size_t cell_ = 0;

  // The request.
  std::unique_ptr<HttpExchange> exchange_;
  HeaderLines headers_;
  HttpRequestParts parts_;
  std::vector<curl_slist> header_list_;
  Duration time_left_;
  Duration time_used_;  // by earlier hops
  int redirects_left_ = 0;

  // The answer.
  std::size_t head_bytes_ = 0;
  std::size_t body_bytes_ = 0;
  bool is_head_complete_ = false;  // of the final answer, not of an interim one
  bool is_head_too_long_ = false;
  HttpResult result_;
  char error_[CURL_ERROR_SIZE] = {};
};

}  // namespace sluice::dispatch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// HTTP/1.1 as our handlers see it: a whole request in, a whole response out,
// the response at any later time from any thread. Nothing here knows which
// library carries it.
//
// Threading: a request belongs to its handler; a responder may move to any thread.
// Ownership: everything is a value; a responder may outlive the server.
// Failure: a client that went away is not reported; its response is dropped.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::front::net {

struct HttpHeader {
  std::string name;
  std::string value;
};

struct HttpRequest {
  std::string method;
  std::string path;   ///< As sent, percent-encoding and all, up to the '?'.
  std::string query;  ///< As sent, after the '?'; empty without one.
  std::vector<HttpHeader> headers;
  std::string body;
  std::string peer;  ///< `127.0.0.1:40000`
  bool is_tls = false;

  /// The first header of that name in any case, or nullptr.
  [[nodiscard]] const std::string* FindHeader(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json; charset=utf-8";
  /// In addition to Content-Type, Content-Length, Date and Connection.
  std::vector<HttpHeader> headers;
  std::string body;
};

/// The right to answer one request once.
class HttpResponder {
 public:
  /// What the server behind a responder does with the answer.
  class Target {
   public:
    virtual ~Target() = default;
    virtual void Answer(HttpResponse response) = 0;
  };

  explicit HttpResponder(std::shared_ptr<Target> target);
  HttpResponder(HttpResponder&&) noexcept = default;
  HttpResponder& operator=(HttpResponder&&) = delete;
  HttpResponder(const HttpResponder&) = delete;
  HttpResponder& operator=(const HttpResponder&) = delete;
  /// A responder that was never used answers 500, so that no client waits for ever.
  ~HttpResponder();

  /// Answers and lets go of the request. Does not block; any thread.
  /// Requires: not called before on this responder.
  void Send(HttpResponse response);

 private:
  std::shared_ptr<Target> target_;  // shared with the server, which may end first
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// Called on the HTTP thread, which serves all connections: must not block.
  virtual void Handle(HttpRequest request, HttpResponder responder) = 0;
};

/// The answer for what the HTTP layer itself refuses, in the form of Google's error body.
[[nodiscard]] HttpResponse ErrorResponse(int status, std::string_view text);

}  // namespace sluice::front::net

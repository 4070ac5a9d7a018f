// SPDX-License-Identifier: Apache-2.0
#pragma once

// The seam between the HTTP thread and everybody else: what other threads hand
// in (connections, answers, the wish to stop) waits in a mailbox until the HTTP
// thread fetches it. An exchange is one request and its answer to be.
//
// Threading: HttpMailbox and HttpExchange::Answer from any thread; the rest of
// an exchange belongs to the HTTP thread.
// Ownership: an exchange is shared by its connection and its responder, either
// may go first. The mailbox is shared by the server and all exchanges, so that
// an answer after the server's end finds a closed box instead of freed memory.

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "front/net/connection.h"
#include "front/net/http.h"
#include "front/net/unique_fd.h"

struct MHD_Connection;  // of the HTTP library

namespace sluice::front::net {

class HttpExchange;

class HttpMailbox {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Mail {
    std::vector<AcceptedConnection> connections;
    std::vector<std::shared_ptr<HttpExchange>> answered;
    bool is_draining = false;
    std::optional<TimePoint> stop_at;
  };

  HttpMailbox();

  /// False without a descriptor to wake the HTTP thread by.
  [[nodiscard]] bool ok() const { return static_cast<bool>(wake_); }
  /// Readable while there is mail.
  [[nodiscard]] int wake_fd() const { return wake_.get(); }

  void Post(AcceptedConnection connection);
  void Drain();
  void StopAt(TimePoint deadline);

  // For the HTTP thread.
  Mail Fetch();
  /// Refuses connections from here on.
  void Close();

 private:
  friend class HttpExchange;
  void Wake() const;

  UniqueFd wake_;
  std::mutex mutex_;  // guards all below and the exchanges' answers
  Mail mail_;
  bool is_closed_ = false;
};

class HttpExchange final : public HttpResponder::Target,
                           public std::enable_shared_from_this<HttpExchange> {
 public:
  explicit HttpExchange(std::shared_ptr<HttpMailbox> mailbox) : mailbox_(std::move(mailbox)) {}

  /// The first answer counts, later ones are dropped.
  void Answer(HttpResponse answer) override;

  // For the HTTP thread.

  /// True: the answer is in `response`. False: its arrival will be mailed.
  bool HasAnswerOrWait();

  HttpRequest request;
  HttpResponse response;       // stable once HasAnswerOrWait said true
  std::size_t body_bytes = 0;  // received, kept or not
  std::optional<HttpResponse> refusal;
  bool has_header = false;
  bool is_dispatched = false;  // the handler has it
  bool is_last = false;        // the connection closes after the answer
  bool is_suspended = false;
  MHD_Connection* handle = nullptr;  // while suspended

 private:
  const std::shared_ptr<HttpMailbox> mailbox_;
  // Guarded by the mailbox's mutex.
  bool is_answered_ = false;
  bool is_awaited_ = false;
};

}  // namespace sluice::front::net

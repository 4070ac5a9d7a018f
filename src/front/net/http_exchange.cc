// SPDX-License-Identifier: Apache-2.0
#include "front/net/http_exchange.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace sluice::front::net {

HttpMailbox::HttpMailbox() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void HttpMailbox::Wake() const {
  const std::uint64_t one = 1;
  // The only failure is a counter at its maximum, and then the thread wakes anyway.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void HttpMailbox::Post(AcceptedConnection connection) {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
    mail_.connections.push_back(std::move(connection));
  }
  Wake();
}

void HttpMailbox::Drain() {
  {
    const std::lock_guard lock(mutex_);
    mail_.is_draining = true;
  }
  Wake();
}

void HttpMailbox::StopAt(TimePoint deadline) {
  {
    const std::lock_guard lock(mutex_);
    mail_.is_draining = true;
    mail_.stop_at = deadline;
  }
  Wake();
}

HttpMailbox::Mail HttpMailbox::Fetch() {
  std::uint64_t ignored = 0;
  [[maybe_unused]] const ssize_t n = ::read(wake_.get(), &ignored, sizeof ignored);
  const std::lock_guard lock(mutex_);
  Mail mail = std::exchange(mail_, {});
  mail_.is_draining = mail.is_draining;
  mail_.stop_at = mail.stop_at;
  return mail;
}

void HttpMailbox::Close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  mail_.connections.clear();
}

void HttpExchange::Answer(HttpResponse answer) {
  {
    const std::lock_guard lock(mailbox_->mutex_);
    if (is_answered_) return;
    is_answered_ = true;
    response = std::move(answer);
    if (!is_awaited_ || mailbox_->is_closed_) return;
    mailbox_->mail_.answered.push_back(shared_from_this());
  }
  mailbox_->Wake();
}

bool HttpExchange::HasAnswerOrWait() {
  const std::lock_guard lock(mailbox_->mutex_);
  is_awaited_ = !is_answered_;
  return is_answered_;
}

}  // namespace sluice::front::net

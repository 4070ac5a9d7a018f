// SPDX-License-Identifier: Apache-2.0
#include "dispatch/http_client.h"

#include <fmt/format.h>
#include <signal.h>

#include <utility>

namespace sluice::dispatch {

HttpClient::HttpClient(const Options& options)
    : options_(options), reactor_(options.reactor), thread_([this] { Run(); }) {}

HttpClient::~HttpClient() { Stop(absl::ZeroDuration()); }

void HttpClient::Submit(std::unique_ptr<HttpExchange> exchange) {
  {
    const std::lock_guard lock(mutex_);
    submitted_.fetch_add(1, std::memory_order_relaxed);
    if (!is_accepting_) {
      abandoned_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    // A refused exchange takes the same way, so that Finished is never called
    // from within Submit.
    const bool is_refused = open_.fetch_add(1) >= options_.in_flight_max;
    inbox_.push_back({std::move(exchange), is_refused});
  }
  reactor_.Wake();
}

void HttpClient::Stop(Duration grace) {
  {
    std::unique_lock lock(mutex_);
    is_accepting_ = false;
    all_closed_.wait_for(lock, absl::ToChronoNanoseconds(grace), [this] { return open_ == 0; });
    is_ending_ = true;
  }
  reactor_.Wake();
  if (thread_.joinable()) thread_.join();
}

HttpClient::Counters HttpClient::counters() const {
  return {.submitted = submitted_.load(std::memory_order_relaxed),
          .refused = refused_.load(std::memory_order_relaxed),
          .abandoned = abandoned_.load(std::memory_order_relaxed),
          .open = open_.load(std::memory_order_relaxed),
          .connections_opened = connections_opened_.load(std::memory_order_relaxed)};
}

void HttpClient::Run() {
  // A TLS library may write to a socket the other side has closed.
  sigset_t pipe_signal;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);

  const auto is_work_waiting = [this] {
    const std::lock_guard lock(mutex_);
    return !inbox_.empty() || is_ending_;
  };
  const auto completed = [this](CURL* easy, CURLcode code) {
    Complete(HttpTransfer::Of(easy), code);
  };
  std::vector<Submitted> batch;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (is_ending_) break;
      batch.swap(inbox_);
    }
    for (Submitted& submitted : batch) Start(std::move(submitted));
    batch.clear();
    reactor_.Run(is_work_waiting, completed);
    connections_opened_.store(reactor_.connections_opened(), std::memory_order_relaxed);
    if (open_ == 0) {
      const std::lock_guard lock(mutex_);
      if (!is_accepting_) all_closed_.notify_all();
    }
  }
  AbandonAll();
}

void HttpClient::Start(Submitted submitted) {
  if (submitted.is_refused) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    --open_;
    submitted.exchange->Finished(
        {.message = fmt::format("the server already has {} requests open, its limit",
                                options_.in_flight_max)});
    return;
  }
  if (free_.empty()) {
    transfers_.push_back(std::make_unique<HttpTransfer>(options_.transfer, &reactor_));
    free_.push_back(transfers_.back().get());
  }
  HttpTransfer* const transfer = free_.back();
  free_.pop_back();
  busy_.insert(transfer);
  if (!transfer->Begin(std::move(submitted.exchange))) Finish(transfer);
}

void HttpClient::Complete(HttpTransfer* transfer, CURLcode code) {
  if (!transfer->Continue(code)) Finish(transfer);
}

void HttpClient::Finish(HttpTransfer* transfer) {
  HttpTransfer::Ended ended = transfer->Take();
  busy_.erase(transfer);
  free_.push_back(transfer);
  --open_;
  ended.exchange->Finished(std::move(ended.result));
}

void HttpClient::AbandonAll() {
  std::vector<Submitted> unsent;
  {
    const std::lock_guard lock(mutex_);
    unsent.swap(inbox_);
  }
  for (HttpTransfer* const transfer : busy_) transfer->Abandon();
  abandoned_.fetch_add(busy_.size() + unsent.size(), std::memory_order_relaxed);
  open_ = 0;
  busy_.clear();
  free_.clear();
  transfers_.clear();
}

}  // namespace sluice::dispatch

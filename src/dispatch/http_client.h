// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sends HTTP requests, many at a time, on one thread of its own. It knows
// nothing of tasks; it does not retry. One exception is libcurl's: a request on
// a kept connection that the other side closed before answering is sent once
// more on a new one, which the receiver may see as the same request twice.
//
// Threading: Submit, Stop and counters from any thread; exchanges are called on
// the client's thread.
// Ownership: an exchange belongs to the client from Submit until it is finished.
// Failure: what goes wrong with a request is its result. Submit never blocks and
// never fails; beyond `in_flight_max` an exchange is finished as failed at once.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/time.h"
#include "dispatch/curl_reactor.h"
#include "dispatch/http_exchange.h"
#include "dispatch/http_transfer.h"

namespace sluice::dispatch {

class HttpClient {
 public:
  struct Options {
    HttpTransferOptions transfer;
    CurlReactor::Options reactor;
    /// Exchanges submitted and not finished. Each may need a descriptor.
    std::size_t in_flight_max = 10'000;
  };

  struct Counters {
    std::uint64_t submitted = 0;
    std::uint64_t refused = 0;    // beyond in_flight_max
    std::uint64_t abandoned = 0;  // by Stop, without a result
    std::uint64_t open = 0;       // now
    std::uint64_t connections_opened = 0;
  };

  explicit HttpClient(const Options& options);
  /// As Stop without grace.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Takes the exchange and returns. After Stop it is destroyed unfinished.
  void Submit(std::unique_ptr<HttpExchange> exchange);

  /// Takes nothing more, lets what is open finish for at most `grace`, then ends
  /// the rest without calling Finished. Blocks; not for the client's thread.
  /// Idempotent, from one thread at a time.
  void Stop(Duration grace);

  [[nodiscard]] Counters counters() const;

 private:
  struct Submitted {
    std::unique_ptr<HttpExchange> exchange;
    bool is_refused = false;
  };

  void Run();
  void Start(Submitted submitted);
  void Complete(HttpTransfer* transfer, CURLcode code);
  void Finish(HttpTransfer* transfer);
  void AbandonAll();

  const Options options_;
  CurlReactor reactor_;

  mutable std::mutex mutex_;
  std::condition_variable all_closed_;
  std::vector<Submitted> inbox_;  // guarded by mutex_; taken whole, once a round
  bool is_accepting_ = true;      // guarded by mutex_
  bool is_ending_ = false;        // guarded by mutex_

  std::atomic<std::uint64_t> open_ = 0;
  std::atomic<std::uint64_t> submitted_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<std::uint64_t> abandoned_ = 0;
  std::atomic<std::uint64_t> connections_opened_ = 0;

  // The thread's own.
  std::vector<std::unique_ptr<HttpTransfer>> transfers_;
  std::vector<HttpTransfer*> free_;
  std::unordered_set<HttpTransfer*> busy_;

  std::thread thread_;
};

}  // namespace sluice::dispatch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a load driver tells at its end: one line of JSON with counts, rate and
// latencies, which bench/run reads.
//
// Threading: one thread.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::bench {

class LatencyReport {
 public:
  using Clock = std::chrono::steady_clock;

  /// `calls`: how many will come.
  explicit LatencyReport(std::uint64_t calls) { latencies_us_.reserve(calls); }

  [[nodiscard]] std::uint64_t calls() const { return latencies_us_.size(); }
  /// One call that ends now.
  void Add(Clock::time_point begin) {
    latencies_us_.push_back(
        std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  void AddError(std::string_view text) {
    if (errors_++ == 0) first_error_ = text;
  }

  /// Prints the line, and the first error on standard error. Returns the exit code.
  int Print(std::string_view kind, Clock::time_point begin) {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    std::sort(latencies_us_.begin(), latencies_us_.end());
    fmt::print(
        "{{\"kind\": \"{}\", \"calls\": {}, \"errors\": {}, \"seconds\": {:.3f}, "
        "\"rate\": {:.0f}, \"p50_us\": {:.0f}, \"p95_us\": {:.0f}, \"p99_us\": {:.0f}, "
        "\"p999_us\": {:.0f}, \"max_us\": {:.0f}}}\n",
        kind, calls(), errors_, seconds, static_cast<double>(calls()) / seconds, Quantile(0.5),
        Quantile(0.95), Quantile(0.99), Quantile(0.999), Quantile(1));
    if (errors_ != 0) fmt::print(stderr, "first error: {}\n", first_error_);
    return errors_ == 0 ? 0 : 1;
  }

 private:
  [[nodiscard]] double Quantile(double q) const {
    if (latencies_us_.empty()) return 0;
    const auto last = static_cast<double>(latencies_us_.size() - 1);
    return latencies_us_[static_cast<std::size_t>(q * last)];
  }

  std::uint64_t errors_ = 0;
  std::string first_error_;
  std::vector<double> latencies_us_;
};

}  // namespace sluice::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

// A model of the task service for the sink's simulation: tasks by name, names that
// stay occupied after their task is gone, answers that get lost, outages, and calls
// that take effect after their caller has given up or died.
//
// Time is the service's own (microseconds since the run began). Events run when the
// world moves time; the one source of chance is the run's.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/random.h"
#include "sluice/sink/task_creator.h"

namespace sluice::sim {

class SinkService {
 public:
  struct Counts {
    std::uint64_t calls = 0;
    std::uint64_t created = 0;
    std::uint64_t deduplicated = 0;
    std::uint64_t lost_answers = 0;
    std::uint64_t refused = 0;
  };

  SinkService(Random& random, std::int64_t name_retention_us)
      : random_(random), name_retention_us_(name_retention_us) {}

  [[nodiscard]] std::int64_t now() const { return now_us_; }
  /// When the next event is due; -1 without one.
  [[nodiscard]] std::int64_t next_event() const {
    return events_.empty() ? -1 : events_.begin()->first;
  }
  /// Runs everything due on the way.
  void AdvanceTo(std::int64_t time_us);
  /// No faults from here on, so that a run can end.
  void Calm() { is_calm_ = true; }

  /// One process's connection. After `Kill` its calls under way fail there, while
  /// what they asked for may still come to pass here.
  struct Link {
    bool is_alive = true;
    bool renames_retries = false;  // a sabotage
    std::set<std::string> names;
    std::vector<std::shared_ptr<sink::CreateDone>> waiting;
    void Kill();
  };
  [[nodiscard]] std::unique_ptr<sink::TaskCreator> Connect(const env::MonotonicClock& clock,
                                                           std::shared_ptr<Link> link);

  /// How often each record (by task body) was created, over all names.
  [[nodiscard]] const std::map<std::string, int>& created_by_body() const { return by_body_; }
  [[nodiscard]] const std::map<std::string, int>& created_by_name() const { return by_name_; }
  [[nodiscard]] std::uint64_t trace_hash() const { return trace_hash_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  class Client;
  using Reply = std::function<void(sink::CreateOutcome)>;

  void At(std::int64_t delay_us, std::function<void()> event);
  void Call(std::string name, std::string body, std::int64_t limit_us, Reply reply);
  void Trace(std::string_view what);
  sink::CreateOutcome Apply(const std::string& name, const std::string& body);

  Random& random_;
  const std::int64_t name_retention_us_;
  std::int64_t now_us_ = 0;
  std::multimap<std::int64_t, std::function<void()>> events_;
  std::map<std::string, std::int64_t> occupied_until_;  // by name; once the task is gone
  std::map<std::string, int> by_body_;
  std::map<std::string, int> by_name_;
  std::int64_t outage_until_ = 0;
  std::int64_t missing_until_ = 0;
  bool is_calm_ = false;
  std::uint64_t trace_hash_ = 1469598103934665603ULL;
  Counts counts_;
};

}  // namespace sluice::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/sink_service.h"

#include <algorithm>
#include <utility>

namespace sluice::sim {
namespace {

constexpr std::int64_t kMillisecond = 1000;
constexpr std::int64_t kSecond = 1000 * kMillisecond;
constexpr std::int64_t kForever = INT64_MAX;

}  // namespace

class SinkService::Client : public sink::TaskCreator {
 public:
  Client(SinkService& service, const env::MonotonicClock& clock, std::shared_ptr<Link> link)
      : service_(service), clock_(clock), link_(std::move(link)) {}

  StatusOr<std::unique_ptr<sink::PendingCreate>> Create(
      const google::cloud::tasks::v2::CreateTaskRequest& request,
      std::optional<env::MonotonicTime> deadline, sink::CreateDone done) override {
    if (!link_->is_alive) return Internal("the process is dead");
    const env::MonotonicTime now = clock_.Now();
    const auto left = deadline.value_or(now + std::chrono::seconds(20)) - now;
    std::string name = request.task().name();
    const bool is_retry = !name.empty() && !link_->names.insert(name).second;
    if (is_retry && link_->renames_retries) name += "-" + std::to_string(service_.random_.Bits());
    auto shared = std::make_shared<sink::CreateDone>(std::move(done));
    link_->waiting.push_back(shared);
    service_.Call(std::move(name), request.task().http_request().body(),
                  std::chrono::duration_cast<std::chrono::microseconds>(left).count(),
                  [shared](sink::CreateOutcome outcome) { Answer(*shared, std::move(outcome)); });
    struct Handle : sink::PendingCreate {
      void Cancel() override {}  // the service may do it all the same
    };
    return std::unique_ptr<sink::PendingCreate>(std::make_unique<Handle>());
  }
  Status Close() override { return {}; }

  static void Answer(sink::CreateDone& done, sink::CreateOutcome outcome) {
    if (done) std::exchange(done, nullptr)(std::move(outcome));
  }

 private:
  SinkService& service_;
  const env::MonotonicClock& clock_;
  std::shared_ptr<Link> link_;
};

void SinkService::Link::Kill() {
  is_alive = false;
  for (const auto& done : std::exchange(waiting, {})) {
    Client::Answer(*done, sink::Failure(absl::StatusCode::kInternal, "the process is dead"));
  }
}

std::unique_ptr<sink::TaskCreator> SinkService::Connect(const env::MonotonicClock& clock,
                                                        std::shared_ptr<Link> link) {
  return std::make_unique<Client>(*this, clock, std::move(link));
}

void SinkService::Trace(std::string_view what) {
  for (const char c : what) {
    trace_hash_ = (trace_hash_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  trace_hash_ = (trace_hash_ ^ static_cast<std::uint64_t>(now_us_)) * 1099511628211ULL;
}

void SinkService::At(std::int64_t delay_us, std::function<void()> event) {
  events_.emplace(now_us_ + delay_us, std::move(event));
}

void SinkService::AdvanceTo(std::int64_t time_us) {
  while (!events_.empty() && events_.begin()->first <= time_us) {
    now_us_ = std::max(now_us_, events_.begin()->first);
    const std::function<void()> event = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    event();
  }
  now_us_ = std::max(now_us_, time_us);
}

void SinkService::Call(std::string name, std::string body, std::int64_t limit_us, Reply reply) {
  ++counts_.calls;
  if (!is_calm_ && random_.OneIn(60)) outage_until_ = now_us_ + random_.Between(1, 4) * kSecond;
  if (!is_calm_ && random_.OneIn(200))
    missing_until_ = now_us_ + random_.Between(1, 900) * kMillisecond;
  std::int64_t delay = random_.Between(1, 200) * kMillisecond;
  // Now and then a call takes until its caller's limit to have its effect, never longer:
  // that bound is what the request timeout inside the window stands for.
  if (!is_calm_ && random_.OneIn(15)) delay = random_.Between(0, limit_us);
  delay = std::min(delay, limit_us);
  const bool loses_answer = !is_calm_ && random_.OneIn(12);
  At(delay, [this, name = std::move(name), body = std::move(body), reply = std::move(reply),
             loses_answer, give_up = now_us_ + limit_us] {
    Trace(name + body);
    if (!is_calm_ && now_us_ < outage_until_) {
      ++counts_.refused;
      reply(sink::Failure(absl::StatusCode::kUnavailable, "outage"));
      return;
    }
    if (!is_calm_ && now_us_ < missing_until_) {
      ++counts_.refused;
      reply(sink::Failure(absl::StatusCode::kNotFound, "queue"));
      return;
    }
    sink::CreateOutcome outcome = Apply(name, body);
    if (!loses_answer) {
      reply(std::move(outcome));
      return;
    }
    ++counts_.lost_answers;
    if (random_.OneIn(2)) {
      reply(sink::Failure(absl::StatusCode::kUnavailable, "lost"));
    } else {
      At(give_up - now_us_,
         [reply] { reply(sink::Failure(absl::StatusCode::kDeadlineExceeded, "lost")); });
    }
  });
}

sink::CreateOutcome SinkService::Apply(const std::string& name, const std::string& body) {
  if (!name.empty()) {
    const auto occupied = occupied_until_.find(name);
    if (occupied != occupied_until_.end() && now_us_ < occupied->second) {
      ++counts_.deduplicated;
      return sink::Failure(absl::StatusCode::kAlreadyExists, "task");
    }
    occupied_until_[name] = kForever;
    ++by_name_[name];
    // Dispatched and gone soon: from then on only the name is kept, for so long.
    At(random_.Between(10, 5000) * kMillisecond,
       [this, name] { occupied_until_[name] = now_us_ + name_retention_us_; });
  }
  ++counts_.created;
  ++by_body_[body];
  return std::nullopt;
}

}  // namespace sluice::sim

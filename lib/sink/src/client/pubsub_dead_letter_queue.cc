// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/pubsub_dead_letter_queue.h"

#include <google/pubsub/v1/pubsub.pb.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "env/posix/clock.h"
#include "env/posix/steady_clock.h"
#include "env/posix/system_random.h"
#include "sluice/gcp/unary_client.h"
#include "sluice/sink/failure.h"
#include "sluice/sink/retry_schedule.h"

namespace sluice::sink {
namespace {

namespace pubsub = google::pubsub::v1;

constexpr std::string_view kPubSubTarget = "pubsub.googleapis.com:443";
constexpr std::string_view kCutMark = "...";
constexpr Duration kPublishTimeout = absl::Seconds(60);  // of one attempt
constexpr int kAttempts = 8;
constexpr std::chrono::milliseconds kFirstBackoff{100};
constexpr std::chrono::milliseconds kLongestBackoff{10'000};

/// One message on its way. All but `request` is guarded by Shared::mutex.
struct Publish {
  enum class Phase : unsigned char { kInFlight, kAnswered, kBackingOff, kSettled };
  std::string request;
  Phase phase = Phase::kInFlight;
  int failures = 0;
  env::MonotonicTime due;  // of the next attempt
  Status status;           // of the last answer
};

/// What answers touch, which may come when the queue is gone.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t answers = 0;  // not looked at yet
};

/// Outlives the queue: gauges stay registered.
struct Figures {
  std::atomic<std::int64_t> in_flight{0};
  std::atomic<std::int64_t> last_wait_millis{0};
  std::atomic<std::int64_t> longest_wait_millis{0};
};

env::MonotonicTime After(env::MonotonicTime now, std::chrono::nanoseconds span) {
  return span > env::MonotonicTime::max() - now ? env::MonotonicTime::max() : now + span;
}

gcp::ServiceAddress AddressOf(const PubSubDeadLetterSettings& settings) {
  using Kind = gcp::Credentials::Kind;
  gcp::ServiceAddress address;
  address.target = std::string(kPubSubTarget);
  address.credentials.kind = Kind::kApplicationDefault;
  if (settings.emulator_endpoint()) {
    address.target = settings.emulator_endpoint()->text();
    address.credentials.kind = Kind::kPlaintext;
  } else if (settings.service_account_key_file()) {
    address.credentials.kind = Kind::kServiceAccountKey;
    address.credentials.key_file = *settings.service_account_key_file();
  }
  return address;
}

class PubSubDeadLetterQueue : public DeadLetterQueue {
 public:
  explicit PubSubDeadLetterQueue(PubSubDeadLetterSettings settings)
      : settings_(std::move(settings)) {}

  Status Open(const HandlerContext& context) override {
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<gcp::ChannelPool> pool,
                            gcp::ChannelPool::Make(AddressOf(settings_), 1));
    client_ = std::make_unique<gcp::UnaryClient>(std::move(pool));
    subtask_ = std::to_string(context.subtask_index);
    MetricGroup& metrics = *context.metrics;
    published_ = &metrics.GetCounter("deadLettersPublished");
    abandoned_ = &metrics.GetCounter("deadLetterPublisherShutdownsAbandoned");
    metrics.SetGauge("inFlightDeadLetters", [f = figures_] { return f->in_flight.load(); });
    metrics.SetGauge("deadLetterFlushMillis",
                     [f = figures_] { return f->last_wait_millis.load(); });
    metrics.SetGauge("longestDeadLetterFlushMillis",
                     [f = figures_] { return f->longest_wait_millis.load(); });
    return {};
  }

  Status Offer(const FailedTask& failed) override {
    SLUICE_RETURN_IF_ERROR(CheckOpen());
    auto publish = std::make_shared<Publish>();
    publish->request = RequestOf(failed);
    held_.push_back(publish);
    figures_->in_flight = static_cast<std::int64_t>(held_.size());
    Send(publish);
    const int bound = settings_.max_in_flight_messages();
    if (bound < 0 || held_.size() < static_cast<std::size_t>(bound)) return {};
    return WaitForAll();
  }

  Status Flush() override {
    SLUICE_RETURN_IF_ERROR(CheckOpen());
    return WaitForAll();
  }

  Status Close() override {
    if (client_ == nullptr) return {};
    const Duration limit = absl::FromChrono(settings_.shutdown_timeout());
    if (client_->Close(limit) > 0) abandoned_->Add();
    client_.reset();
    return {};
  }

 private:
  [[nodiscard]] Status CheckOpen() const {
    if (client_ != nullptr) return {};
    return FailedPrecondition("the dead-letter queue of {} is not open", settings_.topic());
  }

  std::string RequestOf(const FailedTask& failed) const {
    pubsub::PublishRequest request;
    request.set_topic(settings_.topic());
    pubsub::PubsubMessage& message = *request.add_messages();
    message.set_data(failed.Payload().value_or(""));
    auto& attributes = *message.mutable_attributes();
    attributes["dlq-connector"] = std::string(failed.connector());
    attributes["dlq-destination"] = failed.destination_text();
    attributes["dlq-error"] = DeadLetterError(failed.message());
    attributes["dlq-timestamp"] =
        absl::FormatTime(absl::RFC3339_full, wall_clock_.Now(), absl::UTCTimeZone());
    attributes["dlq-subtask"] = subtask_;
    return request.SerializeAsString();
  }

  void Send(const std::shared_ptr<Publish>& publish) {
    client_->Send(gcp::kPublish, settings_.topic(), publish->request, kPublishTimeout,
                  [publish, shared = shared_](Status status) {
                    const std::lock_guard lock(shared->mutex);
                    publish->status = std::move(status);
                    publish->phase = Publish::Phase::kAnswered;
                    ++shared->answers;
                    shared->changed.notify_one();
                  });
  }

  /// After an answer: settled, or to be sent again. Under the mutex.
  void Judge(Publish& publish, env::MonotonicTime now) {
    publish.phase = Publish::Phase::kSettled;
    if (publish.status.ok()) {
      published_->Add();
    } else if (Failure(publish.status).transient() && schedule_.MayRetryAfter(++publish.failures)) {
      publish.phase = Publish::Phase::kBackingOff;
      publish.due = now + schedule_.Jittered(publish.failures, random_);
    }
  }

  struct Turn {
    bool is_over = true;  // all are settled
    env::MonotonicTime wake;
    std::vector<std::shared_ptr<Publish>> to_send;
  };

  Turn Look(env::MonotonicTime now, env::MonotonicTime deadline) {
    Turn turn{.is_over = true, .wake = deadline, .to_send = {}};
    const std::lock_guard lock(shared_->mutex);
    shared_->answers = 0;
    for (const auto& publish : held_) {
      if (publish->phase == Publish::Phase::kAnswered) Judge(*publish, now);
      if (publish->phase == Publish::Phase::kBackingOff) {
        if (publish->due <= now && now < deadline) {
          publish->phase = Publish::Phase::kInFlight;
          turn.to_send.push_back(publish);
        } else {
          turn.wake = std::min(turn.wake, publish->due);
        }
      }
      turn.is_over = turn.is_over && publish->phase == Publish::Phase::kSettled;
    }
    return turn;
  }

  Status WaitForAll() {
    if (held_.empty()) return {};
    const env::MonotonicTime begin = clock_.Now();
    const env::MonotonicTime deadline = After(begin, settings_.flush_timeout());
    for (;;) {
      const env::MonotonicTime now = clock_.Now();
      const Turn turn = Look(now, deadline);
      if (turn.is_over || now >= deadline) break;
      for (const auto& publish : turn.to_send) Send(publish);
      std::unique_lock lock(shared_->mutex);
      shared_->changed.wait_until(lock, turn.wake, [this] { return shared_->answers > 0; });
    }
    const auto took =
        std::chrono::duration_cast<std::chrono::milliseconds>(clock_.Now() - begin).count();
    figures_->last_wait_millis = took;
    figures_->longest_wait_millis = std::max(figures_->longest_wait_millis.load(), took);
    return Conclude();
  }

  /// What came of the wait; nothing is held any more, whatever came of it.
  Status Conclude() {
    const std::vector<std::shared_ptr<Publish>> held = std::exchange(held_, {});
    figures_->in_flight = 0;
    const std::lock_guard lock(shared_->mutex);
    std::size_t unresolved = 0;
    std::string last_answer;
    for (const auto& publish : held) {
      if (publish->phase != Publish::Phase::kSettled) {
        ++unresolved;
        if (!publish->status.ok()) last_answer = Failure(publish->status).ToString();
      } else if (!publish->status.ok()) {
        return Status(publish->status.code(),
                      fmt::format("Publishing a dead letter to {} failed: {}", settings_.topic(),
                                  Failure(publish->status).ToString()));
      }
    }
    if (unresolved == 0) return {};
    return DeadlineExceeded(
        "dead letters to {}: {} of {} publishes unresolved after the "
        "flush_timeout of {}{}{}",
        settings_.topic(), unresolved, held.size(),
        absl::FormatDuration(absl::FromChrono(settings_.flush_timeout())),
        last_answer.empty() ? "" : "; the last answer: ", last_answer);
  }

  PubSubDeadLetterSettings settings_;
  std::unique_ptr<gcp::UnaryClient> client_;  // null: not open
  std::string subtask_;
  std::vector<std::shared_ptr<Publish>> held_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::shared_ptr<Figures> figures_ = std::make_shared<Figures>();
  Counter* published_ = nullptr;
  Counter* abandoned_ = nullptr;
  RetrySchedule schedule_{kFirstBackoff, kLongestBackoff, kAttempts};
  env::SystemClock wall_clock_;
  env::SteadyClock clock_;
  env::SystemRandom random_;
};

}  // namespace

std::unique_ptr<DeadLetterQueue> MakePubSubDeadLetterQueue(PubSubDeadLetterSettings settings) {
  return std::make_unique<PubSubDeadLetterQueue>(std::move(settings));
}

std::string DeadLetterError(std::string_view message) {
  std::string text;
  std::size_t cut = 0;  // where the mark would go
  for (std::string_view rest = message; !rest.empty();) {
    const std::size_t length = Utf8Length(rest);
    text += length == 0 ? std::string_view("?") : rest.substr(0, length);
    rest.remove_prefix(std::max<std::size_t>(1, length));
    if (text.size() + kCutMark.size() <= kDeadLetterErrorBytesMax) cut = text.size();
    if (text.size() > kDeadLetterErrorBytesMax) return text.substr(0, cut).append(kCutMark);
  }
  return text;
}

}  // namespace sluice::sink

// SPDX-License-Identifier: Apache-2.0

// The engine with real threads around one lane. What the lane decides is in
// lane.cc; here is only who runs it, when it wakes, and how it stops.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "engine/backup.h"
#include "engine/committer.h"
#include "engine/engine.h"
#include "engine/inbox.h"
#include "engine/lane.h"
#include "engine/reader_pool.h"
#include "engine/recovery.h"
#include "env/clock.h"

namespace sluice::engine {
namespace {

constexpr std::size_t kReaderThreads = 2;
// A lane that has nothing to do still looks at the clock this often, so that a
// clock set forward by hand is noticed.
constexpr Duration kSleepMax = absl::Seconds(1);
// Commands run between two looks at the clock and two chances to close a frame.
constexpr std::size_t kRoundCommandsMax = 256;
// Commands that gather during a sync before the lane starts on them all the same,
// so that a slow disk does not leave it with all the work at once.
constexpr std::size_t kGatheredCommandsMax = 64;
// Under load a frame is closed Options::busy_frame_interval after the one before at
// the earliest: a sync that returns sooner would only make frames small, and each
// costs a write, a sync and five wake-ups, whatever is in it (docs/adr/0003). A frame
// with fewer commands than kBusyFrameCommands shows that there is no load, and the
// next one does not wait. One with kFullFrameCommands, or that can take no more, is
// large enough.
constexpr std::size_t kBusyFrameCommands = 6;
constexpr std::size_t kFullFrameCommands = 32;

class ThreadedEngine final : public Engine, private LanePorts {
 public:
  ThreadedEngine(const Options& options, Dependencies dependencies)
      : options_(options),
        busy_frame_interval_(absl::ToChronoNanoseconds(options.busy_frame_interval)),
        clock_(*dependencies.clock),
        files_(*dependencies.files),
        log_dir_(std::move(dependencies.log_dir)),
        store_(std::move(dependencies.store)),
        dispatcher_(*dependencies.dispatcher),
        inbox_(options.inbox_commands_max, options.inbox_bytes_max),
        lane_(LaneOptionsOf(options), *store_, *this) {}

  ~ThreadedEngine() override { Stop(absl::ZeroDuration()); }

  Status Start(std::uint64_t random_seed, log::RecoveryReport* report) {
    log::Options log_options = options_.log;
    if (log_options.clock == nullptr) log_options.clock = &clock_;
    if (log_options.new_log_id == 0) log_options.new_log_id = ~random_seed;
    SLUICE_ASSIGN_OR_RETURN(Recovered recovered,
                            Recover(files_, log_dir_, log_options, *store_, random_seed));
    if (report != nullptr) *report = recovered.report;
    log_ = std::move(recovered.log);
    SLUICE_RETURN_IF_ERROR(lane_.Recover(recovered.checkpoint, clock_.Now()));
    committer_.emplace(CommitterOptions{options_.flush_log_bytes, options_.flush_interval,
                                        options_.seal_after_idle, options_.free_bytes_reserve},
                       *log_, *store_, inbox_, &files_, log_dir_);
    readers_.emplace(kReaderThreads, *store_, inbox_);
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  }

  void Submit(Command command, Done done) override {
    switch (inbox_.PutCommand(command, done)) {
      case Inbox::Refusal::kNone:
        return;
      case Inbox::Refusal::kFull:
        ++refused_;
        done(ResourceExhausted(
            "the server's inbox is full ({} commands or {} bytes): retry with backoff",
            options_.inbox_commands_max, options_.inbox_bytes_max));
        return;
      case Inbox::Refusal::kClosed:
        done(Unavailable("the server is stopping"));
        return;
    }
  }

  void ClockMoved() override { inbox_.Wake(); }

  void Stop(Duration grace) override {
    if (!thread_.joinable()) return;
    inbox_.Close();
    {
      const std::lock_guard lock(stop_mutex_);
      stop_grace_ = grace;
    }
    is_stopping_ = true;
    inbox_.Wake();
    thread_.join();
    readers_.reset();
    committer_->Stop();
  }

  Status Backup(const std::string& dir) override {
    return WriteBackup(files_, log_dir_, *log_, *store_, dir);
  }

  EngineMetrics Metrics() const override {
    EngineMetrics m;
    {
      const std::lock_guard lock(metrics_mutex_);
      m = published_;
    }
    m.commands_refused = refused_;
    m.frames = committer_->totals().frames;
    m.frame_bytes = committer_->totals().frame_bytes;
    m.inbox_commands = inbox_.command_count();
    m.log = log_->usage();
    m.store = store_->Usage();
    return m;
  }

 private:
  static LaneOptions LaneOptionsOf(const Options& options) {
    LaneOptions lane;
    lane.limits = options.limits;
    lane.task_cache_bytes = options.task_cache_bytes;
    lane.frame_bytes_soft_max = options.frame_bytes_soft_max;
    return lane;
  }

  // --- LanePorts, called on the lane's thread ---
  void Commit(Frame frame) override { committer_->Commit(std::move(frame)); }
  void Read(ReadRequest request) override { readers_->Read(std::move(request)); }
  void StartAttempt(core::StartAttempt attempt) override {
    const core::AttemptId id = attempt.id;
    dispatcher_.Start(std::move(attempt), [this, id](core::AttemptOutcome outcome) {
      inbox_.PutAnswer(AttemptFinished{id, std::move(outcome)});
    });
  }

  void Answer(engine::Answer& answer, Time now) {
    if (auto* committed = std::get_if<Committed>(&answer)) {
      lane_.OnCommitted(committed->frame);
    } else if (auto* applied = std::get_if<Applied>(&answer)) {
      lane_.OnApplied(applied->frame);
    } else if (auto* read = std::get_if<ReadResult>(&answer)) {
      lane_.OnRead(std::move(*read), now);
    } else if (auto* finished = std::get_if<AttemptFinished>(&answer)) {
      lane_.OnAttemptFinished(finished->id, finished->outcome, now);
    } else if (auto* space = std::get_if<SpaceChanged>(&answer)) {
      is_space_low_ = space->is_low;
      lane_.set_is_space_low(space->is_low);
    }
  }

  void Run() {
    std::deque<InboundCommand> waiting;
    Time stop_at = absl::InfiniteFuture();
    while (true) {
      Inbox::Taken taken =
          inbox_.Take(CommandsToWaitFor(waiting.empty()), SleepFor(waiting.empty(), stop_at),
                      lane_.frame_bytes_left());
      const Time now = clock_.Now();
      for (engine::Answer& answer : taken.answers) Answer(answer, now);
      std::move(taken.commands.begin(), taken.commands.end(), std::back_inserter(waiting));
      for (std::size_t n = 0; n < kRoundCommandsMax && !waiting.empty() && lane_.WantsCommands();
           ++n) {
        InboundCommand inbound = std::move(waiting.front());
        waiting.pop_front();
        ++frame_commands_;
        lane_.Handle(std::move(inbound.command), std::move(inbound.done), now);
      }
      FinishRound(now);
      Publish();
      if (is_stopping_) {
        if (stop_at == absl::InfiniteFuture()) {
          // Grace is real time: a virtual clock may stand still.
          lane_.StopDispatch();
          const std::lock_guard lock(stop_mutex_);
          stop_at = SteadyNow() + stop_grace_;
        }
        if (IsStopped(waiting.empty(), stop_at)) return;
      }
    }
  }

  void FinishRound(Time now) {
    const auto steady = std::chrono::steady_clock::now();
    const bool is_full = frame_commands_ >= kFullFrameCommands || !lane_.WantsCommands();
    const bool may_close = steady >= close_at_ || is_full || is_stopping_;
    const bool was_committing = lane_.is_committing();
    lane_.FinishRound(now, may_close);
    if (was_committing || !lane_.is_committing()) return;
    const bool is_busy = frame_commands_ >= kBusyFrameCommands;
    close_at_ = is_busy ? steady + busy_frame_interval_ : steady;
    frame_commands_ = 0;
  }

  static Time SteadyNow() {
    return absl::UnixEpoch() +
           absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }

  bool IsStopped(bool is_nothing_waiting, Time stop_at) const {
    const bool is_settled = is_nothing_waiting && lane_.is_idle() && inbox_.command_count() == 0;
    return is_settled && (lane_.in_flight() == 0 || SteadyNow() >= stop_at);
  }

  // While a frame is on its way to the disk nothing computed now can leave, so a
  // few commands may gather until its sync returns: one wake-up for all. As many
  // bytes as the open frame can take are enough, too.
  std::size_t CommandsToWaitFor(bool is_nothing_waiting) const {
    if (!is_nothing_waiting || !lane_.WantsCommands()) return Inbox::kNoCommands;
    if (lane_.is_committing()) return kGatheredCommandsMax;
    return lane_.has_frame_to_close() ? kFullFrameCommands - frame_commands_ : 1;
  }

  Duration SleepFor(bool is_nothing_waiting, Time stop_at) const {
    if (!is_nothing_waiting && lane_.WantsCommands()) return absl::ZeroDuration();
    Duration sleep = kSleepMax;
    const Time deadline = lane_.NextDeadline();
    if (deadline != absl::InfiniteFuture()) {
      sleep = std::min(sleep, clock_.RealTimeUntil(deadline));
    }
    if (stop_at != absl::InfiniteFuture()) sleep = std::min(sleep, absl::Milliseconds(10));
    if (lane_.has_frame_to_close()) {
      sleep = std::min(sleep, absl::FromChrono(close_at_ - std::chrono::steady_clock::now()));
    }
    return std::max(sleep, absl::ZeroDuration());
  }

  void Publish() {
    const LaneCounters& c = lane_.counters();
    const std::lock_guard lock(metrics_mutex_);
    published_.commands = c.commands;
    published_.commands_cold = c.commands_cold;
    published_.attempts_started = c.attempts_started;
    published_.attempts_succeeded = c.attempts_succeeded;
    published_.attempts_failed = c.attempts_failed;
    published_.tasks_created = c.tasks_created;
    std::copy(std::begin(c.tasks_ended), std::end(c.tasks_ended), published_.tasks_ended);
    published_.dead_letters = lane_.dead_letter_totals();
    published_.overlay_keys = lane_.overlay_keys();
    published_.in_flight = lane_.in_flight();
    published_.is_space_low = is_space_low_;
  }

  // Of the lane's thread: when the next frame may be closed, and what it holds.
  std::chrono::steady_clock::time_point close_at_;
  std::size_t frame_commands_ = 0;

  const Options options_;
  const std::chrono::nanoseconds busy_frame_interval_;
  env::Clock& clock_;
  env::FileSystem& files_;
  const std::string log_dir_;
  const std::unique_ptr<store::Store> store_;
  Dispatcher& dispatcher_;

  Inbox inbox_;
  Lane lane_;
  std::unique_ptr<log::Log> log_;
  std::optional<Committer> committer_;
  std::optional<ReaderPool> readers_;
  std::thread thread_;
  bool is_space_low_ = false;  // lane's thread only

  std::atomic<bool> is_stopping_ = false;
  std::mutex stop_mutex_;  // guards the one below
  Duration stop_grace_;
  std::atomic<std::uint64_t> refused_ = 0;

  mutable std::mutex metrics_mutex_;  // guards the one below
  EngineMetrics published_;
};

}  // namespace

StatusOr<std::unique_ptr<Engine>> Engine::Open(const Options& options, Dependencies dependencies,
                                               log::RecoveryReport* report) {
  const std::uint64_t seed = dependencies.random_seed;
  auto engine = std::make_unique<ThreadedEngine>(options, std::move(dependencies));
  SLUICE_RETURN_IF_ERROR(engine->Start(seed, report));
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace sluice::engine

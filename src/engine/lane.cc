// SPDX-License-Identifier: Apache-2.0
#include "engine/lane.h"

#include <algorithm>
#include <utility>

#include "store/keys.h"

namespace sluice::engine {
namespace {

// A record read in the background can be evicted again before its command runs
// a second time; after this many rounds the lane reads it itself.
constexpr int kColdTriesMax = 3;
constexpr std::size_t kRecoveryScanRows = 1024;

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;  // clang 14 does not deduce it

template <typename T>
Reply ToReply(StatusOr<T> value) {
  if (!value.ok()) return value.status();
  return Result(*std::move(value));
}

Reply ToReply(const Status& status) {
  if (!status.ok()) return status;
  return Result(std::monostate{});
}

// Calls `visit` for every row of a family, in key order.
Status ScanFamily(const store::Store& store, store::Family family,
                  const std::function<Status(std::string_view, std::string_view)>& visit) {
  store::KeyRange range = store::FamilyRange(family);
  for (bool is_complete = false; !is_complete;) {
    Status status;
    std::string last;
    SLUICE_ASSIGN_OR_RETURN(is_complete,
                            store.Scan({range.from, range.to, kRecoveryScanRows, 0},
                                       [&](std::string_view key, std::string_view value) {
                                         last = key;
                                         status = visit(key, value);
                                         return status.ok();
                                       }));
    SLUICE_RETURN_IF_ERROR(status);
    if (!is_complete) range.from = store::KeyAfter(last);
  }
  return absl::OkStatus();
}

}  // namespace

Lane::Lane(const LaneOptions& options, const store::Store& store, LanePorts& ports)
    : options_(options),
      store_(store),
      ports_(ports),
      ledger_(store, options.task_cache_bytes),
      machine_(options.limits, ledger_, effects_) {}

Lane::~Lane() = default;

Status Lane::Recover(const Checkpoint& checkpoint, Time now) {
  now_ = std::max(checkpoint.time, FloorToMicros(now));
  generated_id_key_ = checkpoint.generated_id_key;
  epoch_ = checkpoint.epoch;
  machine_.RestoreCounters(checkpoint.next_incarnation, checkpoint.next_sequence);
  machine_.RestoreGeneratedIdKey(checkpoint.generated_id_key);
  machine_.RestoreTombstoneFloor(checkpoint.tombstone_floor);
  SLUICE_RETURN_IF_ERROR(ScanFamily(
      store_, store::Family::kQueue, [this](std::string_view, std::string_view value) -> Status {
        SLUICE_ASSIGN_OR_RETURN(const core::Queue queue, DecodeQueue(value));
        core::QueueCounters counters;
        std::string raw;
        SLUICE_ASSIGN_OR_RETURN(
            const store::Lookup lookup,
            store_.Get(store::CountersKey(queue.incarnation), store::ReadMode::kBlocking, &raw));
        if (lookup == store::Lookup::kFound) {
          SLUICE_ASSIGN_OR_RETURN(counters, DecodeCounters(raw));
        }
        machine_.RestoreQueue(queue, counters, now_);
        return absl::OkStatus();
      }));
  SLUICE_RETURN_IF_ERROR(ScanFamily(
      store_, store::Family::kReservation,
      [this](std::string_view key, std::string_view value) -> Status {
        SLUICE_ASSIGN_OR_RETURN(const std::string_view name, store::DecodeReservationKey(key));
        SLUICE_ASSIGN_OR_RETURN(const QueueName queue, QueueName::Parse(name));
        SLUICE_ASSIGN_OR_RETURN(const Time until, DecodeReservation(value));
        machine_.RestoreQueueReservation(queue, until);
        return absl::OkStatus();
      }));
  SLUICE_RETURN_IF_ERROR(ScanFamily(
      store_, store::Family::kDeadHead,
      [this](std::string_view key, std::string_view value) -> Status {
        SLUICE_ASSIGN_OR_RETURN(const store::DecodedTaskKey letter, store::DecodeDeadHeadKey(key));
        SLUICE_ASSIGN_OR_RETURN(const core::DeadLetterHead head, DecodeDeadLetterHead(value));
        machine_.RestoreDeadLetter(letter.incarnation, letter.sequence, head);
        return absl::OkStatus();
      }));
  machine_.Start(now_);
  return absl::OkStatus();
}

bool Lane::WantsCommands() const {
  return frame_bytes_left() > 0 && reads_.size() < options_.reads_max;
}

std::size_t Lane::frame_bytes_left() const {
  const std::size_t filled = ledger_.overlay().open_frame_bytes();
  return options_.frame_bytes_soft_max - std::min(filled, options_.frame_bytes_soft_max);
}

void Lane::Handle(Command command, Done done, Time now) {
  Observe(now);
  ++counters_.commands;
  if (Status status; IsRefusedForSpace(command, &status)) {
    Hold(std::move(done), std::move(status));
    return;
  }
  if (const auto* list = std::get_if<ListTasks>(&command)) {
    BeginList(*list, std::move(done));
    return;
  }
  Run(ColdCommand{std::move(command), std::move(done)});
}

bool Lane::IsRefusedForSpace(const Command& command, Status* status) const {
  const bool is_create = std::holds_alternative<CreateTask>(command) ||
                         std::holds_alternative<CreateQueue>(command) ||
                         std::holds_alternative<UpdateQueue>(command) ||
                         std::holds_alternative<SetAccessPolicy>(command) ||
                         std::holds_alternative<RedriveDeadLetters>(command);
  if (!is_create) return false;
  if (is_space_low_) {
    *status = ResourceExhausted(
        "the disk of the data directory is full: new work is refused until space is free; deletes "
        "and running tasks go on");
    return true;
  }
  if (ledger_.overlay().bytes() > options_.overlay_bytes_max) {
    *status = ResourceExhausted(
        "the store is {} bytes behind the log; the limit is {}: retry with backoff",
        ledger_.overlay().bytes(), options_.overlay_bytes_max);
    return true;
  }
  return false;
}

void Lane::Run(ColdCommand work) {
  if (work.tries >= kColdTriesMax) ledger_.set_read_mode(store::ReadMode::kBlocking);
  StatusOr<Result> reply = Execute(work.command);
  ledger_.set_read_mode(store::ReadMode::kMemoryOnly);
  std::vector<std::string> cold = ledger_.TakeColdKeys();
  if (!reply.ok() && core::IsColdRead(reply.status())) {
    SLUICE_CHECK(!cold.empty(), "a cold command names the key it waits for");
    ++counters_.commands_cold;
    ++work.tries;
    Request(WarmRead{std::move(cold)}, std::move(work));
    return;
  }
  Hold(std::move(work.done), std::move(reply));
}

StatusOr<Result> Lane::Execute(const Command& command) {
  return std::visit(
      Overloaded{
          [&](const CreateQueue& c) {
            return ToReply(machine_.CreateQueue(c.name, c.settings, now_));
          },
          [&](const UpdateQueue& c) {
            return ToReply(machine_.UpdateQueue(c.name, c.patch, now_));
          },
          [&](const GetQueue& c) { return ToReply(machine_.GetQueue(c.name)); },
          [&](const ListQueues& c) -> Reply {
            return Result(machine_.ListQueues(c.parent, c.after_id, c.count_max));
          },
          [&](const DeleteQueue& c) { return ToReply(machine_.DeleteQueue(c.name, now_)); },
          [&](const PauseQueue& c) { return ToReply(machine_.PauseQueue(c.name, now_)); },
          [&](const ResumeQueue& c) { return ToReply(machine_.ResumeQueue(c.name, now_)); },
          [&](const PurgeQueue& c) { return ToReply(machine_.PurgeQueue(c.name, now_)); },
          [&](const SetAccessPolicy& c) {
            return ToReply(machine_.SetAccessPolicy(c.name, c.policy, c.etag));
          },
          [&](const CreateTask& c) {
            Reply reply = ToReply(machine_.CreateTask(c.queue, c.task, now_));
            if (reply.ok()) ++counters_.tasks_created;
            return reply;
          },
          [&](const GetTask& c) { return ToReply(machine_.GetTask(c.name, now_)); },
          [&](const DeleteTask& c) { return ToReply(machine_.DeleteTask(c.name, now_)); },
          [&](const RunTask& c) { return ToReply(machine_.RunTask(c.name, now_)); },
          [&](const ExplainTask& c) { return ToReply(machine_.ExplainTask(c.name, now_)); },
          [&](const ListDeadLetters& c) {
            return ToReply(machine_.ListDeadLetters(c.queue, c.selection, now_));
          },
          [&](const RedriveDeadLetters& c) {
            return ToReply(machine_.RedriveDeadLetters(c.queue, c.selection, now_));
          },
          [&](const DeleteDeadLetters& c) {
            return ToReply(machine_.DeleteDeadLetters(c.queue, c.selection, now_));
          },
          [&](const ListTasks&) -> Reply { return Internal("a listing runs as a read"); },
          [&](const CollectStats& c) -> Reply {
            std::vector<NamedStats> all;
            for (const QueueName& name : c.queues ? *c.queues : machine_.QueueNames()) {
              const StatusOr<core::Queue> queue = machine_.GetQueue(name);
              if (!queue.ok()) continue;  // one of the list that is gone
              SLUICE_ASSIGN_OR_RETURN(core::QueueStats stats, machine_.Stats(name, now_));
              all.push_back({name, queue->state, stats});
            }
            return Result(std::move(all));
          },
      },
      command);
}

void Lane::BeginList(const ListTasks& list, Done done) {
  StatusOr<core::TaskMachine::Listing> listing = machine_.BeginListing(list.queue, now_);
  if (!listing.ok()) {
    Hold(std::move(done), listing.status());
    return;
  }
  const ListRead read{*listing, list.after, list.count_max};
  Request(read, PendingList{read, std::move(done)});
}

void Lane::Request(decltype(ReadRequest::what) what, PendingRead pending) {
  ReadRequest request{next_read_++, std::move(what), {}};
  CaptureFor(ledger_.overlay(), &request);
  reads_.emplace(request.id, std::move(pending));
  ports_.Read(std::move(request));
}

void Lane::OnRead(ReadResult result, Time now) {
  Observe(now);
  const auto it = reads_.find(result.id);
  SLUICE_CHECK(it != reads_.end(), "a read is answered once");
  PendingRead pending = std::move(it->second);
  reads_.erase(it);
  std::visit(Overloaded{
                 [&](ColdCommand& work) { Run(std::move(work)); },
                 [&](PendingList& list) {
                   TaskPage page{std::move(result.tasks), 0};
                   if (!result.is_complete) {
                     // A page of nothing but ended tasks still says where to go on.
                     page.next_after =
                         page.tasks.empty() ? list.read.after : page.tasks.back().body->sequence;
                   }
                   Hold(std::move(list.done), Result(std::move(page)));
                 },
                 [&](core::LoadWindow& load) {
                   machine_.WindowLoaded(load, result.schedule, result.is_complete, now_);
                 },
                 [&](core::LoadTasks& load) { machine_.TasksLoaded(load, now_); },
                 [&](core::FindOldest& query) { machine_.OldestFound(query, result.oldest, now_); },
                 [&](core::FindPurged& query) {
                   machine_.PurgedFound(query, result.sequences, result.is_complete, now_);
                 },
                 [&](core::FindTombstones& query) {
                   machine_.TombstonesFound(query, result.tombstones, result.is_complete, now_);
                 },
             },
             pending);
}

void Lane::OnAttemptFinished(core::AttemptId id, const core::AttemptOutcome& outcome, Time now) {
  Observe(now);
  const bool is_success = outcome.kind == core::AttemptOutcome::Kind::kResponse &&
                          outcome.http_status >= 200 && outcome.http_status < 300;
  ++(is_success ? counters_.attempts_succeeded : counters_.attempts_failed);
  machine_.AttemptFinished(id, outcome, now_);
}

FrameNumber Lane::Gate() const {
  return ledger_.overlay().is_open_frame_empty() ? closed_ : ledger_.overlay().open_frame();
}

void Lane::Hold(Done done, Reply reply) {
  gated_.push_back({Gate(), PendingReply{std::move(done), std::move(reply)}});
}

template <typename T>
void Lane::RequestReads(std::vector<T>& requests) {
  for (T& request : requests) Request(request, request);
  requests.clear();
}

void Lane::DrainEffects() {
  RequestReads(effects_.window_loads);
  RequestReads(effects_.task_loads);
  RequestReads(effects_.oldest_queries);
  RequestReads(effects_.purged_queries);
  RequestReads(effects_.tombstone_queries);
  for (core::StartAttempt& attempt : effects_.attempts) {
    ++counters_.attempts_started;
    gated_.push_back({Gate(), std::move(attempt)});
  }
  effects_.attempts.clear();
  for (const core::TaskEnded& ended : effects_.ended) {
    ++counters_.tasks_ended[static_cast<std::size_t>(ended.end)];
    if (end_observer_) end_observer_(ended);
  }
  effects_.ended.clear();
  // Cold keys of reads that the machine itself will repeat are asked for by it.
  ledger_.TakeColdKeys();
}

Checkpoint Lane::CheckpointNow() const {
  return {now_,
          machine_.next_incarnation(),
          machine_.next_sequence(),
          machine_.tombstone_floor(),
          generated_id_key_,
          epoch_};
}

void Lane::CloseFrame() {
  closed_ = ledger_.overlay().open_frame();
  ports_.Commit(Frame{closed_, CheckpointNow(), ledger_.overlay().CloseFrame()});
}

void Lane::FinishRound(Time now, bool may_close) {
  Observe(now);
  if (is_dispatching_) machine_.Advance(now_);
  DrainEffects();
  Release();
  if (may_close && has_frame_to_close()) CloseFrame();
}

void Lane::OnCommitted(FrameNumber frame) {
  SLUICE_CHECK(frame == closed_ && committed_ + 1 == frame, "frames commit one at a time");
  committed_ = frame;
}

// What the state `committed_` proves durable may leave.
void Lane::Release() {
  while (!gated_.empty() && gated_.front().frame <= committed_) {
    Gated gated = std::move(gated_.front());
    gated_.pop_front();
    std::visit(Overloaded{
                   [](PendingReply& pending) {
                     // Durable now: the frame with everything this reply tells of.
                     pending.done(std::move(pending.reply));
                   },
                   [this](core::StartAttempt& attempt) {
                     // Durable now: the record that this attempt was started.
                     ports_.StartAttempt(std::move(attempt));
                   },
               },
               gated.what);
  }
}

void Lane::OnApplied(FrameNumber frame) {
  SLUICE_CHECK(frame <= committed_, "the store never runs ahead of the log");
  applied_ = frame;
  ledger_.overlay().Applied(frame);
}

Time Lane::NextDeadline() const {
  return is_dispatching_ ? machine_.NextDeadline() : absl::InfiniteFuture();
}

bool Lane::is_idle() const {
  return gated_.empty() && reads_.empty() && applied_ == closed_ &&
         ledger_.overlay().is_open_frame_empty();
}

}  // namespace sluice::engine

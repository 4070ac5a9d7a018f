// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/dead_letters.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/tasks/dispatch.h"
#include "core/tasks/lifecycle.h"
#include "core/tasks/state.h"
#include "core/tasks/task_lookup.h"

namespace sluice::core {

namespace {

constexpr int kExpiredPerAdvance = 256;
// A step ends early here, so that it neither fills a frame nor takes long.
constexpr std::uint64_t kStepBytesMax = 4u << 20;

DeadLetterHead HeadOf(const DeadLetter& letter) {
  const TaskProgress& progress = letter.task.progress;
  return {.end_time = letter.end_time,
          .bytes = BytesOf(letter.task.body->request) + letter.task.body->task_id.size() +
                   progress.past.size() * sizeof(PastAttempt),
          .last_status = progress.past.empty() ? 0 : progress.past.back().http_status};
}

void Drop(MachineState& state, Incarnation queue, Sequence sequence) {
  state.ledger.EraseDeadLetter(queue, sequence);
  state.dead_letters.Erase(queue, sequence);
}

void Keep(MachineState& state, Incarnation queue, const DeadLetter& letter) {
  const TaskLimits& limits = state.limits;
  if (limits.dead_letters_max == 0) return;
  const DeadLetterHead head = HeadOf(letter);
  DeadLetterIndex& index = state.dead_letters;
  ++index.totals.kept;
  if (head.bytes > limits.dead_letter_bytes_max) {
    ++index.totals.evicted;
    return;
  }
  const auto is_full = [&] {
    const DeadLetterIndex::Letters* letters = index.Find(queue);
    return letters != nullptr && (letters->heads.size() >= limits.dead_letters_max ||
                                  letters->bytes + head.bytes > limits.dead_letter_bytes_max);
  };
  while (is_full()) {
    Drop(state, queue, index.Find(queue)->by_end.begin()->second);
    ++index.totals.evicted;
  }
  state.ledger.PutDeadLetter(queue, letter, head);
  index.Insert(queue, letter.task.body->sequence, head);
}

bool Matches(const DeadLetterSelection& selection, Sequence sequence, const DeadLetterHead& head) {
  return !(selection.sequence_before != 0 && sequence >= selection.sequence_before) &&
         !(selection.ended_from && head.end_time < *selection.ended_from) &&
         !(selection.ended_before && head.end_time >= *selection.ended_before) &&
         !(selection.last_status && head.last_status != *selection.last_status);
}

// What a step is about: the sequences it takes, and in `step` what is known without
// reading: those that are not there, and where the next step goes on.
std::vector<Sequence> Select(const MachineState& state, const QueueRuntime& queue,
                             const DeadLetterSelection& selection, DeadLetterStep* step) {
  std::vector<Sequence> chosen;
  step->sequence_end = state.next_sequence;
  const DeadLetterIndex::Letters* letters = state.dead_letters.Find(queue.incarnation());
  if (!selection.sequences.empty()) {
    for (const Sequence sequence : selection.sequences) {
      const bool is_there = letters != nullptr && letters->heads.contains(sequence);
      (is_there ? chosen : step->not_found).push_back(sequence);
    }
    return chosen;
  }
  if (letters == nullptr) return chosen;
  DeadLetterIndex::Key from{absl::InfinitePast(), 0};
  if (selection.ended_from) from.first = *selection.ended_from;
  if (selection.after) {
    from = std::max(from, {selection.after->end_time, selection.after->sequence + 1});
  }
  std::uint64_t bytes = 0;
  for (auto it = letters->by_end.lower_bound(from); it != letters->by_end.end(); ++it) {
    if (selection.ended_before && it->first >= *selection.ended_before) break;
    const DeadLetterHead& head = letters->heads.at(it->second);
    if (!Matches(selection, it->second, head)) continue;
    bytes += head.bytes;
    const bool is_full = chosen.size() >= selection.count_max || bytes > kStepBytesMax;
    if (is_full && !chosen.empty()) {
      const Sequence last = chosen.back();
      step->next = DeadLetterCursor{letters->heads.at(last).end_time, last};
      break;
    }
    chosen.push_back(it->second);
  }
  return chosen;
}

// Reads every letter, so that all that is cold is asked for at once.
Status Load(const MachineState& state, Incarnation queue, const std::vector<Sequence>& sequences,
            std::vector<DeadLetter>* letters) {
  bool is_cold = false;
  for (const Sequence sequence : sequences) {
    DeadLetter letter;
    switch (state.ledger.FindDeadLetter(queue, sequence, &letter)) {
      case Lookup::kFound:
        letters->push_back(std::move(letter));
        break;
      case Lookup::kCold:
        is_cold = true;
        break;
      case Lookup::kAbsent:
        CheckFailed(__FILE__, __LINE__, "dead letter", "the index has one that is not stored");
    }
  }
  return is_cold ? ColdRead() : absl::OkStatus();
}

// A letter about to become a task again.
struct Resend {
  std::shared_ptr<const TaskBody> old;
  std::string task_id;
  Sequence sequence = 0;
  std::optional<NameEntry> leftover;  // the tombstone under a chosen name, its own as a rule
};

// Gives each letter its id and sequence, and takes the sequences. Those whose name a
// live task has, or another letter of the step, go to `taken`.
// Failure: ColdRead() after everything cold was asked for; `state` is as before then.
Status PlanResends(MachineState& state, const QueueRuntime& queue, std::vector<DeadLetter>& letters,
                   Time now, std::vector<Resend>* resends, std::vector<Sequence>* taken) {
  const Sequence next_before = state.next_sequence;
  bool is_cold = false;
  std::set<std::string> given;
  for (DeadLetter& letter : letters) {
    Resend resend{.old = std::move(letter.task.body), .sequence = state.next_sequence};
    if (resend.old->is_generated_id) {
      StatusOr<FreeName> name = FindFreeName(state, queue, "", now);
      if (!name.ok()) {
        is_cold = true;
        continue;
      }
      resend.task_id = std::move(name->task_id);
      resend.sequence = name->sequence;
    } else {
      resend.task_id = resend.old->task_id;
      NameEntry entry;
      const Lookup lookup = state.ledger.FindName(queue.incarnation(), resend.task_id, &entry);
      is_cold = is_cold || lookup == Lookup::kCold;
      const bool is_live = lookup == Lookup::kFound && entry.sequence != 0;
      if (is_live || !given.insert(resend.task_id).second) {
        taken->push_back(resend.old->sequence);
        continue;
      }
      if (lookup == Lookup::kFound) resend.leftover = entry;
    }
    state.next_sequence = resend.sequence + 1;
    resends->push_back(std::move(resend));
  }
  if (!is_cold) return absl::OkStatus();
  state.next_sequence = next_before;
  return ColdRead();
}

void SendAgain(MachineState& state, QueueRuntime& queue, const Resend& resend, Time now) {
  auto body = std::make_shared<TaskBody>(*resend.old);
  body->task_id = resend.task_id;
  body->sequence = resend.sequence;
  body->create_time = now;
  body->schedule_time = now;
  if (!body->is_generated_id) {
    if (resend.leftover) {
      state.ledger.EraseName(queue.incarnation(), body->task_id, *resend.leftover);
      state.tombstones.Reused(queue.incarnation(), body->task_id);
    }
    state.ledger.PutName(queue.incarnation(), body->task_id, NameEntry{.sequence = body->sequence});
  }
  AddTask(state, queue, std::move(body));
}

}  // namespace

// --- The index ---

void DeadLetterIndex::Note(Incarnation queue, const Letters& letters,
                           std::optional<Time> oldest_before) {
  std::optional<Time> oldest;
  if (!letters.by_end.empty()) oldest = letters.by_end.begin()->first;
  if (oldest == oldest_before) return;
  if (oldest_before) oldest_.erase({*oldest_before, queue});
  if (oldest) oldest_.insert({*oldest, queue});
}

void DeadLetterIndex::Insert(Incarnation queue, Sequence sequence, const DeadLetterHead& head) {
  Letters& letters = queues_[queue];
  std::optional<Time> before;
  if (!letters.by_end.empty()) before = letters.by_end.begin()->first;
  SLUICE_CHECK(letters.heads.emplace(sequence, head).second, "a task ends once");
  letters.by_end.insert({head.end_time, sequence});
  letters.bytes += head.bytes;
  Note(queue, letters, before);
}

void DeadLetterIndex::Erase(Incarnation queue, Sequence sequence) {
  const auto it = queues_.find(queue);
  SLUICE_CHECK(it != queues_.end(), "erased a dead letter of a queue that has none");
  Letters& letters = it->second;
  const auto head = letters.heads.find(sequence);
  SLUICE_CHECK(head != letters.heads.end(), "erased a dead letter that is not there");
  const Time before = letters.by_end.begin()->first;
  letters.by_end.erase({head->second.end_time, sequence});
  letters.bytes -= head->second.bytes;
  letters.heads.erase(head);
  Note(queue, letters, before);
  if (letters.heads.empty()) queues_.erase(it);
}

void DeadLetterIndex::EraseQueue(Incarnation queue) {
  const auto it = queues_.find(queue);
  if (it == queues_.end()) return;
  oldest_.erase({it->second.by_end.begin()->first, queue});
  queues_.erase(it);
}

const DeadLetterIndex::Letters* DeadLetterIndex::Find(Incarnation queue) const {
  const auto it = queues_.find(queue);
  return it == queues_.end() ? nullptr : &it->second;
}

std::optional<std::pair<Time, Incarnation>> DeadLetterIndex::Oldest() const {
  if (oldest_.empty()) return std::nullopt;
  return *oldest_.begin();
}

// --- Rules ---

void GiveUp(MachineState& state, QueueRuntime& queue, const Task& task,
            const TaskProgress& progress, Time now) {
  Keep(state, queue.incarnation(), {.end_time = now, .task = {task.body, progress}});
  EndTask(state, queue, task, TaskEnd::kExhausted, now);
}

Time DeadLettersDue(const MachineState& state) {
  const auto oldest = state.dead_letters.Oldest();
  return oldest ? oldest->first + state.limits.dead_letter_ttl : absl::InfiniteFuture();
}

void ExpireDeadLetters(MachineState& state, Time now) {
  for (int n = 0; n < kExpiredPerAdvance && DeadLettersDue(state) <= now; ++n) {
    const Incarnation queue = state.dead_letters.Oldest()->second;
    Drop(state, queue, state.dead_letters.Find(queue)->by_end.begin()->second);
    ++state.dead_letters.totals.expired;
  }
}

StatusOr<DeadLetterStep> ListDeadLetters(const MachineState& state, const QueueName& name,
                                         const DeadLetterSelection& selection) {
  SLUICE_ASSIGN_OR_RETURN(const QueueRuntime* queue, FindQueue(state, name));
  DeadLetterStep step;
  const std::vector<Sequence> chosen = Select(state, *queue, selection, &step);
  SLUICE_RETURN_IF_ERROR(Load(state, queue->incarnation(), chosen, &step.letters));
  return step;
}

StatusOr<DeadLetterStep> RedriveDeadLetters(MachineState& state, const QueueName& name,
                                            const DeadLetterSelection& selection, Time now) {
  SLUICE_ASSIGN_OR_RETURN(QueueRuntime * queue, FindQueue(state, name));
  DeadLetterStep step;
  const std::vector<Sequence> chosen = Select(state, *queue, selection, &step);
  std::vector<DeadLetter> letters;
  SLUICE_RETURN_IF_ERROR(Load(state, queue->incarnation(), chosen, &letters));
  std::vector<Resend> resends;
  SLUICE_RETURN_IF_ERROR(PlanResends(state, *queue, letters, now, &resends, &step.taken));

  for (Resend& resend : resends) {
    SendAgain(state, *queue, resend, now);
    Drop(state, queue->incarnation(), resend.old->sequence);
    step.sent.push_back({.sequence = resend.old->sequence,
                         .old_id = resend.old->task_id,
                         .new_id = std::move(resend.task_id)});
  }
  state.dead_letters.totals.redriven += resends.size();
  Replan(state, *queue);
  return step;
}

StatusOr<DeadLetterStep> DeleteDeadLetters(MachineState& state, const QueueName& name,
                                           const DeadLetterSelection& selection) {
  SLUICE_ASSIGN_OR_RETURN(const QueueRuntime* queue, FindQueue(state, name));
  DeadLetterStep step;
  step.deleted = Select(state, *queue, selection, &step);
  for (const Sequence sequence : step.deleted) Drop(state, queue->incarnation(), sequence);
  state.dead_letters.totals.deleted += step.deleted.size();
  return step;
}

}  // namespace sluice::core

// SPDX-License-Identifier: Apache-2.0
#include "runner/host.h"

namespace sluice::runner {
namespace {

// How long to wait for input before looking at the clock and at completions.
constexpr Duration kPatience = absl::Milliseconds(10);
// So many records are written between two looks at them.
constexpr std::uint64_t kRecordsATurn = 64;

}  // namespace

Host::Host(HostParts parts) : parts_(std::move(parts)) {
  SLUICE_CHECK(parts_.source != nullptr && parts_.sink != nullptr && parts_.now != nullptr,
               "a host needs a source, a sink and a clock");
}

Host::~Host() {
  if (commit_.valid()) commit_.wait();
}

Status Host::Run() {
  figures_.last_checkpoint = parts_.now();
  SLUICE_RETURN_IF_ERROR(Restore());
  SLUICE_RETURN_IF_ERROR(ReadAll());
  SLUICE_RETURN_IF_ERROR(Checkpoint(true));
  SLUICE_RETURN_IF_ERROR(FinishCommit());
  // Without it a start much later would ask for tasks whose names are long forgotten.
  if (is_batch_owed_) SLUICE_RETURN_IF_ERROR(Save(""));
  return parts_.sink->Close();
}

Status Host::Restore() {
  if (parts_.checkpoints == nullptr) return {};
  SLUICE_ASSIGN_OR_RETURN(const std::optional<struct Checkpoint> latest,
                          parts_.checkpoints->Latest());
  if (!latest) return {};
  if (latest->job != parts_.job) {
    return FailedPrecondition(
        "the checkpoint directory belongs to another run ({}), not to this one ({})", latest->job,
        parts_.job);
  }
  next_id_ = latest->id + 1;
  if (!latest->state.empty()) {
    is_batch_owed_ = true;
    SLUICE_RETURN_IF_ERROR(parts_.sink->Commit(latest->state));
    ++figures_.commits;
  }
  saved_position_ = latest->source;
  return parts_.source->Seek(latest->source);
}

Status Host::ReadAll() {
  Record record;
  for (std::uint64_t turn = 0; !is_stopping_.load(std::memory_order_relaxed); ++turn) {
    if (turn % kRecordsATurn == 0) {
      SLUICE_RETURN_IF_ERROR(parts_.sink->Pump());
      if (parts_.on_turn) parts_.on_turn();
    }
    SLUICE_RETURN_IF_ERROR(MaybeCheckpoint());
    SLUICE_ASSIGN_OR_RETURN(const RecordSource::Outcome outcome,
                            parts_.source->Next(kPatience, &record));
    figures_.blank_lines.store(parts_.source->blank_lines(), std::memory_order_relaxed);
    if (outcome == RecordSource::Outcome::kEnd) return {};
    if (outcome == RecordSource::Outcome::kNotYet) {
      turn = kRecordsATurn - 1;  // the next turn looks at everything
      continue;
    }
    SLUICE_RETURN_IF_ERROR(parts_.sink->Write(std::move(record)));
    figures_.records.fetch_add(1, std::memory_order_relaxed);
  }
  return {};
}

Status Host::MaybeCheckpoint() {
  SLUICE_RETURN_IF_ERROR(PollCommit());
  const BatchFill fill = parts_.sink->fill();
  const bool has_batches = fill.tasks_max > 0;
  if (has_batches && fill.is_full()) {
    if (commit_.valid()) ++figures_.waits_for_commit;
    return Checkpoint(false);  // waits for the commit before it
  }
  if (has_batches && fill.is_half_full() && !commit_.valid()) {
    ++figures_.early_checkpoints;
    return Checkpoint(false);
  }
  if (parts_.checkpoints == nullptr) return {};
  if (parts_.now() - figures_.last_checkpoint.load() < parts_.interval) return {};
  // With a commit under way the batch goes on growing; half full or full ends that.
  if (commit_.valid()) return {};
  return Checkpoint(false);
}

Status Host::Checkpoint(bool is_end_of_input) {
  SLUICE_RETURN_IF_ERROR(FinishCommit());
  SLUICE_RETURN_IF_ERROR(parts_.sink->Flush(is_end_of_input));
  const std::int64_t tasks = parts_.sink->fill().tasks;
  SLUICE_ASSIGN_OR_RETURN(std::string batch, parts_.sink->TakeBatch());
  figures_.last_checkpoint = parts_.now();
  if (parts_.checkpoints == nullptr) {
    SLUICE_CHECK(batch.empty(), "batches need a checkpoint directory");
    return {};
  }
  const bool is_news =
      !batch.empty() || is_batch_owed_ || saved_position_ != parts_.source->position();
  if (!is_news) return {};
  SLUICE_RETURN_IF_ERROR(Save(batch));
  if (!batch.empty()) StartCommit(std::move(batch), tasks);
  return {};
}

Status Host::Save(std::string batch) {
  is_batch_owed_ = !batch.empty();
  SLUICE_RETURN_IF_ERROR(parts_.checkpoints->Save({.id = next_id_,
                                                   .job = parts_.job,
                                                   .source = parts_.source->position(),
                                                   .state = std::move(batch)}));
  ++next_id_;
  saved_position_ = parts_.source->position();
  ++figures_.checkpoints;
  return {};
}

void Host::StartCommit(std::string batch, std::int64_t tasks) {
  commit_ = std::async(std::launch::async, [this, tasks, batch = std::move(batch)] {
    Status status = parts_.sink->Commit(batch);
    if (status.ok()) {
      ++figures_.commits;
      figures_.committed_tasks += tasks;
    }
    return status;
  });
}

Status Host::FinishCommit() {
  if (!commit_.valid()) return {};
  return commit_.get();
}

Status Host::PollCommit() {
  if (!commit_.valid()) return {};
  if (commit_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return {};
  return commit_.get();
}

}  // namespace sluice::runner

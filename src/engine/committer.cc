// SPDX-License-Identifier: Apache-2.0
#include "engine/committer.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "engine/recovery.h"
#include "env/file_system.h"
#include "store/keys.h"

namespace sluice::engine {
namespace {

constexpr std::chrono::seconds kFlushCheckInterval{1};

void RequireOk(const Status& status, std::string_view what) {
  if (!status.ok()) EndProcess(what, status);
}

}  // namespace

void EndProcess(std::string_view what, const Status& status) {
  std::fprintf(stderr,
               "FATAL: %.*s: %s. Stopping: what was acknowledged is durable, nothing else "
               "may be assumed of this process.\n",
               static_cast<int>(what.size()), what.data(), std::string(Message(status)).c_str());
  std::fflush(stderr);
  std::_Exit(EXIT_FAILURE);
}

Committer::Committer(const CommitterOptions& options, log::Log& log, store::Store& store,
                     Inbox& lane, env::FileSystem* files, std::string log_dir)
    : options_(options),
      log_(log),
      store_(store),
      lane_(lane),
      files_(files),
      log_dir_(std::move(log_dir)),
      commits_([this] { RunCommits(); }),
      applies_([this] { RunApplies(); }),
      flushes_([this] { RunFlushes(); }) {}

Committer::~Committer() { Stop(); }

void Committer::Commit(Frame frame) {
  const std::lock_guard lock(commit_mutex_);
  SLUICE_CHECK(!to_commit_, "one frame is committed at a time");
  to_commit_ = std::move(frame);
  commit_changed_.notify_one();
}

void Committer::RunCommits() {
  const auto idle = absl::ToChronoMicroseconds(options_.seal_after_idle);
  while (true) {
    std::optional<Frame> frame;
    {
      std::unique_lock lock(commit_mutex_);
      const auto is_ready = [this] { return to_commit_ || is_commit_stopping_; };
      if (!commit_changed_.wait_for(lock, idle, is_ready)) {
        lock.unlock();
        RequireOk(log_.Seal(), "sealing the log");
        lock.lock();
        commit_changed_.wait(lock, is_ready);
      }
      if (!to_commit_) return;  // stopping, and nothing is left
      frame = std::exchange(to_commit_, std::nullopt);
    }
    const std::string payload = EncodeFrame(frame->checkpoint, frame->batch.bytes());
    StatusOr<log::Position> position = log_.Append(payload);
    if (!position.ok()) EndProcess("appending to the log", position.status());
    RequireOk(log_.Sync(), "syncing the log");
    ++frames_;
    frame_bytes_ += payload.size();
    bytes_since_flush_ += payload.size();
    // Durable now: the frame. The lane hears of it before the store gets it, so
    // that "applied" never overtakes "committed".
    lane_.PutAnswer(Committed{frame->number});
    {
      const std::lock_guard lock(apply_mutex_);
      to_apply_.push_back({*position, *std::move(frame)});
    }
    apply_changed_.notify_one();
  }
}

void Committer::RunApplies() {
  while (true) {
    std::deque<ToApply> batch;
    {
      std::unique_lock lock(apply_mutex_);
      apply_changed_.wait(lock, [this] { return !to_apply_.empty() || is_apply_stopping_; });
      if (to_apply_.empty()) return;
      batch.swap(to_apply_);
    }
    for (const ToApply& item : batch) {
      RequireOk(store_.Apply(BatchForStore(item.frame.batch, item.frame.checkpoint, item.position)),
                "writing to the store");
    }
    lane_.PutAnswer(Applied{batch.back().frame.number});
  }
}

void Committer::FlushNow() {
  bytes_since_flush_ = 0;
  RequireOk(store_.Flush(), "flushing the store");
  const StatusOr<std::optional<std::string>> raw = store_.GetFlushed(store::kMetaKey);
  if (!raw.ok()) EndProcess("reading back the flushed position", raw.status());
  if (!*raw) return;
  const StatusOr<Meta> meta = DecodeMeta(**raw);
  if (!meta.ok()) EndProcess("reading back the flushed position", meta.status());
  RequireOk(log_.DropBefore(meta->applied), "dropping log segments");
}

void Committer::WatchSpace() {
  bool is_low = log_.usage().is_space_low;
  if (files_ != nullptr && !is_low) {
    const StatusOr<std::uint64_t> free = files_->FreeBytes(log_dir_);
    is_low = free.ok() && *free < options_.free_bytes_reserve;
  }
  if (is_low == is_space_low_) return;
  is_space_low_ = is_low;
  lane_.PutAnswer(SpaceChanged{is_low});
}

void Committer::RunFlushes() {
  std::unique_lock lock(flush_mutex_);
  auto next =
      std::chrono::steady_clock::now() + absl::ToChronoMicroseconds(options_.flush_interval);
  while (
      !flush_changed_.wait_for(lock, kFlushCheckInterval, [this] { return is_flush_stopping_; })) {
    WatchSpace();
    const bool is_due = std::chrono::steady_clock::now() >= next && bytes_since_flush_ > 0;
    if (!is_due && bytes_since_flush_ < options_.flush_log_bytes) continue;
    next = std::chrono::steady_clock::now() + absl::ToChronoMicroseconds(options_.flush_interval);
    FlushNow();
  }
}

void Committer::Stop() {
  if (!commits_.joinable()) return;
  {
    const std::lock_guard lock(commit_mutex_);
    is_commit_stopping_ = true;
  }
  commit_changed_.notify_one();
  commits_.join();
  {
    const std::lock_guard lock(apply_mutex_);
    is_apply_stopping_ = true;
  }
  apply_changed_.notify_one();
  applies_.join();
  {
    const std::lock_guard lock(flush_mutex_);
    is_flush_stopping_ = true;
  }
  flush_changed_.notify_one();
  flushes_.join();
  RequireOk(log_.Seal(), "sealing the log");
  FlushNow();
}

}  // namespace sluice::engine

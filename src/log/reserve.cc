// SPDX-License-Identifier: Apache-2.0
#include "log/reserve.h"

#include <algorithm>
#include <limits>

#include "log/format.h"

namespace sluice::log {
namespace {

/// Zeros are written and synced in pieces, so that they never pile up in the
/// device's queue in front of a frame's sync, and `Stop` need not wait long.
constexpr std::uint64_t kZeroPieceBytes = 1u << 20;
/// With the writer waiting for the segment there is no such frame: one sync for
/// all; a first start was ready in 43 ms instead of 50.
constexpr std::uint64_t kZeroAllAtOnce = std::numeric_limits<std::uint64_t>::max();

bool IsFull(const Status& status) { return status.code() == absl::StatusCode::kResourceExhausted; }

}  // namespace

void Reserve::Adopt(FreshSegment segment) {
  const std::lock_guard lock(mutex_);
  next_number_ = segment.number + 1;
  ready_.push_back(std::move(segment));
}

void Reserve::StartAt(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  next_number_ = number;
}

std::uint64_t Reserve::BytesOf(std::uint32_t number) const {
  std::uint64_t bytes = options_.segment_bytes_first;
  for (std::uint32_t i = 1; i < number && bytes < options_.segment_bytes; ++i) bytes *= 2;
  return std::min(bytes, options_.segment_bytes);
}

bool Reserve::is_stopping() const {
  const std::lock_guard lock(mutex_);
  return is_stopping_;
}

Status Reserve::FillFile(env::File& file, std::uint32_t number, std::uint64_t bytes,
                         std::uint64_t piece_bytes) {
  SLUICE_RETURN_IF_ERROR(file.Truncate(0));
  for (std::uint64_t offset = 0; offset < bytes;) {
    if (is_stopping()) return Cancelled("the log is being closed");
    const std::uint64_t piece = std::min(piece_bytes, bytes - offset);
    SLUICE_RETURN_IF_ERROR(file.ZeroAt(offset, piece));
    offset += piece;
    if (offset < bytes) SLUICE_RETURN_IF_ERROR(file.SyncData());
  }
  const SegmentHeader header{.segment = number, .log_id = options_.log_id, .bytes = bytes};
  SLUICE_RETURN_IF_ERROR(file.WriteAt(0, EncodeSegmentHeader(header)));
  return file.SyncData();
}

StatusOr<std::unique_ptr<env::File>> Reserve::MakeFile(std::uint32_t number, std::uint64_t bytes,
                                                       std::uint64_t piece_bytes) {
  SLUICE_ASSIGN_OR_RETURN(const std::uint64_t free, fs_.FreeBytes(options_.dir));
  const std::string path = env::JoinPath(options_.dir, SegmentFileName(number));
  if (free < bytes) {
    return ResourceExhausted("log segment {}: {} bytes are needed, {} are free", path, bytes, free);
  }
  const std::string draft = path + ".new";
  StatusOr<std::unique_ptr<env::File>> file = fs_.Open(draft, env::OpenMode::kCreate);
  Status status = file.status();
  if (status.ok()) status = FillFile(**file, number, bytes, piece_bytes);
  if (status.ok()) status = fs_.Rename(draft, path);
  if (!status.ok()) {
    file = status;  // closed first, so that removing it gives the space back
    IgnoreError(fs_.Remove(draft), "the next attempt or the next start removes it");
    return status;
  }
  // Nobody may use the segment before its name is durable: frames in a file whose
  // name is lost are lost.
  if (const Status synced = fs_.SyncDirectory(options_.dir); !synced.ok()) {
    return Internal("log folder {}: {}", options_.dir, Message(synced));
  }
  return file;
}

StatusOr<FreshSegment> Reserve::MakeNext(std::unique_lock<std::mutex>& lock,
                                         std::uint64_t bytes_min, std::uint64_t piece_bytes) {
  const std::uint32_t number = next_number_;
  const std::uint64_t bytes = std::max(BytesOf(number), bytes_min);
  is_making_ = true;
  lock.unlock();
  StatusOr<std::unique_ptr<env::File>> file = MakeFile(number, bytes, piece_bytes);
  lock.lock();
  is_making_ = false;
  changed_.notify_all();
  if (!file.ok()) {
    if (IsFull(file.status())) {
      is_low_ = true;
    } else if (!is_stopping_) {
      failure_ = file.status();
    }
    return file.status();
  }
  ++next_number_;
  return FreshSegment{.number = number, .bytes = bytes, .file = *std::move(file)};
}

StatusOr<FreshSegment> Reserve::Take(std::uint64_t bytes_min) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !is_making_; });
  SLUICE_RETURN_IF_ERROR(failure_);
  if (ready_.empty()) return MakeNext(lock, bytes_min, kZeroAllAtOnce);
  FreshSegment segment = std::move(ready_.front());
  ready_.pop_front();
  if (segment.bytes >= bytes_min) return segment;
  // A frame larger than a usual segment: this one grows, so that numbers stay in
  // step with positions. Rare, hence done by the thread that needs it.
  Status grown = segment.file->ZeroAt(segment.bytes, bytes_min - segment.bytes);
  if (grown.ok()) grown = segment.file->SyncData();
  if (grown.ok()) {
    segment.bytes = bytes_min;
    return segment;
  }
  if (IsFull(grown)) {
    is_low_ = true;
    ready_.push_front(std::move(segment));  // still good for usual frames
  } else {
    failure_ = grown;
  }
  return grown;
}

void Reserve::Refill() {
  {
    const std::lock_guard lock(mutex_);
    const bool is_complete = ready_.size() >= options_.target && !is_low_;
    if (is_posted_ || is_stopping_ || !failure_.ok() || is_complete) return;
    is_posted_ = true;
  }
  executor_.Post([self = weak_from_this()] {
    if (const std::shared_ptr<Reserve> reserve = self.lock()) reserve->RunJob();
  });
}

void Reserve::RunJob() {
  std::unique_lock lock(mutex_);
  is_posted_ = false;
  for (;;) {
    changed_.wait(lock, [this] { return !is_making_; });
    if (is_stopping_ || !failure_.ok()) return;
    if (ready_.size() >= options_.target) break;
    StatusOr<FreshSegment> segment = MakeNext(lock, 0, kZeroPieceBytes);
    if (!segment.ok()) return;
    ready_.push_back(*std::move(segment));
  }
  is_low_ = false;
}

void Reserve::Stop() {
  std::unique_lock lock(mutex_);
  is_stopping_ = true;
  changed_.wait(lock, [this] { return !is_making_; });
}

Status Reserve::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

bool Reserve::is_low() const {
  const std::lock_guard lock(mutex_);
  return is_low_;
}

std::uint64_t Reserve::bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t bytes = 0;
  for (const FreshSegment& segment : ready_) bytes += segment.bytes;
  return bytes;
}

std::uint64_t Reserve::segments() const {
  const std::lock_guard lock(mutex_);
  return ready_.size();
}

}  // namespace sluice::log

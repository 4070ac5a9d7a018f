// SPDX-License-Identifier: Apache-2.0
#include "runner/record_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace sluice::runner {
namespace {

constexpr std::size_t kReadBytes = std::size_t{256} << 10;
constexpr std::size_t kOverlongHeadBytes = 256;

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::string_view ShownName(const std::string& name) {
  return name == "-" ? std::string_view("standard input") : std::string_view(name);
}

}  // namespace

StatusOr<std::unique_ptr<RecordSource>> RecordSource::Make(std::vector<std::string> names) {
  if (names.empty()) return InvalidArgument("no source of records was given");
  for (const std::string& name : names) {
    if (name.starts_with("pubsub:") || name.starts_with("kafka:")) {
      return Unimplemented("source {}: this version reads files and standard input only", name);
    }
    if (name.empty()) return InvalidArgument("a source of records has an empty name");
  }
  if (std::count(names.begin(), names.end(), "-") > 1) {
    return InvalidArgument("standard input can be read once only");
  }
  return std::unique_ptr<RecordSource>(new RecordSource(std::move(names)));
}

RecordSource::RecordSource(std::vector<std::string> names) : names_(std::move(names)) {}
RecordSource::~RecordSource() { CloseCurrent(); }

void RecordSource::CloseCurrent() {
  if (descriptor_ > 0) close(descriptor_);
  descriptor_ = -1;
  is_end_of_file_ = false;
  buffer_.clear();
  begin_ = scanned_ = 0;
}

Status RecordSource::OpenCurrent() {
  const std::string& name = names_[position_.source];
  if (name == "-") {
    descriptor_ = STDIN_FILENO;
    return {};
  }
  descriptor_ = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    const int error = errno;
    if (error == ENOENT) return NotFound("source {} does not exist", name);
    return FailedPrecondition("source {} cannot be read: {}", name,
                              std::system_category().message(error));
  }
  struct stat facts {};
  if (fstat(descriptor_, &facts) == 0 && S_ISDIR(facts.st_mode)) {
    return FailedPrecondition("source {} is a folder", name);
  }
  return {};
}

Status RecordSource::Seek(const SourcePosition& position) {
  CloseCurrent();
  position_ = position;
  if (position.source >= names_.size()) return {};  // all were read to their end
  if (position.offset == 0) return {};
  SLUICE_RETURN_IF_ERROR(OpenCurrent());
  Status too_short = FailedPrecondition(
      "source {} has fewer than the {} bytes that were read before; is it another?",
      ShownName(names_[position.source]), position.offset);
  const auto offset = static_cast<off_t>(position.offset);
  struct stat facts {};
  if (fstat(descriptor_, &facts) == 0 && S_ISREG(facts.st_mode)) {
    if (facts.st_size < offset) return too_short;
    if (lseek(descriptor_, offset, SEEK_SET) != offset) return Internal("cannot seek in a source");
    return {};
  }
  std::uint64_t left = position.offset;
  std::string skipped(kReadBytes, '\0');
  while (left > 0) {
    const ssize_t n = read(descriptor_, skipped.data(), std::min<std::uint64_t>(left, kReadBytes));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return too_short;
    left -= static_cast<std::uint64_t>(n);
  }
  return {};
}

StatusOr<bool> RecordSource::Fill(Duration patience) {
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    scanned_ -= begin_;
    begin_ = 0;
  }
  pollfd wanted{.fd = descriptor_, .events = POLLIN, .revents = 0};
  const int ready = poll(&wanted, 1, static_cast<int>(absl::ToInt64Milliseconds(patience)));
  if (ready == 0 || (ready < 0 && errno == EINTR)) return false;
  const std::size_t old_size = buffer_.size();
  buffer_.resize(old_size + kReadBytes);
  const ssize_t n = read(descriptor_, buffer_.data() + old_size, kReadBytes);
  const int error = errno;
  buffer_.resize(old_size + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  if (n < 0) {
    if (error == EINTR || error == EAGAIN) return false;
    return Internal("source {} cannot be read: {}", ShownName(names_[position_.source]),
                    std::system_category().message(error));
  }
  if (n == 0) is_end_of_file_ = true;
  return true;
}

bool RecordSource::TakeLine(Record* record) {
  std::size_t end = buffer_.find('\n', scanned_);
  const bool has_break = end != std::string::npos;
  if (!has_break) {
    end = buffer_.size();
    scanned_ = end;
    if (!is_end_of_file_) {
      if (end - begin_ <= kRecordBytesMax) return false;
      // Not kept: what is beyond the limit only moves the position.
      if (!is_overlong_) overlong_head_ = buffer_.substr(begin_, kOverlongHeadBytes);
      is_overlong_ = true;
      position_.offset += end - begin_;
      begin_ = end;
      return false;
    }
    if (end == begin_ && !is_overlong_) return false;
  }
  const std::size_t length = end - begin_;
  record->is_too_long = is_overlong_ || length > kRecordBytesMax;
  record->text = is_overlong_
                     ? overlong_head_
                     : buffer_.substr(begin_, record->is_too_long ? kOverlongHeadBytes : length);
  is_overlong_ = false;
  position_.offset += length + (has_break ? 1 : 0);
  position_.line += 1;
  begin_ = end + (has_break ? 1 : 0);
  scanned_ = begin_;
  if (record->text.ends_with('\r')) record->text.pop_back();
  return true;
}

StatusOr<RecordSource::Outcome> RecordSource::Next(Duration patience, Record* record) {
  while (position_.source < names_.size()) {
    if (descriptor_ < 0) SLUICE_RETURN_IF_ERROR(OpenCurrent());
    while (TakeLine(record)) {
      if (IsBlank(record->text) && !record->is_too_long) {
        ++blank_lines_;
        continue;
      }
      record->place = fmt::format("{}:{}", ShownName(names_[position_.source]), position_.line);
      return Outcome::kRecord;
    }
    if (is_end_of_file_) {
      // The last source keeps its position: a file that grew is read on later.
      if (position_.source + 1 == names_.size()) return Outcome::kEnd;
      CloseCurrent();
      position_ = SourcePosition{.source = position_.source + 1, .offset = 0, .line = 0};
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(const bool has_more, Fill(patience));
    if (!has_more) return Outcome::kNotYet;
  }
  return Outcome::kEnd;
}

}  // namespace sluice::runner

// SPDX-License-Identifier: Apache-2.0
#include "engine/records.h"

#include <memory>
#include <optional>
#include <utility>

#include "base/codec.h"
#include "engine/target_records.h"

namespace sluice::engine {
namespace {

constexpr std::uint8_t kVersion = 1;

// Flags of a task body.
constexpr std::uint8_t kIsGeneratedId = 1;
constexpr std::uint8_t kHasRetry = 2;
constexpr std::uint8_t kIsAppEngine = 4;
constexpr std::uint8_t kHasToken = 8;
constexpr std::uint8_t kFlagsMax = 15;

// Floors that stand for "nothing known" are infinite times in the core; the
// codec saturates them to the ends of the microsecond range and back.
void PutTime(ByteWriter& w, Time t) { w.SignedVarint(ToMicros(t)); }
Time GetTime(ByteReader& r) { return FromMicros(r.SignedVarint()); }
void PutDuration(ByteWriter& w, Duration d) { w.SignedVarint(ToMicros(d)); }
Duration GetDuration(ByteReader& r) { return DurationFromMicros(r.SignedVarint()); }

void PutOptionalTime(ByteWriter& w, const std::optional<Time>& t) {
  w.U8(t.has_value() ? 1 : 0);
  if (t) PutTime(w, *t);
}

std::optional<Time> GetOptionalTime(ByteReader& r) {
  if (r.U8() == 0) return std::nullopt;
  return GetTime(r);
}

void PutInt(ByteWriter& w, std::int32_t v) { w.SignedVarint(v); }
std::int32_t GetInt(ByteReader& r) { return static_cast<std::int32_t>(r.SignedVarint()); }

void PutRetry(ByteWriter& w, const core::RetryConfig& c) {
  PutInt(w, c.max_attempts);
  PutDuration(w, c.max_retry_duration);
  PutDuration(w, c.min_backoff);
  PutDuration(w, c.max_backoff);
  PutInt(w, c.max_doublings);
}

core::RetryConfig GetRetry(ByteReader& r) {
  core::RetryConfig c;
  c.max_attempts = GetInt(r);
  c.max_retry_duration = GetDuration(r);
  c.min_backoff = GetDuration(r);
  c.max_backoff = GetDuration(r);
  c.max_doublings = GetInt(r);
  return c;
}

void PutCheckpoint(ByteWriter& w, const Checkpoint& c) {
  PutTime(w, c.time);
  w.Varint(c.next_incarnation);
  w.Varint(c.next_sequence);
  PutTime(w, c.tombstone_floor);
  w.U64(c.generated_id_key);
  w.Varint(c.epoch);
}

Checkpoint GetCheckpoint(ByteReader& r) {
  Checkpoint c;
  c.time = GetTime(r);
  c.next_incarnation = r.Varint();
  c.next_sequence = r.Varint();
  c.tombstone_floor = GetTime(r);
  c.generated_id_key = r.U64();
  c.epoch = r.Varint();
  return c;
}

std::string Begin() { return std::string(1, static_cast<char>(kVersion)); }

// Consumes the version byte.
Status CheckVersion(ByteReader& r, std::string_view kind) {
  const std::uint8_t version = r.U8();
  if (!r.ok()) return DataLoss("{} record is empty", kind);
  if (version != kVersion) {
    return FailedPrecondition("{} record has format version {}; this build reads version {}", kind,
                              version, kVersion);
  }
  return absl::OkStatus();
}

Status CheckDone(const ByteReader& r, std::string_view kind) {
  if (r.done()) return absl::OkStatus();
  return DataLoss("{} record is {}", kind, r.ok() ? "longer than its fields" : "cut short");
}

}  // namespace

std::string EncodeMeta(const Meta& meta) {
  std::string out = Begin();
  ByteWriter w(&out);
  w.Varint(meta.applied);
  PutCheckpoint(w, meta.checkpoint);
  return out;
}

StatusOr<Meta> DecodeMeta(std::string_view value) {
  ByteReader r(value);
  SLUICE_RETURN_IF_ERROR(CheckVersion(r, "meta"));
  Meta meta;
  meta.applied = r.Varint();
  meta.checkpoint = GetCheckpoint(r);
  SLUICE_RETURN_IF_ERROR(CheckDone(r, "meta"));
  return meta;
}

std::string EncodeFrame(const Checkpoint& checkpoint, std::string_view batch_bytes) {
  std::string out = Begin();
  out.reserve(batch_bytes.size() + 64);
  ByteWriter w(&out);
  PutCheckpoint(w, checkpoint);
  w.Raw(batch_bytes);
  return out;
}

StatusOr<DecodedFrame> DecodeFrame(std::string_view payload) {
  ByteReader r(payload);
  SLUICE_RETURN_IF_ERROR(CheckVersion(r, "frame"));
  DecodedFrame frame;
  frame.checkpoint = GetCheckpoint(r);
  if (!r.ok()) return DataLoss("frame of {} bytes is cut short", payload.size());
  frame.batch_bytes = r.rest();
  return frame;
}

std::string EncodeQueue(const core::Queue& q) {
  std::string out = Begin();
  ByteWriter w(&out);
  w.Bytes(q.name.location.project);
  w.Bytes(q.name.location.location);
  w.Bytes(q.name.queue_id);
  w.Varint(q.incarnation);
  w.U8(static_cast<std::uint8_t>(q.state));
  w.Double(q.config.rate.max_dispatches_per_second);
  PutInt(w, q.config.rate.max_burst_size);
  PutInt(w, q.config.rate.max_concurrent_dispatches);
  PutRetry(w, q.config.retry);
  w.Double(q.config.log_sampling_ratio);
  PutDuration(w, q.config.task_ttl);
  PutDuration(w, q.config.tombstone_ttl);
  PutOptionalTime(w, q.purge_time);
  w.Varint(q.purged_through);
  w.Bytes(q.policy.bytes);
  w.Varint(q.policy.revision);
  PutTargets(w, q.config.targets);
  return out;
}

StatusOr<core::Queue> DecodeQueue(std::string_view value) {
  ByteReader r(value);
  SLUICE_RETURN_IF_ERROR(CheckVersion(r, "queue"));
  core::Queue q;
  q.name.location.project = r.Bytes();
  q.name.location.location = r.Bytes();
  q.name.queue_id = r.Bytes();
  q.incarnation = r.Varint();
  const std::uint8_t state = r.U8();
  q.config.rate.max_dispatches_per_second = r.Double();
  q.config.rate.max_burst_size = GetInt(r);
  q.config.rate.max_concurrent_dispatches = GetInt(r);
  q.config.retry = GetRetry(r);
  q.config.log_sampling_ratio = r.Double();
  q.config.task_ttl = GetDuration(r);
  q.config.tombstone_ttl = GetDuration(r);
  q.purge_time = GetOptionalTime(r);
  q.purged_through = r.Varint();
  q.policy.bytes = r.Bytes();
  q.policy.revision = r.Varint();
  SLUICE_ASSIGN_OR_RETURN(q.config.targets, GetTargets(r));
  SLUICE_RETURN_IF_ERROR(CheckDone(r, "queue"));
  if (state < 1 || state > 3) return DataLoss("queue record has state {}", state);
  q.state = static_cast<core::QueueState>(state);
  return q;
}

std::string EncodeBody(const core::TaskBody& b) {
  std::string out = Begin();
  out.reserve(b.request.body.size() + b.request.url.size() + b.task_id.size() + 96);
  ByteWriter w(&out);
  const bool has_token = !std::holds_alternative<std::monostate>(b.request.token);
  w.U8(static_cast<std::uint8_t>(
      (b.is_generated_id ? kIsGeneratedId : 0) | (b.retry ? kHasRetry : 0) |
      (b.request.app_engine ? kIsAppEngine : 0) | (has_token ? kHasToken : 0)));
  w.Bytes(b.task_id);
  PutTime(w, b.create_time);
  PutTime(w, b.schedule_time);
  PutDuration(w, b.dispatch_deadline);
  if (b.retry) PutRetry(w, *b.retry);
  w.U8(static_cast<std::uint8_t>(b.request.method));
  w.Bytes(b.request.url);
  w.Varint(b.request.headers.size());
  for (const core::Header& header : b.request.headers) {
    w.Bytes(header.name);
    w.Bytes(header.value);
  }
  w.Bytes(b.request.body);
  if (b.request.app_engine) PutRouting(w, *b.request.app_engine);
  if (has_token) PutToken(w, b.request.token);
  return out;
}

StatusOr<core::TaskBody> DecodeBody(core::Sequence sequence, std::string_view value) {
  ByteReader r(value);
  SLUICE_RETURN_IF_ERROR(CheckVersion(r, "task body"));
  core::TaskBody b;
  b.sequence = sequence;
  const std::uint8_t flags = r.U8();
  b.is_generated_id = (flags & kIsGeneratedId) != 0;
  b.task_id = r.Bytes();
  b.create_time = GetTime(r);
  b.schedule_time = GetTime(r);
  b.dispatch_deadline = GetDuration(r);
  if ((flags & kHasRetry) != 0) b.retry = GetRetry(r);
  const std::uint8_t method = r.U8();
  b.request.url = r.Bytes();
  const std::uint64_t header_count = r.Varint();
  for (std::uint64_t i = 0; i < header_count && r.ok(); ++i) {
    core::Header header;
    header.name = r.Bytes();
    header.value = r.Bytes();
    b.request.headers.push_back(std::move(header));
  }
  b.request.body = r.Bytes();
  if ((flags & kIsAppEngine) != 0) b.request.app_engine = GetRouting(r);
  if ((flags & kHasToken) != 0) {
    SLUICE_ASSIGN_OR_RETURN(b.request.token, GetToken(r));
  }
  SLUICE_RETURN_IF_ERROR(CheckDone(r, "task body"));
  if (flags > kFlagsMax || method < 1 || method > 7) {
    return DataLoss("task body record has flags {} and method {}", flags, method);
  }
  b.request.method = static_cast<core::HttpMethod>(method);
  return b;
}

std::string EncodeProgress(const core::TaskProgress& p) {
  std::string out = Begin();
  ByteWriter w(&out);
  PutTime(w, p.schedule_time);
  PutInt(w, p.dispatch_count);
  PutInt(w, p.response_count);
  PutInt(w, p.execution_count);
  PutInt(w, p.previous_response);
  PutOptionalTime(w, p.first_dispatch_time);
  w.U8(p.last_attempt ? 1 : 0);
  if (p.last_attempt) {
    PutTime(w, p.last_attempt->schedule_time);
    PutTime(w, p.last_attempt->dispatch_time);
    PutOptionalTime(w, p.last_attempt->response_time);
    PutInt(w, p.last_attempt->status.code);
    w.Bytes(p.last_attempt->status.message);
  }
  w.Varint(p.past.size());
  for (const core::PastAttempt& attempt : p.past) {
    PutTime(w, attempt.dispatch_time);
    PutDuration(w, attempt.end_time - attempt.dispatch_time);
    PutInt(w, attempt.http_status);
    PutInt(w, attempt.code);
  }
  return out;
}

StatusOr<core::TaskProgress> DecodeProgress(std::string_view value) {
  ByteReader r(value);
  SLUICE_RETURN_IF_ERROR(CheckVersion(r, "task progress"));
  core::TaskProgress p;
  p.schedule_time = GetTime(r);
  p.dispatch_count = GetInt(r);
  p.response_count = GetInt(r);
  p.execution_count = GetInt(r);
  p.previous_response = GetInt(r);
  p.first_dispatch_time = GetOptionalTime(r);
  if (r.U8() != 0) {
    core::Attempt attempt;
    attempt.schedule_time = GetTime(r);
    attempt.dispatch_time = GetTime(r);
    attempt.response_time = GetOptionalTime(r);
    attempt.status.code = GetInt(r);
    attempt.status.message = r.Bytes();
    p.last_attempt = std::move(attempt);
  }
  const std::uint64_t past_count = r.Varint();
  for (std::uint64_t i = 0; i < past_count && r.ok(); ++i) {
    core::PastAttempt attempt;
    attempt.dispatch_time = GetTime(r);
    attempt.end_time = attempt.dispatch_time + GetDuration(r);
    attempt.http_status = GetInt(r);
    attempt.code = GetInt(r);
    p.past.push_back(attempt);
  }
  SLUICE_RETURN_IF_ERROR(CheckDone(r, "task progress"));
  return p;
}

std::string EncodeNameEntry(const core::NameEntry& entry) {
  std::string out = Begin();
  ByteWriter w(&out);
  w.Varint(entry.sequence);
  PutOptionalTime(w, entry.reserved_until);
  return out;
}

StatusOr<core::NameEntry> DecodeNameEntry(std::string_view value) {
  ByteReader r(value);
  SLUICE_RETURN_IF_ERROR(CheckVersion(r, "task name"));
  core::NameEntry entry;
  entry.sequence = r.Varint();
  entry.reserved_until = GetOptionalTime(r);
  SLUICE_RETURN_IF_ERROR(CheckDone(r, "task name"));
  return entry;
}

std::string EncodeCounters(const core::QueueCounters& counters) {
  std::string out = Begin();
  ByteWriter w(&out);
  w.Varint(counters.task_count);
  w.Varint(counters.body_floor);
  PutTime(w, counters.schedule_floor);
  w.Varint(counters.lookalike_floor);
  return out;
}

StatusOr<core::QueueCounters> DecodeCounters(std::string_view value) {
  ByteReader r(value);
  SLUICE_RETURN_IF_ERROR(CheckVersion(r, "queue counters"));
  core::QueueCounters counters;
  counters.task_count = r.Varint();
  counters.body_floor = r.Varint();
  counters.schedule_floor = GetTime(r);
  counters.lookalike_floor = r.Varint();
  SLUICE_RETURN_IF_ERROR(CheckDone(r, "queue counters"));
  return counters;
}

std::string EncodeDeadLetter(const core::DeadLetter& letter) {
  std::string out = Begin();
  ByteWriter w(&out);
  PutTime(w, letter.end_time);
  w.Bytes(EncodeBody(*letter.task.body));
  w.Bytes(EncodeProgress(letter.task.progress));
  return out;
}

StatusOr<core::DeadLetter> DecodeDeadLetter(core::Sequence sequence, std::string_view value) {
  ByteReader r(value);
  SLUICE_RETURN_IF_ERROR(CheckVersion(r, "dead letter"));
  core::DeadLetter letter;
  letter.end_time = GetTime(r);
  const std::string_view body = r.Bytes();
  const std::string_view progress = r.Bytes();
  SLUICE_RETURN_IF_ERROR(CheckDone(r, "dead letter"));
  SLUICE_ASSIGN_OR_RETURN(core::TaskBody decoded, DecodeBody(sequence, body));
  letter.task.body = std::make_shared<core::TaskBody>(std::move(decoded));
  SLUICE_ASSIGN_OR_RETURN(letter.task.progress, DecodeProgress(progress));
  return letter;
}

std::string EncodeDeadLetterHead(const core::DeadLetterHead& head) {
  std::string out = Begin();
  ByteWriter w(&out);
  PutTime(w, head.end_time);
  w.Varint(head.bytes);
  PutInt(w, head.last_status);
  return out;
}

StatusOr<core::DeadLetterHead> DecodeDeadLetterHead(std::string_view value) {
  ByteReader r(value);
  SLUICE_RETURN_IF_ERROR(CheckVersion(r, "head of a dead letter"));
  core::DeadLetterHead head;
  head.end_time = GetTime(r);
  head.bytes = r.Varint();
  head.last_status = GetInt(r);
  SLUICE_RETURN_IF_ERROR(CheckDone(r, "head of a dead letter"));
  return head;
}

std::string EncodeReservation(Time until) {
  std::string out = Begin();
  ByteWriter w(&out);
  PutTime(w, until);
  return out;
}

StatusOr<Time> DecodeReservation(std::string_view value) {
  ByteReader r(value);
  SLUICE_RETURN_IF_ERROR(CheckVersion(r, "queue name reservation"));
  const Time until = GetTime(r);
  SLUICE_RETURN_IF_ERROR(CheckDone(r, "queue name reservation"));
  return until;
}

}  // namespace sluice::engine

// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/staged/committable_collector.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "base/codec.h"
#include "base/crc32c.h"
#include "sluice/sink/staged/envelope_codec.h"

namespace sluice::sink {
namespace {

constexpr std::string_view kMagic = "SLCC";
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kChecksumBytes = 4;

class Request final : public CommitRequest {
 public:
  explicit Request(const Envelope& envelope) : envelope_(envelope) {}
  [[nodiscard]] const Envelope& envelope() const override { return envelope_; }
  void SignalAlreadyCommitted() override { already_committed_ = true; }
  [[nodiscard]] bool already_committed() const { return already_committed_; }

 private:
  const Envelope& envelope_;
  bool already_committed_ = false;
};

struct State {
  std::int64_t last_checkpoint_id = 0;
  std::vector<std::pair<std::int64_t, std::vector<Envelope>>> batches;
};

using Batches = std::multimap<std::int64_t, std::shared_ptr<const std::vector<Envelope>>>;

StatusOr<std::string> Encode(std::int64_t last_checkpoint_id, const Batches& batches) {
  std::string bytes;
  ByteWriter out(&bytes);
  out.Raw(kMagic);
  out.U8(kVersion);
  out.U8(kEnvelopeVersion);
  out.SignedVarint(last_checkpoint_id);
  out.Varint(batches.size());
  for (const auto& [checkpoint_id, batch] : batches) {
    out.SignedVarint(checkpoint_id);
    out.Varint(batch->size());
    for (const Envelope& envelope : *batch) {
      SLUICE_ASSIGN_OR_RETURN(const std::string frame, EncodeEnvelope(envelope));
      out.Bytes(frame);
    }
  }
  out.U32(Crc32c(bytes));
  return bytes;
}

StatusOr<State> Decode(std::string_view bytes) {
  if (bytes.size() < kMagic.size() + 1 + kChecksumBytes ||
      bytes.substr(0, kMagic.size()) != kMagic) {
    return DataLoss("committer state of {} bytes has no valid beginning", bytes.size());
  }
  const std::string_view covered = bytes.substr(0, bytes.size() - kChecksumBytes);
  ByteReader tail(bytes.substr(covered.size()));
  if (tail.U32() != Crc32c(covered)) return DataLoss("committer state: checksum does not match");
  ByteReader in(covered.substr(kMagic.size()));
  const std::uint8_t version = in.U8();
  if (version != kVersion) {
    return DataLoss("committer state has format version {}, this program reads version {}", version,
                    kVersion);
  }
  State state;
  const int envelope_version = in.U8();
  state.last_checkpoint_id = in.SignedVarint();
  const std::uint64_t batches = in.Varint();
  for (std::uint64_t i = 0; i < batches && in.ok(); ++i) {
    auto& [checkpoint_id, envelopes] = state.batches.emplace_back();
    checkpoint_id = in.SignedVarint();
    const std::uint64_t count = in.Varint();
    for (std::uint64_t j = 0; j < count && in.ok(); ++j) {
      const std::string_view frame = in.Bytes();
      if (!in.ok()) break;
      SLUICE_ASSIGN_OR_RETURN(Envelope envelope, DecodeEnvelope(envelope_version, frame));
      envelopes.push_back(std::move(envelope));
    }
  }
  if (!in.done()) return DataLoss("committer state: {} bytes are malformed", bytes.size());
  return state;
}

Status CommitAll(std::vector<Request>& requests, SinkCommitter& committer) {
  std::vector<CommitRequest*> pointers;
  pointers.reserve(requests.size());
  for (Request& request : requests) pointers.push_back(&request);
  return committer.Commit(pointers);
}

}  // namespace

StatusOr<std::string> EncodeBatch(const std::vector<Envelope>& batch) {
  // Neither owned nor copied: the batch outlives the call.
  const std::shared_ptr<const std::vector<Envelope>> view(std::shared_ptr<void>(), &batch);
  return Encode(0, {{0, view}});
}

Status CommitEncodedBatch(std::string_view bytes, SinkCommitter& committer) {
  SLUICE_ASSIGN_OR_RETURN(const State state, Decode(bytes));
  for (const auto& [checkpoint_id, envelopes] : state.batches) {
    std::vector<Request> requests(envelopes.begin(), envelopes.end());
    SLUICE_RETURN_IF_ERROR(CommitAll(requests, committer));
  }
  return {};
}

struct CommittableCollector::Held {
  std::atomic<std::int64_t> pending{0};
};

CommittableCollector::CommittableCollector(MetricGroup& metrics)
    : held_(std::make_shared<Held>()),
      total_(metrics.GetCounter("totalCommittables")),
      successful_(metrics.GetCounter("successfulCommittables")),
      already_committed_(metrics.GetCounter("alreadyCommittedCommittables")) {
  metrics.SetGauge("pendingCommittables", [held = held_] { return held->pending.load(); });
  // Nothing is ever retried later or given up here; the names exist so that the same
  // dashboards serve every host.
  static_cast<void>(metrics.GetCounter("failedCommittables"));
  static_cast<void>(metrics.GetCounter("retriedCommittables"));
}

std::int64_t CommittableCollector::pending() const { return held_->pending.load(); }

Status CommittableCollector::Restore(const std::vector<std::string_view>& states) {
  std::vector<State> decoded;
  for (const std::string_view bytes : states) {
    SLUICE_ASSIGN_OR_RETURN(State state, Decode(bytes));
    decoded.push_back(std::move(state));
  }
  const std::lock_guard lock(mutex_);
  SLUICE_CHECK(batches_.empty() && last_checkpoint_id_ == 0, "restore comes first");
  for (State& state : decoded) {
    last_checkpoint_id_ = std::max(last_checkpoint_id_, state.last_checkpoint_id);
    for (auto& [checkpoint_id, envelopes] : state.batches) {
      AddLocked(checkpoint_id, std::move(envelopes));
    }
  }
  return {};
}

Status CommittableCollector::Initialize(SinkCommitter& committer) {
  return CommitUpTo(std::numeric_limits<std::int64_t>::max(), committer);
}

void CommittableCollector::AddLocked(std::int64_t checkpoint_id, std::vector<Envelope> batch) {
  last_checkpoint_id_ = std::max(last_checkpoint_id_, checkpoint_id);
  if (batch.empty()) return;
  const auto count = static_cast<std::int64_t>(batch.size());
  batches_.emplace(checkpoint_id, std::make_shared<const std::vector<Envelope>>(std::move(batch)));
  held_->pending += count;
  total_.Add(count);
}

void CommittableCollector::Add(std::int64_t checkpoint_id, std::vector<Envelope> batch) {
  const std::lock_guard lock(mutex_);
  AddLocked(checkpoint_id, std::move(batch));
}

std::int64_t CommittableCollector::AddEndOfInput(std::vector<Envelope> batch) {
  const std::lock_guard lock(mutex_);
  const std::int64_t checkpoint_id = last_checkpoint_id_ + 1;
  AddLocked(checkpoint_id, std::move(batch));
  return checkpoint_id;
}

StatusOr<std::string> CommittableCollector::Snapshot() const {
  std::multimap<std::int64_t, Batch> batches;
  std::int64_t last_checkpoint_id = 0;
  {
    const std::lock_guard lock(mutex_);
    batches = batches_;
    last_checkpoint_id = last_checkpoint_id_;
  }
  return Encode(last_checkpoint_id, batches);
}

Status CommittableCollector::CommitUpTo(std::int64_t checkpoint_id, SinkCommitter& committer) {
  std::vector<std::pair<std::int64_t, Batch>> due;
  {
    const std::lock_guard lock(mutex_);
    if (committing_) return FailedPrecondition("committable collector: another commit is running");
    committing_ = true;
    due.assign(batches_.begin(), batches_.upper_bound(checkpoint_id));
  }
  Status result;
  for (const auto& [id, batch] : due) {
    result = CommitBatch(batch, committer);
    if (!result.ok()) break;
    const std::lock_guard lock(mutex_);
    // The first one of this id that is this batch: others may have come meanwhile.
    const auto [begin, end] = batches_.equal_range(id);
    batches_.erase(std::find_if(
        begin, end, [&batch = batch](const auto& entry) { return entry.second == batch; }));
    held_->pending -= static_cast<std::int64_t>(batch->size());
  }
  const std::lock_guard lock(mutex_);
  committing_ = false;
  return result;
}

Status CommittableCollector::CommitBatch(const Batch& batch, SinkCommitter& committer) {
  std::vector<Request> requests(batch->begin(), batch->end());
  Status result = CommitAll(requests, committer);
  const auto already = std::ranges::count_if(requests, &Request::already_committed);
  already_committed_.Add(already);
  if (result.ok()) successful_.Add(static_cast<std::int64_t>(requests.size()) - already);
  return result;
}

std::vector<std::vector<std::string_view>> CommittableCollector::Redistribute(
    const std::vector<std::string_view>& states, std::size_t parallelism) {
  SLUICE_CHECK(parallelism > 0, "somebody must take the states");
  std::vector<std::vector<std::string_view>> shares(parallelism);
  for (std::size_t i = 0; i < states.size(); ++i) shares[i % parallelism].push_back(states[i]);
  return shares;
}

}  // namespace sluice::sink

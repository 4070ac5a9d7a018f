// SPDX-License-Identifier: Apache-2.0
#pragma once

// A topic and a disk around a SubscriptionMachine, for tests: heads in a vector, records
// in maps, and a restart that rebuilds the machine from those records alone.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/messages/subscription.h"

namespace sluice::core::testing {

class DeliveryWorld : public MessageHeads, public DeliveryRecords {
 public:
  explicit DeliveryWorld(DeliveryConfig config) : config_(std::move(config)) { Restart(); }

  MessageSequence Publish(std::string key = "", bool is_wanted = true) {
    heads_.push_back({std::move(key), is_wanted});
    machine_->SetTopicEnd(heads_.size());
    return heads_.size();
  }

  /// A new life over what was recorded.
  void Restart() {
    ++life_;
    machine_ = std::make_unique<SubscriptionMachine>(config_, life_ << 40, *this, *this);
    for (const auto& [first, last] : done_) machine_->RestoreDone({first, last});
    for (const auto& [sequence, each] : progress_) machine_->RestoreProgress(sequence, each);
    machine_->SetTopicEnd(heads_.size());
  }

  SubscriptionMachine& machine() { return *machine_; }
  const std::string& key(MessageSequence sequence) const { return heads_[sequence - 1].key; }
  bool is_wanted(MessageSequence sequence) const { return heads_[sequence - 1].is_wanted; }
  MessageSequence topic_end() const { return heads_.size(); }
  bool IsRecordedDone(MessageSequence sequence) const {
    const auto after = done_.upper_bound(sequence);
    return after != done_.begin() && std::prev(after)->second >= sequence;
  }
  std::size_t progress_count() const { return progress_.size(); }
  std::size_t heads_read() const { return heads_read_; }
  /// From here on heads are on disk; nothing: all in memory.
  void SetColdFrom(std::optional<MessageSequence> from) { cold_from_ = from; }
  /// Dead letters with their attempts, in order.
  std::vector<std::pair<MessageSequence, std::int32_t>>& dead_letters() { return dead_letters_; }

  Answer Find(MessageSequence sequence, std::string* ordering_key) override {
    if (cold_from_ && sequence >= *cold_from_) return Answer::kCold;
    ++heads_read_;
    *ordering_key = heads_[sequence - 1].key;
    return heads_[sequence - 1].is_wanted ? Answer::kFound : Answer::kUnwanted;
  }
  void PutDone(SequenceRange range) override {
    done_.erase(done_.lower_bound(range.first), done_.upper_bound(range.last));
    done_[range.first] = range.last;
    progress_.erase(progress_.lower_bound(range.first), progress_.upper_bound(range.last));
  }
  void PutProgress(MessageSequence sequence, const DeliveryProgress& progress) override {
    progress_[sequence] = progress;
  }
  void DeadLetter(MessageSequence sequence, std::int32_t attempts) override {
    dead_letters_.emplace_back(sequence, attempts);
  }

 private:
  struct Head {
    std::string key;
    bool is_wanted = true;
  };

  DeliveryConfig config_;
  LeaseGeneration life_ = 0;
  std::vector<Head> heads_;
  std::optional<MessageSequence> cold_from_;
  std::size_t heads_read_ = 0;
  std::map<MessageSequence, MessageSequence> done_;
  std::map<MessageSequence, DeliveryProgress> progress_;
  std::vector<std::pair<MessageSequence, std::int32_t>> dead_letters_;
  std::unique_ptr<SubscriptionMachine> machine_;
};

}  // namespace sluice::core::testing

// SPDX-License-Identifier: Apache-2.0
#include "core/messages/subscription.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "base/status.h"

namespace sluice::core {
namespace {

constexpr int kLeasesEndedPerStep = 512;

}  // namespace

SubscriptionMachine::SubscriptionMachine(DeliveryConfig config, LeaseGeneration first_generation,
                                         MessageHeads& heads, DeliveryRecords& records)
    : config_(std::move(config)),
      next_generation_(first_generation),
      heads_(heads),
      records_(records) {
  SLUICE_CHECK(first_generation >= 1, "zero is no lease");
}

// --- Recovery ---

void SubscriptionMachine::RestoreDone(SequenceRange range) { done_.Add(range); }

void SubscriptionMachine::RestoreProgress(MessageSequence sequence,
                                          const DeliveryProgress& progress) {
  SLUICE_CHECK(!done_.Contains(sequence), "progress of a message that is done");
  SLUICE_CHECK(progress.leased < next_generation_, "a lease of a later life");
  Entry& entry = Hold(sequence, progress.ordering_key);
  Held& held = entry.second;
  held.failures = progress.failures;
  if (progress.leased == 0) return Wait(entry, progress.until);
  held.place = Place::kLeased;
  held.generation = progress.leased;
  held.until = progress.until;
  deadlines_.emplace(held.until, sequence);
  if (HasKey(held)) held.key->second.out.insert(sequence);
}

void SubscriptionMachine::SetTopicEnd(MessageSequence last) {
  SLUICE_CHECK(last >= topic_end_, "a topic that shrinks");
  topic_end_ = last;
}

// --- Giving out ---

std::vector<Delivery> SubscriptionMachine::Pull(std::size_t messages_max, Duration lease,
                                                ReceiverId receiver, Time now) {
  SLUICE_CHECK(receiver != 0, "zero is no receiver");
  std::vector<Delivery> deliveries;
  const Time deadline = now + lease;
  PullWaiting(messages_max, deadline, receiver, now, &deliveries);
  const MessageSequence before = cursor_;
  PullFresh(messages_max, deadline, receiver, &deliveries);
  // The cursor may have passed what a restart had put in front of it.
  if (cursor_ != before) PullWaiting(messages_max, deadline, receiver, now, &deliveries);
  return deliveries;
}

void SubscriptionMachine::PullWaiting(std::size_t messages_max, Time deadline, ReceiverId receiver,
                                      Time now, std::vector<Delivery>* deliveries) {
  auto at = ready_.begin();
  while (at != ready_.end() && at->first <= now && deliveries->size() < messages_max) {
    const auto place = *at;
    Entry* entry = &*held_.find(place.second);
    while (entry != nullptr && entry->second.until <= now && deliveries->size() < messages_max &&
           MayGo(*entry, receiver)) {
      const Keys::iterator key = entry->second.key;
      Leave(*entry);
      deliveries->push_back(Lease(*entry, deadline, receiver));
      const bool is_last = key == keys_.end() || key->second.waiting.empty();
      entry = is_last ? nullptr : &*held_.find(*key->second.waiting.begin());
    }
    at = ready_.upper_bound(place);
  }
}

void SubscriptionMachine::PullFresh(std::size_t messages_max, Time deadline, ReceiverId receiver,
                                    std::vector<Delivery>* deliveries) {
  while (deliveries->size() < messages_max && held_.size() < config_.held_max) {
    cursor_ = std::min(done_.NextMissing(cursor_), topic_end_ + 1);
    if (cursor_ > topic_end_) return;
    const MessageSequence sequence = cursor_;
    if (held_.contains(sequence)) {
      ++cursor_;
      continue;
    }
    std::string key_name;
    const MessageHeads::Answer answer = heads_.Find(sequence, &key_name);
    if (answer == MessageHeads::Answer::kCold) return;
    ++cursor_;
    if (answer == MessageHeads::Answer::kUnwanted) {
      // Not recorded: the next range that reaches over it says so too.
      done_.Add({sequence, sequence});
      continue;
    }
    Entry& entry = Hold(sequence, config_.is_ordered ? std::string_view(key_name) : "");
    const Held& held = entry.second;
    const bool is_behind = HasKey(held) && !held.key->second.waiting.empty() &&
                           *held.key->second.waiting.begin() < sequence;
    if (is_behind || !MayGo(entry, receiver)) {
      Wait(entry, absl::InfinitePast());
    } else {
      deliveries->push_back(Lease(entry, deadline, receiver));
    }
  }
}

bool SubscriptionMachine::MayGo(const Entry& entry, ReceiverId receiver) const {
  const Held& held = entry.second;
  if (!HasKey(held)) return true;
  // At the cursor and beyond, an earlier message of the key may still be fresh.
  if (entry.first >= cursor_) return false;
  const Key& key = held.key->second;
  return key.out.empty() || key.receiver == receiver;
}

Delivery SubscriptionMachine::Lease(Entry& entry, Time deadline, ReceiverId receiver) {
  Held& held = entry.second;
  held.place = Place::kLeased;
  held.generation = next_generation_++;
  held.until = deadline;
  deadlines_.emplace(deadline, entry.first);
  if (HasKey(held)) {
    held.key->second.out.insert(entry.first);
    held.key->second.receiver = receiver;
  }
  if (config_.is_exactly_once) Record(entry);
  return {.token = {entry.first, held.generation}, .attempt = held.failures + 1};
}

// --- Coming back ---

std::vector<AckOutcome> SubscriptionMachine::Acknowledge(std::span<const LeaseToken> tokens,
                                                         Time now) {
  std::vector<std::size_t> order(tokens.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tokens[a].sequence < tokens[b].sequence;
  });
  std::vector<AckOutcome> outcomes(tokens.size());
  for (const std::size_t i : order) outcomes[i] = AcknowledgeOne(tokens[i], now);
  return outcomes;
}

AckOutcome SubscriptionMachine::AcknowledgeOne(const LeaseToken& token, Time now) {
  Entry* entry = FindLease(token, now);
  if (entry == nullptr) return AckOutcome::kStale;
  Held& held = entry->second;
  const bool is_early = HasKey(held) && *held.key->second.out.begin() != token.sequence;
  if (!is_early) {
    Finish(token.sequence);
    return AckOutcome::kDone;
  }
  if (config_.is_exactly_once) return AckOutcome::kUnordered;
  deadlines_.erase({held.until, token.sequence});
  held.place = Place::kAcked;
  return AckOutcome::kDone;
}

bool SubscriptionMachine::ModifyDeadline(const LeaseToken& token, Duration extension, Time now) {
  Entry* entry = FindLease(token, now);
  if (entry == nullptr) return false;
  if (extension <= absl::ZeroDuration()) {
    Fail(token.sequence, now);
    return true;
  }
  Held& held = entry->second;
  deadlines_.erase({held.until, token.sequence});
  held.until = now + extension;
  deadlines_.emplace(held.until, token.sequence);
  if (config_.is_exactly_once) Record(*entry);
  return true;
}

void SubscriptionMachine::Advance(Time now) {
  for (int i = 0; i < kLeasesEndedPerStep; ++i) {
    if (deadlines_.empty() || deadlines_.begin()->first > now) return;
    Fail(deadlines_.begin()->second, now);
  }
}

Time SubscriptionMachine::NextDeadline(Time now) const {
  Time next = deadlines_.empty() ? absl::InfiniteFuture() : deadlines_.begin()->first;
  // What is ready by now waits for a pull, not for a time.
  const auto later = ready_.upper_bound({now, std::numeric_limits<MessageSequence>::max()});
  if (later != ready_.end()) next = std::min(next, later->first);
  return next;
}

void SubscriptionMachine::Fail(MessageSequence sequence, Time now) {
  Entry& entry = *held_.find(sequence);
  Held& held = entry.second;
  ++held.failures;
  if (config_.delivery_attempts_max && held.failures >= *config_.delivery_attempts_max) {
    records_.DeadLetter(sequence, held.failures);
    return Finish(sequence);
  }
  Leave(entry);
  Wait(entry, now + RedeliveryDelay(config_.retry, held.failures));
  Record(entry);
  if (HasKey(held)) WithdrawAfter(sequence, held.key);
}

void SubscriptionMachine::WithdrawAfter(MessageSequence sequence, Keys::iterator key) {
  const auto& out = key->second.out;
  const std::vector<MessageSequence> later(out.upper_bound(sequence), out.end());
  for (const MessageSequence each : later) {
    Entry& entry = *held_.find(each);
    Leave(entry);
    Wait(entry, absl::InfinitePast());
    // A recorded lease must not come back with a restart.
    if (config_.is_exactly_once) Record(entry);
  }
}

void SubscriptionMachine::Finish(MessageSequence sequence) {
  Entry& entry = *held_.find(sequence);
  const Keys::iterator key = entry.second.key;
  Leave(entry);
  held_.erase(sequence);
  records_.PutDone(done_.Add({sequence, sequence}));
  if (key != keys_.end()) ReleaseKey(key);
}

void SubscriptionMachine::ReleaseKey(Keys::iterator key) {
  auto& out = key->second.out;
  while (!out.empty()) {
    const MessageSequence first = *out.begin();
    if (held_.find(first)->second.place != Place::kAcked) return;
    out.erase(out.begin());
    held_.erase(first);
    records_.PutDone(done_.Add({first, first}));
  }
  if (key->second.waiting.empty()) keys_.erase(key);
}

void SubscriptionMachine::DropThrough(MessageSequence last) {
  SLUICE_CHECK(last <= topic_end_, "a message that was not published");
  if (last == 0) return;
  std::vector<MessageSequence> dropped;
  for (const auto& [sequence, held] : held_) {
    if (sequence <= last) dropped.push_back(sequence);
  }
  std::sort(dropped.begin(), dropped.end());  // what follows must not depend on the hash
  records_.PutDone(done_.Add({1, last}));
  for (const MessageSequence sequence : dropped) {
    const auto found = held_.find(sequence);
    if (found == held_.end()) continue;  // went with an earlier one of its key
    const Keys::iterator key = found->second.key;
    Leave(*found);
    held_.erase(found);
    if (key != keys_.end()) ReleaseKey(key);
  }
}

// --- Places ---

SubscriptionMachine::Entry* SubscriptionMachine::FindLease(const LeaseToken& token, Time now) {
  const auto found = held_.find(token.sequence);
  if (found == held_.end()) return nullptr;
  const Held& held = found->second;
  const bool is_running = held.place == Place::kLeased && held.until > now;
  return is_running && held.generation == token.generation ? &*found : nullptr;
}

SubscriptionMachine::Entry& SubscriptionMachine::Hold(MessageSequence sequence,
                                                      std::string_view ordering_key) {
  Held held;
  held.key =
      ordering_key.empty() ? keys_.end() : keys_.try_emplace(std::string(ordering_key)).first;
  return *held_.emplace(sequence, held).first;
}

void SubscriptionMachine::Wait(Entry& entry, Time until) {
  Held& held = entry.second;
  held.place = Place::kWaiting;
  held.generation = 0;
  held.until = until;
  if (!HasKey(held)) {
    ready_.emplace(until, entry.first);
    return;
  }
  auto& waiting = held.key->second.waiting;
  if (!waiting.empty()) {
    const MessageSequence first = *waiting.begin();
    ready_.erase({held_.find(first)->second.until, first});
  }
  waiting.insert(entry.first);
  const MessageSequence first = *waiting.begin();
  ready_.emplace(held_.find(first)->second.until, first);
}

void SubscriptionMachine::Leave(Entry& entry) {
  Held& held = entry.second;
  if (held.place == Place::kLeased) deadlines_.erase({held.until, entry.first});
  if (held.place == Place::kWaiting) ready_.erase({held.until, entry.first});
  if (!HasKey(held)) return;
  Key& key = held.key->second;
  if (held.place != Place::kWaiting) {
    key.out.erase(entry.first);
    return;
  }
  key.waiting.erase(entry.first);
  if (key.waiting.empty()) return;
  const MessageSequence first = *key.waiting.begin();
  ready_.emplace(held_.find(first)->second.until, first);
}

void SubscriptionMachine::Record(const Entry& entry) {
  const Held& held = entry.second;
  records_.PutProgress(entry.first, {.ordering_key = HasKey(held) ? held.key->first : "",
                                     .failures = held.failures,
                                     .leased = held.generation,
                                     .until = held.until});
}

}  // namespace sluice::core

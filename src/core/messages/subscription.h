// SPDX-License-Identifier: Apache-2.0
#pragma once

// The deliveries of one subscription: what is given to whom, for how long, and what an
// acknowledgement, a nack or an expired lease means (spec pubsub 3.1 to 3.5, 3.7, 3.9, 4).
// Calls and times go in; deliveries, records and dead letters come out. No clock, thread,
// file or random source inside.
//
// A message is in one of four places:
//   done      in the set of done ranges; never delivered again
//   leased    given out; its lease ends by acknowledgement, nack or deadline
//   waiting   given out before, or held back by its ordering key
//   fresh     at or behind the cursor: needs no memory, however many there are
//
// Ordering: of one key, a message goes out only when all earlier ones are done or leased to
// the same receiver. An acknowledgement that comes before an earlier one's is kept back (or,
// with exactly-once delivery, refused as unordered); when the earlier one fails, all later
// ones of the key are withdrawn and follow it again.
//
// Threading: one thread. Ownership: heads and records outlive the machine.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "base/time.h"
#include "core/messages/redelivery.h"
#include "core/messages/sequence_set.h"

namespace sluice::core {

/// Never used twice in a subscription's life, also not over a restart.
using LeaseGeneration = std::uint64_t;
/// One stream, or one unary pull: whom a key's messages may go to together. Never zero.
using ReceiverId = std::uint64_t;

/// What an acknowledgement id says, once its seal was checked.
struct LeaseToken {
  MessageSequence sequence = 0;
  LeaseGeneration generation = 0;
  friend bool operator==(const LeaseToken&, const LeaseToken&) = default;
};

struct DeliveryConfig {
  bool is_ordered = false;
  bool is_exactly_once = false;
  std::optional<MessageRetryPolicy> retry;
  /// Deliveries that may fail before the message goes to the dead letter topic (spec 4).
  std::optional<std::int32_t> delivery_attempts_max;
  /// Messages in memory, leased and waiting. At the limit nothing fresh is given out.
  std::size_t held_max = 100'000;
};

/// What the topic knows of a message without its payload.
class MessageHeads {
 public:
  enum class Answer : std::uint8_t {
    kFound,
    kUnwanted,  // not for this subscription: filtered out, or no longer stored
    kCold,      // on disk; Pull stops here, and the engine loads and pulls again
  };
  virtual ~MessageHeads() = default;
  virtual Answer Find(MessageSequence sequence, std::string* ordering_key) = 0;
};

/// The part of a held message's state that a restart needs; absolute.
struct DeliveryProgress {
  std::string ordering_key;    // empty: none, or the subscription does not order
  std::int32_t failures = 0;   // nacks and expired leases
  LeaseGeneration leased = 0;  // of the running lease; zero: waiting
  Time until;                  // leased: its deadline; waiting: not delivered before
  friend bool operator==(const DeliveryProgress&, const DeliveryProgress&) = default;
};

/// Where changes are recorded; the engine makes them durable before anything leaves.
class DeliveryRecords {
 public:
  virtual ~DeliveryRecords() = default;
  /// All of the range is done, and so is every recorded range and progress inside it.
  virtual void PutDone(SequenceRange range) = 0;
  virtual void PutProgress(MessageSequence sequence, const DeliveryProgress& progress) = 0;
  /// The limit of attempts is reached. A PutDone that covers the message follows, to be
  /// made durable with the append to the dead letter topic or not at all.
  virtual void DeadLetter(MessageSequence sequence, std::int32_t attempts) = 0;
};

struct Delivery {
  LeaseToken token;
  std::int32_t attempt = 1;  // 1 + failures so far
};

enum class AckOutcome : std::uint8_t {
  kDone,
  kStale,      // not the running lease: acknowledged before, expired, withdrawn, unknown
  kUnordered,  // exactly-once only: an earlier message of the key is not acknowledged yet
};

class SubscriptionMachine {
 public:
  /// Generations count up from `first_generation`, which must exceed all of earlier lives.
  SubscriptionMachine(DeliveryConfig config, LeaseGeneration first_generation, MessageHeads& heads,
                      DeliveryRecords& records);

  // --- Recovery: before any other call; ranges first. ---
  void RestoreDone(SequenceRange range);
  void RestoreProgress(MessageSequence sequence, const DeliveryProgress& progress);

  /// The topic's last message is now `last`, which never goes back.
  void SetTopicEnd(MessageSequence last);
  /// Holds for what happens from now on.
  void SetConfig(const DeliveryConfig& config) { config_ = config; }

  /// Up to `messages_max` messages, each leased until `now + lease`.
  std::vector<Delivery> Pull(std::size_t messages_max, Duration lease, ReceiverId receiver,
                             Time now);
  /// One outcome a token, in the order given; judged in the order of the messages, so a
  /// request may name those of one key in any order.
  std::vector<AckOutcome> Acknowledge(std::span<const LeaseToken> tokens, Time now);
  /// The lease ends at `now + extension`; zero is a nack. False: not the running lease, and
  /// nothing changed.
  bool ModifyDeadline(const LeaseToken& token, Duration extension, Time now);
  /// All up to `last` are done, whoever holds them: retention, or a seek forward.
  void DropThrough(MessageSequence last);

  /// Ends leases that are due, a bounded number a call.
  void Advance(Time now);
  /// When the next lease ends or the next waiting message may go; InfiniteFuture: never.
  [[nodiscard]] Time NextDeadline(Time now) const;

  [[nodiscard]] std::size_t held_count() const { return held_.size(); }
  [[nodiscard]] const SequenceSet& done() const { return done_; }

 private:
  enum class Place : std::uint8_t { kLeased, kAcked, kWaiting };  // kAcked: kept back by its key
  struct Key {
    absl::btree_set<MessageSequence> out;      // leased, and acknowledgements kept back
    absl::btree_set<MessageSequence> waiting;  // of these the first stands in `ready_`
    ReceiverId receiver = 0;                   // of those in `out`
  };
  using Keys = std::map<std::string, Key, std::less<>>;
  struct Held {
    Place place = Place::kWaiting;
    std::int32_t failures = 0;
    LeaseGeneration generation = 0;
    Time until = absl::InfinitePast();
    Keys::iterator key;  // keys_.end(): without a key
  };
  using Entry = std::pair<const MessageSequence, Held>;
  using Queue = absl::btree_set<std::pair<Time, MessageSequence>>;

  bool HasKey(const Held& held) const { return held.key != keys_.end(); }
  Entry* FindLease(const LeaseToken& token, Time now);
  /// A new held message, in no place yet.
  Entry& Hold(MessageSequence sequence, std::string_view ordering_key);
  bool MayGo(const Entry& entry, ReceiverId receiver) const;
  void PullWaiting(std::size_t messages_max, Time deadline, ReceiverId receiver, Time now,
                   std::vector<Delivery>* deliveries);
  void PullFresh(std::size_t messages_max, Time deadline, ReceiverId receiver,
                 std::vector<Delivery>* deliveries);
  Delivery Lease(Entry& entry, Time deadline, ReceiverId receiver);
  void Wait(Entry& entry, Time until);
  void Leave(Entry& entry);
  void Fail(MessageSequence sequence, Time now);
  void WithdrawAfter(MessageSequence sequence, Keys::iterator key);
  AckOutcome AcknowledgeOne(const LeaseToken& token, Time now);
  void Finish(MessageSequence sequence);
  void ReleaseKey(Keys::iterator key);
  void Record(const Entry& entry);

  DeliveryConfig config_;
  LeaseGeneration next_generation_;
  MessageHeads& heads_;
  DeliveryRecords& records_;

  SequenceSet done_;
  MessageSequence cursor_ = 1;  // nothing at or behind it is held, but for what was restored
  MessageSequence topic_end_ = 0;
  Keys keys_;
  absl::flat_hash_map<MessageSequence, Held> held_;
  Queue deadlines_;  // of leases
  Queue ready_;      // waiting messages, of each key only the first
};

}  // namespace sluice::core

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The core's ledger over a store, an overlay of what is not in the store yet,
// and a cache of decoded tasks. Never waits for a disk unless told to: a read
// that would is answered kCold and its key remembered for the readers.
//
// Threading: the lane's thread.
// Failure: a record that cannot be decoded or a failing store ends the process:
// the lane cannot decide without its state.

#include <string>
#include <string_view>
#include <vector>

#include "core/tasks/ledger.h"
#include "engine/overlay.h"
#include "engine/task_cache.h"
#include "store/store.h"

namespace sluice::engine {

class StoreLedger final : public core::Ledger {
 public:
  StoreLedger(const store::Store& store, std::size_t task_cache_bytes)
      : store_(store), cache_(task_cache_bytes) {}

  core::Lookup FindTask(core::Incarnation queue, core::Sequence sequence,
                        core::Task* task) override;
  core::Lookup FindName(core::Incarnation queue, std::string_view task_id,
                        core::NameEntry* entry) override;

  void PutQueue(const core::Queue& queue) override;
  void EraseQueue(const core::Queue& queue) override;
  void PutQueueReservation(const QueueName& name, Time until) override;
  void EraseQueueReservation(const QueueName& name) override;
  void PutTask(core::Incarnation queue, std::shared_ptr<const core::TaskBody> body) override;
  void PutProgress(core::Incarnation queue, const core::Task& before,
                   const core::TaskProgress& after) override;
  void EraseTask(core::Incarnation queue, const core::Task& task) override;
  void PutName(core::Incarnation queue, std::string_view task_id,
               const core::NameEntry& entry) override;
  void EraseName(core::Incarnation queue, std::string_view task_id,
                 const core::NameEntry& entry) override;
  core::Lookup FindDeadLetter(core::Incarnation queue, core::Sequence sequence,
                              core::DeadLetter* letter) override;
  void PutDeadLetter(core::Incarnation queue, const core::DeadLetter& letter,
                     const core::DeadLetterHead& head) override;
  void EraseDeadLetter(core::Incarnation queue, core::Sequence sequence) override;
  void PutCounters(core::Incarnation queue, const core::QueueCounters& counters) override;

  [[nodiscard]] Overlay& overlay() { return overlay_; }
  [[nodiscard]] const Overlay& overlay() const { return overlay_; }

  /// Keys that were cold since the last call.
  std::vector<std::string> TakeColdKeys();
  /// For a command that stayed cold after its keys were read several times.
  void set_read_mode(store::ReadMode mode) { mode_ = mode; }

 private:
  core::Lookup Read(std::string_view key, std::string* value);

  const store::Store& store_;
  Overlay overlay_;
  TaskCache cache_;
  store::ReadMode mode_ = store::ReadMode::kMemoryOnly;
  std::vector<std::string> cold_keys_;
  std::string scratch_;
};

}  // namespace sluice::engine

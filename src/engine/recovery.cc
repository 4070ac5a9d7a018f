// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery.h"

#include <utility>

#include "store/keys.h"

namespace sluice::engine {

store::Batch BatchForStore(const store::Batch& changes, const Checkpoint& checkpoint,
                           log::Position position) {
  store::Batch batch = changes;
  batch.Put(store::kMetaKey, EncodeMeta({position, checkpoint}));
  return batch;
}

StatusOr<Recovered> Recover(env::FileSystem& files, const std::string& log_dir,
                            const log::Options& options, store::Store& store,
                            std::uint64_t fresh_id_key) {
  Recovered recovered;
  Meta meta;
  std::string value;
  SLUICE_ASSIGN_OR_RETURN(const store::Lookup lookup,
                          store.Get(store::kMetaKey, store::ReadMode::kBlocking, &value));
  bool is_new = lookup == store::Lookup::kAbsent;
  if (!is_new) {
    SLUICE_ASSIGN_OR_RETURN(meta, DecodeMeta(value));
  }
  recovered.checkpoint = meta.checkpoint;
  const auto replay = [&](log::Position position, std::string_view payload) -> Status {
    SLUICE_ASSIGN_OR_RETURN(const DecodedFrame frame, DecodeFrame(payload));
    recovered.checkpoint = frame.checkpoint;
    is_new = false;
    return store.Apply(
        BatchForStore(store::Batch(std::string(frame.batch_bytes)), frame.checkpoint, position));
  };
  SLUICE_ASSIGN_OR_RETURN(recovered.log, log::Log::Open(files, log_dir, options, meta.applied,
                                                        replay, &recovered.report));
  if (is_new) recovered.checkpoint.generated_id_key = fresh_id_key;
  ++recovered.checkpoint.epoch;
  return recovered;
}

}  // namespace sluice::engine

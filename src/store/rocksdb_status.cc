// SPDX-License-Identifier: Apache-2.0
#include "store/rocksdb_status.h"

namespace sluice::store {

Status FromRocksDb(const rocksdb::Status& status, std::string_view what) {
  if (status.ok()) return absl::OkStatus();
  const std::string text = status.ToString();
  // The subcode comes first: a full disk is an I/O error among others.
  if (status.IsNoSpace() || status.subcode() == rocksdb::Status::kSpaceLimit) {
    return ResourceExhausted("{}: the disk is full: {}", what, text);
  }
  if (status.IsCorruption()) return DataLoss("{}: {}", what, text);
  if (status.IsNotFound()) return NotFound("{}: {}", what, text);
  if (status.IsBusy()) return FailedPrecondition("{}: {}", what, text);
  if (status.IsNotSupported()) return Unimplemented("{}: {}", what, text);
  return Internal("{}: {}", what, text);
}

}  // namespace sluice::store

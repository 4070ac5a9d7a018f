// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/ledger.h"

#include "absl/strings/cord.h"

namespace sluice::core {

namespace {

// Only we attach this payload, so no status of a client can be taken for it.
constexpr char kColdReadMarker[] = "sluice/cold-read";

}  // namespace

Status ColdRead() {
  Status status = Internal("the record is being read from disk");
  status.SetPayload(kColdReadMarker, absl::Cord());
  return status;
}

bool IsColdRead(const Status& status) {
  return !status.ok() && status.GetPayload(kColdReadMarker).has_value();
}

}  // namespace sluice::core

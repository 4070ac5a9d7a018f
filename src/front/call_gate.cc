// SPDX-License-Identifier: Apache-2.0
#include "front/call_gate.h"

#include "absl/strings/cord.h"

namespace sluice::front {
namespace {

constexpr char kDropMark[] = "sluice/dropped-call";

}  // namespace

Status DropCall() {
  Status status = Cancelled("the call was dropped on purpose by fault injection");
  status.SetPayload(kDropMark, absl::Cord());
  return status;
}

bool IsDropCall(const Status& status) {
  return absl::IsCancelled(status) && status.GetPayload(kDropMark).has_value();
}

}  // namespace sluice::front

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Targets and tokens inside the records of queues and task bodies
// (docs/format/records.md). Used by records.cc alone.
//
// Threading: as the writer and reader.
// Failure: a reader that is short fails as ByteReader does; DATA_LOSS for a number that
// names nothing.

#include "base/codec.h"
#include "base/status.h"
#include "core/tasks/target.h"

namespace sluice::engine {

void PutToken(ByteWriter& w, const core::Token& token);
[[nodiscard]] StatusOr<core::Token> GetToken(ByteReader& r);

void PutRouting(ByteWriter& w, const core::AppEngineRouting& routing);
[[nodiscard]] core::AppEngineRouting GetRouting(ByteReader& r);

void PutTargets(ByteWriter& w, const core::QueueTargets& targets);
[[nodiscard]] StatusOr<core::QueueTargets> GetTargets(ByteReader& r);

}  // namespace sluice::engine

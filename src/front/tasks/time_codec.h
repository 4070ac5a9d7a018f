// SPDX-License-Identifier: Apache-2.0
#pragma once

// Points in time and spans between the wire's messages and ours. The wire can
// carry values that are no time at all (nanoseconds above 999,999,999, signs
// that disagree, the year 30000); those are refused here.
//
// Threading: pure functions.

#include "base/status.h"
#include "base/time.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace sluice::front {

/// Requires: `time` is finite and lies in the years 1 to 9999.
void EncodeTime(Time time, google::protobuf::Timestamp* out);
/// Requires: `span` is finite and shorter than 10,000 years.
void EncodeSpan(Duration span, google::protobuf::Duration* out);

/// Not rounded. Errors: INVALID_ARGUMENT naming `field`.
StatusOr<Time> DecodeTime(const google::protobuf::Timestamp& in, std::string_view field);
/// Not rounded; may be negative. Errors: INVALID_ARGUMENT naming `field`.
StatusOr<Duration> DecodeSpan(const google::protobuf::Duration& in, std::string_view field);

}  // namespace sluice::front

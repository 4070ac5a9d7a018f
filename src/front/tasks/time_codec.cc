// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/time_codec.h"

#include "front/errors.h"

namespace sluice::front {
namespace {

// The bounds that the two message types document: 0001-01-01 to 9999-12-31, and
// about 10,000 years either way.
constexpr std::int64_t kTimestampSecondsMin = -62'135'596'800;
constexpr std::int64_t kTimestampSecondsMax = 253'402'300'799;
constexpr std::int64_t kDurationSecondsMax = 315'576'000'000;
constexpr std::int32_t kNanosMax = 999'999'999;

}  // namespace

void EncodeTime(Time time, google::protobuf::Timestamp* out) {
  const std::int64_t seconds = absl::ToUnixSeconds(time);
  out->set_seconds(seconds);
  const Duration rest = time - absl::FromUnixSeconds(seconds);
  out->set_nanos(static_cast<std::int32_t>(absl::ToInt64Nanoseconds(rest)));
}

void EncodeSpan(Duration span, google::protobuf::Duration* out) {
  Duration rest;
  out->set_seconds(absl::IDivDuration(span, absl::Seconds(1), &rest));
  out->set_nanos(static_cast<std::int32_t>(absl::ToInt64Nanoseconds(rest)));
}

StatusOr<Time> DecodeTime(const google::protobuf::Timestamp& in, std::string_view field) {
  if (in.seconds() < kTimestampSecondsMin || in.seconds() > kTimestampSecondsMax ||
      in.nanos() < 0 || in.nanos() > kNanosMax) {
    return AtField(field,
                   InvalidArgument("{}: {} s and {} ns is not a time between the years 1 and 9999",
                                   field, in.seconds(), in.nanos()));
  }
  return absl::FromUnixSeconds(in.seconds()) + absl::Nanoseconds(in.nanos());
}

StatusOr<Duration> DecodeSpan(const google::protobuf::Duration& in, std::string_view field) {
  const bool is_in_range = in.seconds() >= -kDurationSecondsMax &&
                           in.seconds() <= kDurationSecondsMax && in.nanos() >= -kNanosMax &&
                           in.nanos() <= kNanosMax;
  const bool is_sign_mixed =
      (in.seconds() > 0 && in.nanos() < 0) || (in.seconds() < 0 && in.nanos() > 0);
  if (!is_in_range || is_sign_mixed) {
    return AtField(
        field, InvalidArgument("{}: {} s and {} ns is not a duration within 10,000 years", field,
                               in.seconds(), in.nanos()));
  }
  return absl::Seconds(in.seconds()) + absl::Nanoseconds(in.nanos());
}

}  // namespace sluice::front

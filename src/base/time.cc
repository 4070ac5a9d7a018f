// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

namespace sluice {

std::int64_t ToMicros(Time t) { return absl::ToUnixMicros(t); }
Time FromMicros(std::int64_t us) { return absl::FromUnixMicros(us); }

std::int64_t ToMicros(Duration d) { return absl::ToInt64Microseconds(d); }
Duration DurationFromMicros(std::int64_t us) { return absl::Microseconds(us); }

Time FloorToMicros(Time t) { return FromMicros(ToMicros(t)); }
Time FloorToSeconds(Time t) { return absl::FromUnixSeconds(absl::ToUnixSeconds(t)); }

}  // namespace sluice

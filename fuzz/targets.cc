// SPDX-License-Identifier: Apache-2.0
#include "targets.h"

#include "core_targets.h"
#ifndef SLUICE_FUZZ_CORE_ONLY
#include "front_targets.h"
#endif

namespace sluice::fuzz {

const std::vector<Target>& Targets() {
  static const std::vector<Target> targets = {
      {"names", FuzzNames},     {"log_frame", FuzzLogFrame},
      {"records", FuzzRecords},
#ifndef SLUICE_FUZZ_CORE_ONLY
      {"peek", FuzzPeek},       {"rest", FuzzRest},
      {"json", FuzzJson},       {"field_mask", FuzzFieldMask},
      {"filter", FuzzFilter},   {"page_token", FuzzPageToken},
      {"config", FuzzConfig},
#endif
  };
  return targets;
}

}  // namespace sluice::fuzz

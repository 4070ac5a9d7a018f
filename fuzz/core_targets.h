// SPDX-License-Identifier: Apache-2.0
#pragma once

// Targets that need neither gRPC nor protobuf, for the sanitizer builds too.

#include <string_view>

namespace sluice::fuzz {

void FuzzNames(std::string_view input);     // resource names
void FuzzLogFrame(std::string_view input);  // headers of segments and frames
void FuzzRecords(std::string_view input);   // the first byte picks the record

}  // namespace sluice::fuzz

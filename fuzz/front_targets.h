// SPDX-License-Identifier: Apache-2.0
#pragma once

// Targets of what clients and operators send.

#include <string_view>

namespace sluice::fuzz {

void FuzzPeek(std::string_view input);       // a connection's first bytes
void FuzzRest(std::string_view input);       // a request, through routes and service
void FuzzJson(std::string_view input);       // a CreateTask body
void FuzzFieldMask(std::string_view input);  // paths, separated by commas
void FuzzFilter(std::string_view input);
void FuzzPageToken(std::string_view input);
void FuzzConfig(std::string_view input);  // the YAML file

}  // namespace sluice::fuzz

// SPDX-License-Identifier: Apache-2.0
#pragma once

// CRC-32C (Castagnoli), for formats that name this checksum. Our own files use
// another one (docs/format/frame.md).
//
// Pure function; any thread.

#include <cstdint>
#include <string_view>

namespace sluice {

/// The checksum of `bytes` (reflected polynomial 0x82f63b78, inverted in and out).
[[nodiscard]] std::uint32_t Crc32c(std::string_view bytes);

}  // namespace sluice

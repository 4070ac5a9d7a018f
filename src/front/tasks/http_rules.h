// SPDX-License-Identifier: Apache-2.0
#pragma once

// What an HTTP target must look like to be stored, for every version of the API
// (../shared/spec: cloud tasks 1.7, 3.1, 3.9, 4.3). Whether a URL can be called is
// found out when it is called.
//
// Threading: pure functions.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "core/tasks/model.h"
#include "google/protobuf/map.h"

namespace sluice::front {

inline constexpr std::size_t kUrlLengthMax = 2083;         // after percent-encoding
inline constexpr std::size_t kHeaderBytesMax = 80 * 1024;  // names and values; must stay below

/// Errors: INVALID_ARGUMENT naming `field`.
Status CheckUrl(std::string_view url, std::string_view field);

/// The headers as stored: in name order, the service's own dropped, User-Agent
/// the service's. Takes the strings out of `headers`.
/// Errors: INVALID_ARGUMENT naming `field` for names and values that HTTP does
/// not allow, for two names that differ only in case, for too many bytes.
StatusOr<std::vector<core::Header>> StoredHeaders(
    google::protobuf::Map<std::string, std::string>& headers, std::string_view field);

/// The same for an App Engine task (spec 3.1): the service's User-Agent stands behind the
/// caller's; with a body there are a Content-Type and a Content-Length.
StatusOr<std::vector<core::Header>> StoredAppEngineHeaders(
    google::protobuf::Map<std::string, std::string>& headers, std::size_t body_bytes,
    std::string_view field);

/// Errors: INVALID_ARGUMENT naming `field` for a relative URI that does not begin with a
/// slash, holds a space or is too long. Empty passes: it stands for `/`.
Status CheckRelativeUri(std::string_view uri, std::string_view field);

/// Errors: INVALID_ARGUMENT when `method` takes no body and there is one.
Status CheckBody(core::HttpMethod method, std::size_t body_bytes, std::string_view field);
Status CheckAppEngineBody(core::HttpMethod method, std::size_t body_bytes, std::string_view field);

}  // namespace sluice::front

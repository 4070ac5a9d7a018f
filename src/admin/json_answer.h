// SPDX-License-Identifier: Apache-2.0
#pragma once

// Answers and request bodies of the admin API: JSON, with errors in the shape
// that clients of Google's APIs know: {"error": {"code", "message", "status"}}.
//
// Pure functions; any thread. Exceptions of the JSON library do not pass.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/status.h"
#include "front/net/http.h"

namespace sluice::admin {

inline constexpr std::size_t kAdminBodyBytesMax = std::size_t{64} * 1024;

[[nodiscard]] front::net::HttpResponse JsonAnswer(int http_status, const nlohmann::json& body);
/// HTTP status and name follow from the code.
[[nodiscard]] front::net::HttpResponse ErrorAnswer(const Status& status);
/// For what only HTTP knows, such as 405 and 415.
[[nodiscard]] front::net::HttpResponse ErrorAnswer(int http_status, std::string_view name,
                                                   std::string_view message);

/// The body of a request as a JSON object with no members beside `known`.
/// Errors: INVALID_ARGUMENT.
StatusOr<nlohmann::json> ParseObject(std::string_view body,
                                     std::initializer_list<std::string_view> known);

}  // namespace sluice::admin

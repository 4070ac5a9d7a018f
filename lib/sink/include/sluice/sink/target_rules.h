// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the service takes as a target, in one place for schemas, the staged writer, the
// committer and hosts that map records themselves (spec of the sink, 1.5 to 1.7).
//
// Pure functions; any thread.

#include <google/cloud/tasks/v2/target.pb.h>

#include <cstddef>
#include <string_view>

#include "base/status.h"

namespace sluice::sink {

inline constexpr std::size_t kRelativeUriCharactersMax = 2083;

/// A method of the list, neither unset nor one this program does not know.
[[nodiscard]] bool IsConcreteMethod(google::cloud::tasks::v2::HttpMethod method);
[[nodiscard]] Status CheckMethod(google::cloud::tasks::v2::HttpMethod method);
/// POST, PUT and PATCH.
[[nodiscard]] bool TakesHttpBody(google::cloud::tasks::v2::HttpMethod method);
/// POST and PUT.
[[nodiscard]] bool TakesAppEngineBody(google::cloud::tasks::v2::HttpMethod method);

/// Path and query only: no scheme, authority or fragment, and nothing that a URI
/// parser refuses; empty is the root. Letters outside ASCII pass.
/// Errors: INVALID_ARGUMENT naming the rule and the URI.
[[nodiscard]] Status CheckRelativeUri(std::string_view uri);
/// Headers that App Engine sets itself, whatever the case and the space around them.
[[nodiscard]] bool IsReservedAppEngineHeader(std::string_view name);

}  // namespace sluice::sink

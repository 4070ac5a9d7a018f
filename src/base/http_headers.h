// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which request headers of an HTTP task belong to the service and which to the
// caller, what bytes a header may have, and how values are read. The front asks when a task is
// created (service headers are left out of the stored task), the dispatcher
// asks again when the task is sent.
//
// Sources: ../shared/spec/cloud-tasks-service.md 4.2 and 4.3; RFC 9110.
//
// Pure functions; any thread.

#include <string_view>

namespace sluice {

/// The User-Agent every HTTP task is sent with; also part of the stored task.
inline constexpr std::string_view kTaskUserAgent = "Google-Cloud-Tasks";
/// That of an App Engine task; stands behind what the caller gave.
inline constexpr std::string_view kAppEngineUserAgent =
    "AppEngine-Google; (+http://code.google.com/appengine)";

/// Header names compare without regard to ASCII case.
[[nodiscard]] bool IsSameHeader(std::string_view a, std::string_view b);

/// True for a header that callers cannot set, whatever its case: it is computed
/// from the request (Host, Content-Length), replaced (User-Agent, X-CloudTasks-*),
/// reserved (X-Google-*, X-AppEngine-*), or about the connection and not the
/// message (Connection, Transfer-Encoding, Upgrade and their kind).
///
/// The stored form of a task: its headers without these, case kept, and
/// `User-Agent: ` kTaskUserAgent.
[[nodiscard]] bool IsServiceHeader(std::string_view name);

/// A token of RFC 9110: at least one byte, no separators, no spaces.
[[nodiscard]] bool IsValidHeaderName(std::string_view name);

/// No line breaks, no NUL, no control bytes but the tab. Bytes above 127 pass.
[[nodiscard]] bool IsValidHeaderValue(std::string_view value);

/// True when a Content-Type's value is `media_type`, whatever its case and parameters.
[[nodiscard]] bool IsMediaType(std::string_view content_type, std::string_view media_type);

}  // namespace sluice

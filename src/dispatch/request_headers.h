// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which headers leave with an attempt (spec 4.2, 4.3): the caller's under the queue's,
// without those the service owns; then the service's, in the names of the target's kind. What
// belongs to the framing of the message (Host, Content-Length, also the zero of an empty POST) is
// the HTTP client's and not here.
//
// Pure; any thread.

#include "base/names.h"
#include "base/status.h"
#include "core/tasks/effects.h"
#include "dispatch/header_lines.h"

namespace sluice::dispatch {

/// Appends the headers of an attempt (its dispatch_count includes it), but for the token's.
/// Errors: INVALID_ARGUMENT for a stored header that may not be sent.
Status AddAttemptHeaders(const core::StartAttempt& attempt, HeaderLines* headers);

}  // namespace sluice::dispatch

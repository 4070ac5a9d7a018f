// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which headers leave with an attempt of an HTTP task (spec 4.2, 4.3): the
// caller's, without those the service owns; then the service's. What belongs to
// the framing of the message (Host, Content-Length, also the zero of an empty
// POST) is the HTTP client's and not here.
//
// Pure; any thread.

#include "base/names.h"
#include "base/status.h"
#include "core/tasks/model.h"
#include "dispatch/header_lines.h"

namespace sluice::dispatch {

/// Appends the headers of the attempt that `task.progress` says has begun
/// (dispatch_count includes it).
/// Errors: INVALID_ARGUMENT for a stored header that may not be sent.
Status AddAttemptHeaders(const QueueName& queue, const core::Task& task, HeaderLines* headers);

}  // namespace sluice::dispatch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one place where a status of ours becomes an error of the public API: the
// google.rpc.Status that rides in the grpc-status-details-bin trailer, the HTTP
// status and the code's name for REST. Details are attached where they are known
// and travel inside sluice::Status as payloads under their type URL.
//
// It does not decide codes: whoever returns a status has decided what the caller
// may do. gRPC's own status type is in errors_grpc.h, so that only the files that
// speak gRPC pay for its headers.
//
// Threading: pure functions, any thread.
// Failure: none; a detail that cannot be parsed is left out.

#include <string>
#include <string_view>

#include "base/status.h"
#include "google/rpc/status.pb.h"

namespace sluice::front {

/// Longer messages are cut: clients refuse trailers over 8 KiB as a whole.
inline constexpr std::size_t kErrorMessageBytesMax = 2048;

/// The HTTP status that carries `code` (google/rpc/code.proto).
[[nodiscard]] int HttpStatusOf(absl::StatusCode code);
/// The code's name on the wire: "INVALID_ARGUMENT".
[[nodiscard]] std::string_view NameOf(absl::StatusCode code);

/// The error as the public API shows it: code, message, details in the order of
/// their type URLs.
[[nodiscard]] google::rpc::Status ToRpcStatus(const Status& status);

/// The message as clients get it: at most kErrorMessageBytesMax bytes, and valid
/// UTF-8 even where it quotes a request that was not or was cut inside a character.
[[nodiscard]] std::string ShownMessage(const Status& status);

// --- Details. An OK status is left alone; a second detail of a kind replaces
// the first, except that field violations add up. ---

/// google.rpc.Help with one link.
void AddHelp(Status* status, std::string_view description, std::string_view url);
/// google.rpc.ErrorInfo: a constant a program can branch on.
void AddErrorInfo(Status* status, std::string_view reason, std::string_view domain);
/// google.rpc.ResourceInfo: which resource the error is about.
void AddResourceInfo(Status* status, std::string_view type, std::string_view name);
/// google.rpc.BadRequest: which field of the request is at fault, by its path.
void AddFieldViolation(Status* status, std::string_view field, std::string_view description);

/// `status` with the field at fault added. For use in a return statement.
[[nodiscard]] Status AtField(std::string_view field, Status status);

}  // namespace sluice::front

// SPDX-License-Identifier: Apache-2.0
#pragma once

// What may stand in an access policy of a queue, and which permissions there are
// (../shared/spec: cloud tasks 6.2, 6.3). Policies are kept and told; nobody is
// refused by them.
//
// Threading: pure functions.

#include <string_view>

#include "base/status.h"
#include "google/iam/v1/iam_policy.pb.h"

namespace sluice::front {

inline constexpr int kPolicyMembersMax = 1500;  // all bindings together
inline constexpr std::size_t kPolicyBytesMax = 1u << 16;

/// Errors: INVALID_ARGUMENT for a version other than 0, 1 and 3, a binding without
/// role or members, a condition below version 3, or too many members or bytes.
Status CheckPolicy(const google::iam::v1::Policy& policy);

/// Errors: INVALID_ARGUMENT for a version other than 0, 1 and 3, or one below 3
/// for a policy with conditions.
Status CheckRequestedVersion(int version, const google::iam::v1::Policy& policy);

/// `stored` with the parts that `request` sets: those its mask names, bindings
/// without a mask. Errors: INVALID_ARGUMENT for a path that names no field.
StatusOr<google::iam::v1::Policy> MergePolicy(const google::iam::v1::Policy& stored,
                                              const google::iam::v1::SetIamPolicyRequest& request);

/// True for a permission on a queue or its tasks.
[[nodiscard]] bool IsPermission(std::string_view name);

}  // namespace sluice::front

// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/iam_policy.h"

#include <algorithm>
#include <array>

#include "front/errors.h"
#include "front/tasks/field_mask.h"

namespace sluice::front {
namespace {

using google::iam::v1::Binding;
using google::iam::v1::Policy;

constexpr std::array<std::string_view, 16> kPermissions{
    "cloudtasks.queues.create",       "cloudtasks.queues.delete",
    "cloudtasks.queues.get",          "cloudtasks.queues.getIamPolicy",
    "cloudtasks.queues.list",         "cloudtasks.queues.pause",
    "cloudtasks.queues.purge",        "cloudtasks.queues.resume",
    "cloudtasks.queues.setIamPolicy", "cloudtasks.queues.update",
    "cloudtasks.tasks.create",        "cloudtasks.tasks.delete",
    "cloudtasks.tasks.fullView",      "cloudtasks.tasks.get",
    "cloudtasks.tasks.list",          "cloudtasks.tasks.run"};

Status CheckVersion(int version, std::string_view field) {
  if (version == 0 || version == 1 || version == 3) return absl::OkStatus();
  return AtField(field, InvalidArgument("{} is {}; there are 0, 1 and 3", field, version));
}

bool HasConditions(const Policy& policy) {
  return std::any_of(policy.bindings().begin(), policy.bindings().end(),
                     [](const Binding& binding) { return binding.has_condition(); });
}

}  // namespace

Status CheckPolicy(const Policy& policy) {
  SLUICE_RETURN_IF_ERROR(CheckVersion(policy.version(), "policy.version"));
  int members = 0;
  for (const Binding& binding : policy.bindings()) {
    if (binding.role().empty() || binding.members().empty()) {
      return AtField("policy.bindings",
                     InvalidArgument("policy.bindings: a binding needs a role and a member"));
    }
    members += binding.members_size();
  }
  if (members > kPolicyMembersMax) {
    return AtField("policy.bindings",
                   InvalidArgument("policy.bindings have {} members; allowed are {}", members,
                                   kPolicyMembersMax));
  }
  if (HasConditions(policy) && policy.version() != 3) {
    return AtField("policy.version",
                   InvalidArgument("policy.version is {}; a binding with a condition needs 3",
                                   policy.version()));
  }
  if (const std::size_t bytes = policy.ByteSizeLong(); bytes > kPolicyBytesMax) {
    return AtField(
        "policy", InvalidArgument("policy takes {} bytes; allowed are {}", bytes, kPolicyBytesMax));
  }
  return absl::OkStatus();
}

Status CheckRequestedVersion(int version, const Policy& policy) {
  constexpr std::string_view kField = "options.requested_policy_version";
  SLUICE_RETURN_IF_ERROR(CheckVersion(version, kField));
  if (version == 3 || !HasConditions(policy)) return absl::OkStatus();
  return AtField(kField, InvalidArgument("{} is {}; the policy has conditions, which need 3",
                                         kField, version));
}

StatusOr<Policy> MergePolicy(const Policy& stored,
                             const google::iam::v1::SetIamPolicyRequest& request) {
  SLUICE_ASSIGN_OR_RETURN(
      const FieldSelection named,
      FieldSelection::Resolve(request.update_mask(), *Policy::descriptor(), "update_mask"));
  const Policy& given = request.policy();
  const bool has_mask = request.update_mask().paths_size() > 0;
  Policy merged = stored;
  if (!has_mask || named.Includes("bindings")) {
    *merged.mutable_bindings() = given.bindings();
    merged.set_version(given.version());
  }
  if (has_mask && named.Includes("version")) merged.set_version(given.version());
  if (has_mask && named.Includes("audit_configs")) {
    *merged.mutable_audit_configs() = given.audit_configs();
  }
  merged.clear_etag();
  return merged;
}

bool IsPermission(std::string_view name) {
  return std::find(kPermissions.begin(), kPermissions.end(), name) != kPermissions.end();
}

}  // namespace sluice::front

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Access policies and encryption keys; included by service.cc alone.

#include <utility>

#include "front/errors.h"
#include "front/tasks/engine_call.h"
#include "front/tasks/field_mask.h"
#include "front/tasks/iam_policy.h"
#include "front/tasks/methods.h"
#include "front/tasks/names.h"
#include "front/tasks/service.h"

namespace sluice::front {
namespace internal {

inline google::iam::v1::Policy StoredPolicy(const core::Queue& queue) {
  google::iam::v1::Policy policy;
  SLUICE_CHECK(policy.ParseFromString(queue.policy.bytes), "a stored policy is one of ours");
  return policy;
}

inline void EncodePolicy(const core::Queue& queue, google::iam::v1::Policy* out) {
  *out = StoredPolicy(queue);
  out->set_etag(core::PolicyEtag(queue));
}

/// The change of `queue` that a client asks for. An etag that is not the policy's
/// is left for the core to refuse.
inline StatusOr<engine::SetAccessPolicy> DecodeSetPolicy(
    const core::Queue& queue, const google::iam::v1::SetIamPolicyRequest& request) {
  SLUICE_ASSIGN_OR_RETURN(const google::iam::v1::Policy policy,
                          MergePolicy(StoredPolicy(queue), request));
  SLUICE_RETURN_IF_ERROR(CheckPolicy(policy));
  const std::string& etag = request.policy().etag();
  return engine::SetAccessPolicy{queue.name, policy.SerializeAsString(),
                                 etag.empty() ? core::PolicyEtag(queue) : etag};
}

}  // namespace internal

template <typename Api>
void TasksService<Api>::GetIamPolicy(google::iam::v1::GetIamPolicyRequest& request,
                                     google::iam::v1::Policy& response, Call& call) {
  const auto work = [this, &request, &response](const Context& context) {
    StatusOr<QueueName> name = ReadQueueName(request.resource(), "resource");
    if (!name.ok()) return flow_.End(context, name.status());
    SubmitCommand(*engine_, flow_, context, engine::GetQueue{*std::move(name)}, kQueueType,
                  [this, &request, &response](const Context& ending, engine::Result& result) {
                    internal::EncodePolicy(Expect<core::Queue>(result), &response);
                    flow_.End(ending, CheckRequestedVersion(
                                          request.options().requested_policy_version(), response));
                  });
  };
  flow_.Begin(kTasksMethods<Api>[kGetIamPolicy], request.resource(), call, work);
}

template <typename Api>
void TasksService<Api>::SetIamPolicy(google::iam::v1::SetIamPolicyRequest& request,
                                     google::iam::v1::Policy& response, Call& call) {
  // The policy is read first: a mask may spare parts of it. A change that comes in
  // between makes the etag stale, so none is lost.
  const auto work = [this, &request, &response](const Context& context) {
    StatusOr<QueueName> name = ReadQueueName(request.resource(), "resource");
    if (!name.ok()) return flow_.End(context, name.status());
    if (!request.has_policy()) {
      return flow_.End(context, AtField("policy", InvalidArgument("policy is required")));
    }
    auto change = [this, &request, &response](const Context& going_on, engine::Result& result) {
      auto command = internal::DecodeSetPolicy(Expect<core::Queue>(result), request);
      if (!command.ok()) return flow_.End(going_on, command.status());
      SubmitCommand(*engine_, flow_, going_on, *std::move(command), kQueueType,
                    [this, &response](const Context& ending, engine::Result& changed) {
                      internal::EncodePolicy(Expect<core::Queue>(changed), &response);
                      flow_.End(ending, absl::OkStatus());
                    });
    };
    SubmitCommand(*engine_, flow_, context, engine::GetQueue{*std::move(name)}, kQueueType,
                  std::move(change));
  };
  flow_.Begin(kTasksMethods<Api>[kSetIamPolicy], request.resource(), call, work);
}

// Callers are not told apart, so each holds every permission there is on a queue
// that exists, and none on one that does not (spec 6.2).
template <typename Api>
void TasksService<Api>::TestIamPermissions(google::iam::v1::TestIamPermissionsRequest& request,
                                           google::iam::v1::TestIamPermissionsResponse& response,
                                           Call& call) {
  const auto work = [this, &request, &response](const Context& context) {
    StatusOr<QueueName> name = ReadQueueName(request.resource(), "resource");
    if (!name.ok()) return flow_.End(context, name.status());
    for (const std::string& permission : request.permissions()) {
      if (permission.find('*') == std::string::npos) continue;
      return flow_.End(context,
                       AtField("permissions",
                               InvalidArgument("permissions: \"{}\" has a wildcard", permission)));
    }
    engine_->Submit(engine::GetQueue{*std::move(name)},
                    [this, context, &request, &response](const engine::Reply& reply) {
                      if (absl::IsNotFound(reply.status())) {
                        return flow_.End(context, absl::OkStatus());
                      }
                      if (!reply.ok()) return flow_.End(context, reply.status());
                      for (std::string& permission : *request.mutable_permissions()) {
                        if (IsPermission(permission)) {
                          response.add_permissions(std::move(permission));
                        }
                      }
                      flow_.End(context, absl::OkStatus());
                    });
  };
  flow_.Begin(kTasksMethods<Api>[kTestIamPermissions], request.resource(), call, work);
}

template <typename Api>
void TasksService<Api>::GetCmekConfig(typename Api::GetCmekConfigRequest& request,
                                      typename Api::CmekConfig& response, Call& call) {
  const auto work = [this, &request, &response](const Context& context) {
    const auto location = ReadCmekConfigName(request.name(), "name");
    if (location.ok()) response.set_name(request.name());
    flow_.End(context, location.status());
  };
  flow_.Begin(kTasksMethods<Api>[kGetCmekConfig], request.name(), call, work);
}

// Blanking the key is the state there is; a key is refused rather than kept and not
// used (spec 2.12).
template <typename Api>
void TasksService<Api>::UpdateCmekConfig(typename Api::UpdateCmekConfigRequest& request,
                                         typename Api::CmekConfig& response, Call& call) {
  const auto decode = [&request]() -> Status {
    const auto location = ReadCmekConfigName(request.cmek_config().name(), "cmek_config.name");
    SLUICE_RETURN_IF_ERROR(location.status());
    SLUICE_ASSIGN_OR_RETURN(const FieldSelection named,
                            FieldSelection::Resolve(request.update_mask(),
                                                    *Api::CmekConfig::descriptor(), "update_mask"));
    if (!named.Includes("kms_key") || request.cmek_config().kms_key().empty()) {
      return absl::OkStatus();
    }
    return AtField("cmek_config.kms_key",
                   Unimplemented("cmek_config.kms_key: this server does not encrypt tasks with a "
                                 "key of yours"));
  };
  const auto work = [this, decode, &request, &response](const Context& context) {
    const Status status = decode();
    if (status.ok()) response.set_name(request.cmek_config().name());
    flow_.End(context, status);
  };
  flow_.Begin(kTasksMethods<Api>[kUpdateCmekConfig], request.cmek_config().name(), call, work);
}

}  // namespace sluice::front

// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/service_v2beta3.h"

#include <google/protobuf/util/field_mask_util.h>

#include <array>
#include <utility>
#include <vector>

#include "front/errors.h"
#include "front/tasks/engine_call.h"
#include "front/tasks/field_mask.h"
#include "front/tasks/names.h"
#include "front/tasks/queue_codec.h"
#include "front/tasks/time_codec.h"

namespace sluice::front {
namespace {

namespace v2 = google::cloud::tasks::v2;
namespace v2beta3 = google::cloud::tasks::v2beta3;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::array<Method, 1> kMethods{{{"google.cloud.tasks.v2beta3.CloudTasks", "GetQueue"}}};

/// Gives `to` each field of `from` that both versions have; they share names and
/// types, not numbers.
void CopySharedFields(const Message& from, Message* to) {
  const auto& in = *from.GetReflection();
  const auto& out = *to->GetReflection();
  std::vector<const FieldDescriptor*> set;
  in.ListFields(from, &set);
  for (const FieldDescriptor* field : set) {
    const FieldDescriptor* twin = to->GetDescriptor()->FindFieldByName(field->name());
    if (twin == nullptr) continue;
    SLUICE_CHECK(twin->cpp_type() == field->cpp_type() && !field->is_repeated(),
                 "fields of one name have one type in both versions");
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        out.SetString(to, twin, in.GetString(from, field));
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        out.SetDouble(to, twin, in.GetDouble(from, field));
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        out.SetInt32(to, twin, in.GetInt32(from, field));
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        out.SetInt64(to, twin, in.GetInt64(from, field));
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        out.SetEnumValue(to, twin, in.GetEnumValue(from, field));
        break;
      case FieldDescriptor::CPPTYPE_MESSAGE:
        CopySharedFields(in.GetMessage(from, field), out.MutableMessage(to, twin));
        break;
      default:
        SLUICE_CHECK(false, "a queue has no field of another type");
    }
  }
}

void EncodeQueueBeta(const core::Queue& queue, v2beta3::Queue* out) {
  v2::Queue shared;
  EncodeQueue(queue, &shared);
  CopySharedFields(shared, out);
  out->set_type(v2beta3::Queue::PUSH);
  EncodeSpan(queue.config.task_ttl, out->mutable_task_ttl());
  EncodeSpan(queue.config.tombstone_ttl, out->mutable_tombstone_ttl());
}

Status CheckReadMask(const google::protobuf::FieldMask& mask) {
  SLUICE_ASSIGN_OR_RETURN(
      const FieldSelection selection,
      FieldSelection::Resolve(mask, *v2beta3::Queue::descriptor(), "read_mask"));
  if (mask.paths_size() > 0 && selection.Touches("stats")) {
    return AtField("read_mask",
                   Unimplemented("read_mask: stats of a queue are not served; /metrics has them"));
  }
  return absl::OkStatus();
}

}  // namespace

std::span<const Method> TasksServiceV2Beta3::Methods() { return kMethods; }

void TasksServiceV2Beta3::GetQueue(v2beta3::GetQueueRequest& request, v2beta3::Queue& response,
                                   Call& call) {
  flow_.Begin(
      kMethods[0], request.name(), call,
      [this, &request, &response](const CallFlow::Context& context) {
        StatusOr<QueueName> name = ReadQueueName(request.name(), "name");
        if (!name.ok()) return flow_.End(context, name.status());
        if (const Status status = CheckReadMask(request.read_mask()); !status.ok()) {
          return flow_.End(context, status);
        }
        SubmitCommand(
            *engine_, flow_, context, engine::GetQueue{*std::move(name)}, kQueueType,
            [this, &request, &response](const CallFlow::Context& ending, engine::Result& result) {
              EncodeQueueBeta(Expect<core::Queue>(result), &response);
              if (request.read_mask().paths_size() > 0) {
                google::protobuf::util::FieldMaskUtil::TrimMessage(request.read_mask(), &response);
              }
              flow_.End(ending, absl::OkStatus());
            });
      });
}

}  // namespace sluice::front

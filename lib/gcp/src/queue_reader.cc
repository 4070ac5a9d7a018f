// SPDX-License-Identifier: Apache-2.0
#include "sluice/gcp/queue_reader.h"

#include <google/cloud/tasks/v2beta3/cloudtasks.grpc.pb.h>
#include <grpcpp/channel.h>

#include "wire.h"

namespace sluice::gcp {

StatusOr<QueueFacts> ReadQueue(ChannelPool& pool, std::string_view queue, Duration timeout) {
  namespace v2beta3 = google::cloud::tasks::v2beta3;
  const auto stub = v2beta3::CloudTasks::NewStub(pool.channel(0));
  grpc::ClientContext context;
  SetDeadline(timeout, &context);
  context.set_wait_for_ready(true);  // the first call of a run finds no connection yet
  context.AddMetadata("x-goog-request-params", RoutingHeader("name", queue));
  v2beta3::GetQueueRequest request;
  request.set_name(std::string(queue));
  v2beta3::Queue answer;
  SLUICE_RETURN_IF_ERROR(ToStatus(stub->GetQueue(&context, request, &answer)));
  QueueFacts facts;
  if (answer.has_tombstone_ttl()) {
    facts.tombstone_ttl = absl::Seconds(answer.tombstone_ttl().seconds()) +
                          absl::Nanoseconds(answer.tombstone_ttl().nanos());
  }
  return facts;
}

}  // namespace sluice::gcp

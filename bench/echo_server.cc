// SPDX-License-Identifier: Apache-2.0

// The peer of CreateTask in benchmarks: the same call on gRPC's callback API,
// answered at once with the task it was sent. What Sluice costs beyond it is
// Sluice's own: validation, decision, durability, and the hand-overs for them.
//
//   sluice_bench_echo      prints `port N` and serves until its input ends

#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <memory>

#include "google/cloud/tasks/v2/cloudtasks.grpc.pb.h"

namespace {

namespace tasks = google::cloud::tasks::v2;

class Echo final : public tasks::CloudTasks::CallbackService {
 public:
  grpc::ServerUnaryReactor* CreateTask(grpc::CallbackServerContext* context,
                                       const tasks::CreateTaskRequest* request,
                                       tasks::Task* response) override {
    *response = request->task();
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

}  // namespace

int main() {
  Echo service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::printf("port %d\n", port);
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  server->Shutdown();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0

// The v2 service over a real gRPC connection on an ephemeral loopback port.

#include "front/tasks/grpc.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "front/tasks/testing/service_fixture.h"
#include "google/cloud/tasks/v2/cloudtasks.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace sluice::front::testing {
namespace {

// More than one, so that calls change threads.
constexpr int kQueueThreads = 3;

// Drops calls of one method after their work.
class DroppingGate final : public CallGate {
 public:
  void Before(const CallInfo&, Continue proceed) override { proceed(absl::OkStatus()); }
  void After(const CallInfo& call, const Status&, Continue finish) override {
    finish(call.method->name == "CreateTask" ? DropCall() : absl::OkStatus());
  }
};

class GrpcV2 : public ::testing::Test {
 protected:
  void Start(CallGate* gate = nullptr) {
    service_ =
        std::make_unique<TasksServiceV2>(TasksDependencies{&engine_, &clock_, gate, nullptr});
    grpc_service_ = MakeTasksGrpc(service_.get());
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    grpc_service_->Register(builder);
    queue_ = std::make_unique<net::GrpcQueue>(builder.AddCompletionQueue());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    grpc_service_->Listen(*queue_);
    queue_->Start(kQueueThreads);
    stub_ = v2::CloudTasks::NewStub(
        grpc::CreateChannel(fmt::format("127.0.0.1:{}", port), grpc::InsecureChannelCredentials()));
    v2::CreateQueueRequest request;
    request.set_parent(std::string(kLocation));
    request.mutable_queue()->set_name(std::string(kQueue));
    grpc::ClientContext context;
    v2::Queue queue;
    ASSERT_TRUE(stub_->CreateQueue(&context, request, &queue).ok());
  }

  void TearDown() override {
    if (!server_) return;
    server_->Shutdown();
    queue_->Stop();
  }

  static v2::CreateTaskRequest NewTask(const std::string& task_id) {
    v2::CreateTaskRequest request;
    request.set_parent(std::string(kQueue));
    request.mutable_task()->mutable_http_request()->set_url("http://h/");
    request.mutable_task()->mutable_schedule_time()->set_seconds(2'000'000'500);
    if (!task_id.empty()) {
      request.mutable_task()->set_name(fmt::format("{}/tasks/{}", kQueue, task_id));
    }
    return request;
  }

  grpc::Status CreateTask(const std::string& task_id, v2::Task* response) {
    grpc::ClientContext context;
    return stub_->CreateTask(&context, NewTask(task_id), response);
  }

  int TaskCount() {
    v2::ListTasksRequest request;
    request.set_parent(std::string(kQueue));
    v2::ListTasksResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(stub_->ListTasks(&context, request, &response).ok());
    return response.tasks_size();
  }

  MachineEngine engine_;
  HarnessClock clock_{engine_};
  std::unique_ptr<TasksServiceV2> service_;
  std::unique_ptr<net::GrpcService> grpc_service_;
  std::unique_ptr<net::GrpcQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v2::CloudTasks::Stub> stub_;
};

TEST_F(GrpcV2, ACallComesBackWithItsResponse) {
  Start();
  v2::Task task;
  const grpc::Status status = CreateTask("t", &task);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(task.name(), std::string(kQueue) + "/tasks/t");
  EXPECT_EQ(TaskCount(), 1);
}

TEST_F(GrpcV2, ErrorsCarryTheirDetails) {
  Start();
  v2::Task task;
  ASSERT_TRUE(CreateTask("t", &task).ok());
  const grpc::Status status = CreateTask("t", &task);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  google::rpc::ResourceInfo info;
  ASSERT_EQ(details.details_size(), 1);
  ASSERT_TRUE(details.details(0).UnpackTo(&info));
  EXPECT_EQ(info.resource_name(), std::string(kQueue) + "/tasks/t");
}

TEST_F(GrpcV2, UnbuiltMethodsAnswerUnimplementedByName) {
  Start();
  v2::BatchCreateTasksRequest request;
  google::longrunning::Operation operation;
  grpc::ClientContext context;
  const grpc::Status status = stub_->BatchCreateTasks(&context, request, &operation);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_NE(status.error_message().find("BatchCreateTasks"), std::string::npos);
}

TEST_F(GrpcV2, ADroppedCallFailsAlthoughItsWorkStands) {
  DroppingGate gate;
  Start(&gate);
  v2::Task task;
  const grpc::Status status = CreateTask("t", &task);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(status.error_message().find("task"), std::string::npos);
  EXPECT_EQ(TaskCount(), 1);
}

TEST_F(GrpcV2, OfManyCreatesOfOneNameOneWins) {  // acceptance 54
  Start();
  constexpr int kClients = 50;
  std::atomic<int> created = 0;
  std::atomic<int> existed = 0;
  std::vector<std::jthread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([this, &created, &existed] {
      v2::Task task;
      const grpc::Status status = CreateTask("t", &task);
      if (status.ok()) ++created;
      if (status.error_code() == grpc::StatusCode::ALREADY_EXISTS) ++existed;
    });
  }
  clients.clear();
  EXPECT_EQ(created, 1);
  EXPECT_EQ(existed, kClients - 1);
}

TEST_F(GrpcV2, AnAbandonedCallStillTakesEffect) {
  Start();
  engine_.HoldReplies();
  const std::size_t before = engine_.command_count();
  grpc::ClientContext context;
  std::jthread client([this, &context] {
    v2::Task task;
    const grpc::Status status = stub_->CreateTask(&context, NewTask("t"), &task);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  });
  while (engine_.command_count() == before) std::this_thread::yield();
  context.TryCancel();
  client.join();
  engine_.ReleaseReplies();
  EXPECT_EQ(TaskCount(), 1);
}

}  // namespace
}  // namespace sluice::front::testing

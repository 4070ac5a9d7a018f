// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the tests of the task service share: the service over a MachineEngine, and
// calls that keep how they ended.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "env/clock.h"
#include "front/tasks/service.h"
#include "front/tasks/testing/machine_engine.h"
#include "google/protobuf/text_format.h"

namespace sluice::front::testing {

namespace v2 = google::cloud::tasks::v2;

inline constexpr std::string_view kLocation = "projects/p/locations/l";
inline constexpr std::string_view kQueue = "projects/p/locations/l/queues/q";

class HarnessClock final : public env::Clock {
 public:
  explicit HarnessClock(MachineEngine& engine) : engine_(engine) {}
  [[nodiscard]] Time Now() const override { return engine_.harness().now(); }
  [[nodiscard]] Duration RealTimeUntil(Time) const override { return absl::Hours(1); }

 private:
  MachineEngine& engine_;
};

class RecordedCall final : public Call {
 public:
  [[nodiscard]] bool IsCancelled() const override { return is_cancelled; }
  void Finish(Status status) override {
    EXPECT_FALSE(end.has_value()) << "a call ended twice";
    end = std::move(status);
  }

  bool is_cancelled = false;
  std::optional<Status> end;
};

template <typename Response>
struct Outcome {
  Status status;
  Response response;

  [[nodiscard]] bool ok() const { return status.ok(); }
  const Response* operator->() const { return &response; }
};

template <typename Api>
class ServiceTest : public ::testing::Test {
 protected:
  using Service = TasksService<Api>;
  using Queue = typename Api::Queue;
  using Task = typename Api::Task;

  template <typename Request, typename Response>
  Outcome<Response> Invoke(void (Service::*method)(Request&, Response&, Call&), Request request) {
    Outcome<Response> outcome;
    RecordedCall call;
    (service_.*method)(request, outcome.response, call);
    EXPECT_TRUE(call.end.has_value()) << "the call was not answered";
    if (call.end) outcome.status = *call.end;
    return outcome;
  }

  // The same with the request as text.
  template <typename Request, typename Response>
  Outcome<Response> Invoke(void (Service::*method)(Request&, Response&, Call&),
                           const std::string& text) {
    Request request;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request)) << text;
    return Invoke(method, std::move(request));
  }

  Outcome<Queue> CreateQueue(std::string_view queue_id, const std::string& rest = {}) {
    return Invoke(&Service::CreateQueue,
                  fmt::format("parent: '{}' queue {{ name: '{}/queues/{}' {} }}", kLocation,
                              kLocation, queue_id, rest));
  }

  Outcome<Queue> UpdateQueue(const std::string& queue_fields, const std::string& mask) {
    return Invoke(
        &Service::UpdateQueue,
        fmt::format("queue {{ name: '{}' {} }} update_mask {{ {} }}", kQueue, queue_fields, mask));
  }

  // A task of queue q; the texts go into the task, its target, and the request.
  Outcome<Task> CreateTask(const std::string& task = {}, const std::string& target = {},
                           const std::string& rest = {}) {
    return Invoke(
        &Service::CreateTask,
        fmt::format("parent: '{}' task {{ http_request {{ url: 'http://h/' {} }} {} }} {}", kQueue,
                    target, task, rest));
  }

  static std::string TaskNameField(std::string_view task_id) {
    return fmt::format("name: '{}/tasks/{}'", kQueue, task_id);
  }

  MachineEngine engine_;
  HarnessClock clock_{engine_};
  Service service_{{&engine_, &clock_, nullptr, nullptr}};
};

using ServiceV2Test = ServiceTest<ApiV2>;

}  // namespace sluice::front::testing

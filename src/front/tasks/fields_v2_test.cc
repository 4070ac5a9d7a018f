// SPDX-License-Identifier: Apache-2.0

// No field is silent: compares docs/reference/fields-tasks-v2.md with the published
// descriptors and with what the service does.

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "front/errors.h"
#include "front/tasks/methods.h"
#include "front/tasks/testing/service_fixture.h"

namespace sluice::front::testing {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using google::protobuf::Reflection;
using google::protobuf::ServiceDescriptor;

constexpr std::string_view kPackage = "google.cloud.tasks.v2.";

struct Row {
  std::string handling;  // "acted on", "served", "ignored", "refused: CODE"

  [[nodiscard]] bool is_refused() const { return handling.starts_with("refused: "); }
  [[nodiscard]] std::string code() const { return handling.substr(9); }
};

// Both tables of the document; a field's key holds a dot, a method's does not.
std::map<std::string, Row> ReadTables() {
  std::ifstream file(std::string(SLUICE_SOURCE_DIR) + "/docs/reference/fields-tasks-v2.md");
  EXPECT_TRUE(file.is_open());
  std::map<std::string, Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `")) continue;
    const std::size_t name_end = line.find("` | ");
    const std::size_t handling_end = line.find(" |", name_end + 4);
    if (name_end == std::string::npos || handling_end == std::string::npos) {
      ADD_FAILURE() << "not a row: " << line;
      continue;
    }
    const std::string name = line.substr(3, name_end - 3);
    const Row row{line.substr(name_end + 4, handling_end - name_end - 4)};
    EXPECT_TRUE(rows.emplace(name, row).second) << name << " has two rows";
  }
  return rows;
}

std::string KeyOf(const FieldDescriptor& field) {
  std::string name = field.full_name();
  if (name.starts_with(kPackage)) name.erase(0, kPackage.size());
  return name;
}

using Path = std::vector<const FieldDescriptor*>;

// Calls `visit(path, row)` for every field a request can hold, down to those that
// are not acted on. A field without a row fails the test.
void Walk(const Descriptor& message, const std::map<std::string, Row>& rows, Path& path,
          const std::function<void(const Path&, const Row&)>& visit) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    const auto row = rows.find(KeyOf(field));
    if (row == rows.end()) {
      ADD_FAILURE() << KeyOf(field) << " has no row in docs/reference/fields-tasks-v2.md";
      continue;
    }
    path.push_back(&field);
    visit(path, row->second);
    const bool has_fields =
        field.message_type() != nullptr && !field.is_map() &&
        std::string_view(field.message_type()->full_name()).starts_with(kPackage);
    if (has_fields && row->second.handling == "acted on") {
      Walk(*field.message_type(), rows, path, visit);
    }
    path.pop_back();
  }
}

// Gives a field, and everything in it, a value that is not its default.
void Fill(Message* message, const FieldDescriptor& field) {
  const Reflection& reflection = *message->GetReflection();
  if (field.is_map()) return;
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    Message* part = field.is_repeated() ? reflection.AddMessage(message, &field)
                                        : reflection.MutableMessage(message, &field);
    for (int i = 0; i < part->GetDescriptor()->field_count(); ++i) {
      Fill(part, *part->GetDescriptor()->field(i));
    }
    return;
  }
  if (field.is_repeated()) return;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.SetString(message, &field, "x");
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetInt32(message, &field, 1);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetInt64(message, &field, 1);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.SetDouble(message, &field, 1);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.SetBool(message, &field, true);
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.SetEnumValue(message, &field, 1);
    default:
      ADD_FAILURE() << field.full_name() << " has a type this test does not fill";
  }
}

class FieldsV2 : public ServiceV2Test {
 protected:
  FieldsV2() {
    const ServiceDescriptor* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
            std::string(ApiV2::kService));
    for (int i = 0; i < service->method_count(); ++i) methods_.push_back(service->method(i));
    Offer("ListQueues", &TasksServiceV2::ListQueues, fmt::format("parent: '{}'", kLocation));
    Offer("GetQueue", &TasksServiceV2::GetQueue, name_);
    Offer("CreateQueue", &TasksServiceV2::CreateQueue,
          fmt::format("parent: '{0}' queue {{ name: '{0}/queues/new' }}", kLocation));
    Offer("UpdateQueue", &TasksServiceV2::UpdateQueue, fmt::format("queue {{ {} }}", name_));
    Offer("DeleteQueue", &TasksServiceV2::DeleteQueue, name_);
    Offer("PurgeQueue", &TasksServiceV2::PurgeQueue, name_);
    Offer("PauseQueue", &TasksServiceV2::PauseQueue, name_);
    Offer("ResumeQueue", &TasksServiceV2::ResumeQueue, name_);
    Offer("GetIamPolicy", &TasksServiceV2::GetIamPolicy, "");
    Offer("SetIamPolicy", &TasksServiceV2::SetIamPolicy, "");
    Offer("TestIamPermissions", &TasksServiceV2::TestIamPermissions, "");
    Offer("ListTasks", &TasksServiceV2::ListTasks, fmt::format("parent: '{}'", kQueue));
    Offer("GetTask", &TasksServiceV2::GetTask, TaskNameField("t"));
    Offer("CreateTask", &TasksServiceV2::CreateTask,
          fmt::format("parent: '{}' task {{ http_request {{ url: 'http://h/' }} }}", kQueue));
    Offer("BatchCreateTasks", &TasksServiceV2::BatchCreateTasks, "");
    Offer("DeleteTask", &TasksServiceV2::DeleteTask, TaskNameField("t"));
    Offer("BatchDeleteTasks", &TasksServiceV2::BatchDeleteTasks, "");
    Offer("RunTask", &TasksServiceV2::RunTask, TaskNameField("t"));
    Offer("UpdateCmekConfig", &TasksServiceV2::UpdateCmekConfig, "");
    Offer("GetCmekConfig", &TasksServiceV2::GetCmekConfig, "");
  }

  // Makes `method` callable by its name; `valid` is a request that succeeds.
  template <typename Request, typename Response>
  void Offer(const std::string& name, void (TasksServiceV2::*method)(Request&, Response&, Call&),
             const std::string& valid) {
    calls_[name] = [this, method, valid](const std::function<void(Message*)>& change) {
      // A fresh world, so that no call sees another's traces.
      engine_.StartAfresh();
      EXPECT_TRUE(CreateQueue("q").ok());
      EXPECT_TRUE(CreateTask(TaskNameField("t") +
                             fmt::format(" schedule_time {{ seconds: {} }}", 2'000'000'100))
                      .ok());
      Request request;
      EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(valid, &request)) << valid;
      change(&request);
      return Invoke(method, std::move(request)).status;
    };
  }

  Status CallWith(const std::string& method, const Path& path) {
    return calls_.at(method)([&path](Message* request) {
      Message* message = request;
      for (std::size_t i = 0; i + 1 < path.size(); ++i) {
        message = message->GetReflection()->MutableMessage(message, path[i]);
      }
      Fill(message, *path.back());
    });
  }

  // Every field of every served method.
  void WalkRequests(
      const std::function<void(const std::string& method, const Path&, const Row&)>& visit) {
    for (const MethodDescriptor* method : methods_) {
      if (rows_.at(method->name()).handling != "served") continue;
      Path path;
      Walk(*method->input_type(), rows_, path,
           [&](const Path& at, const Row& row) { visit(method->name(), at, row); });
    }
  }

  const std::string name_ = fmt::format("name: '{}'", kQueue);
  const std::map<std::string, Row> rows_ = ReadTables();
  std::vector<const MethodDescriptor*> methods_;
  std::map<std::string, std::function<Status(const std::function<void(Message*)>&)>> calls_;
};

TEST_F(FieldsV2, EveryPublishedMethodHasARowAndAnObject) {
  ASSERT_EQ(methods_.size(), kTasksMethods<ApiV2>.size());
  std::set<std::string> published;
  for (std::size_t i = 0; i < methods_.size(); ++i) {
    EXPECT_TRUE(rows_.contains(methods_[i]->name())) << methods_[i]->name() << " has no row";
    EXPECT_EQ(methods_[i]->name(), kTasksMethods<ApiV2>[i].name);
    published.insert(methods_[i]->name());
  }
  for (const auto& [name, row] : rows_) {
    if (name.find('.') != std::string::npos) continue;
    EXPECT_TRUE(published.contains(name)) << name << " is no method";
    EXPECT_TRUE(row.handling == "served" || row.is_refused()) << name << ": " << row.handling;
  }
}

TEST_F(FieldsV2, EveryFieldHasARowAndEveryRowAField) {
  std::set<std::string> reached;
  WalkRequests([&reached](const std::string&, const Path& path, const Row& row) {
    reached.insert(KeyOf(*path.back()));
    EXPECT_TRUE(row.handling == "acted on" || row.handling == "ignored" || row.is_refused())
        << KeyOf(*path.back()) << ": " << row.handling;
  });
  EXPECT_FALSE(reached.empty());
  for (const auto& [name, row] : rows_) {
    if (name.find('.') == std::string::npos) continue;
    EXPECT_TRUE(reached.contains(name)) << name << " is no field of a request";
  }
}

TEST_F(FieldsV2, ValidRequestsSucceedAndRefusedMethodsAreRefused) {
  for (const MethodDescriptor* method : methods_) {
    const Row& row = rows_.at(method->name());
    const Status status = calls_.at(method->name())([](Message*) {});
    EXPECT_EQ(NameOf(status.code()), row.is_refused() ? row.code() : "OK")
        << method->name() << ": " << sluice::Message(status);
    if (row.is_refused()) {
      EXPECT_NE(sluice::Message(status).find(method->name()), std::string_view::npos);
    }
  }
}

TEST_F(FieldsV2, RefusedFieldsAreRefusedByName) {
  int refused = 0;
  WalkRequests([&](const std::string& method, const Path& path, const Row& row) {
    if (!row.is_refused()) return;
    const Status status = CallWith(method, path);
    EXPECT_EQ(NameOf(status.code()), row.code()) << method << " " << KeyOf(*path.back());
    EXPECT_NE(sluice::Message(status).find(path.back()->name()), std::string_view::npos)
        << sluice::Message(status);
    ++refused;
  });
  EXPECT_GT(refused, 0);
}

TEST_F(FieldsV2, IgnoredFieldsChangeNothing) {
  int ignored = 0;
  WalkRequests([&](const std::string& method, const Path& path, const Row& row) {
    if (row.handling != "ignored") return;
    const Status status = CallWith(method, path);
    EXPECT_TRUE(status.ok()) << method << " " << KeyOf(*path.back()) << ": "
                             << sluice::Message(status);
    ++ignored;
  });
  EXPECT_GT(ignored, 0);
}

TEST_F(FieldsV2, FieldsActedOnAreBuilt) {
  WalkRequests([&](const std::string& method, const Path& path, const Row& row) {
    // Filling a whole message would set refused fields inside it.
    if (row.handling != "acted on" || path.back()->message_type() != nullptr) return;
    const Status status = CallWith(method, path);
    EXPECT_FALSE(absl::IsUnimplemented(status)) << method << " " << KeyOf(*path.back());
  });
}

TEST_F(FieldsV2, UnknownFieldsOfNewerClientsAreIgnored) {
  constexpr int kUnusedNumber = 4711;
  const Status status = calls_.at("CreateTask")([](Message* request) {
    auto* typed = dynamic_cast<v2::CreateTaskRequest*>(request);
    for (Message* message : std::initializer_list<Message*>{
             typed, typed->mutable_task(), typed->mutable_task()->mutable_http_request()}) {
      message->GetReflection()->MutableUnknownFields(message)->AddLengthDelimited(kUnusedNumber,
                                                                                  "new");
    }
  });
  EXPECT_TRUE(status.ok()) << sluice::Message(status);
}

}  // namespace
}  // namespace sluice::front::testing

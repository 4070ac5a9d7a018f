// SPDX-License-Identifier: Apache-2.0

// No field is silent: compares docs/reference/fields-tasks-VERSION.md with the published
// descriptors and with what the service does, for both versions. A field acted on
// must change what a call answers or leaves behind.

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

struct Row {
  std::string handling;  // "acted on", "served", "ignored", "refused: CODE"

  [[nodiscard]] bool is_refused() const { return handling.starts_with("refused: "); }
  [[nodiscard]] std::string code() const { return handling.substr(9); }
};

// Both tables of the document; a field's key holds a dot, a method's does not.
std::map<std::string, Row> ReadTables(const std::string& document) {
  std::ifstream file(fmt::format("{}/{}", SLUICE_SOURCE_DIR, document));
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

// Gives a field, and everything in it, a value that is not its default.
void Fill(Message* message, const FieldDescriptor& field) {
  const Reflection& reflection = *message->GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    Message* part = field.is_repeated() ? reflection.AddMessage(message, &field)
                                        : reflection.MutableMessage(message, &field);
    for (int i = 0; i < part->GetDescriptor()->field_count(); ++i) {
      Fill(part, *part->GetDescriptor()->field(i));
    }
    return;
  }
  if (field.is_repeated()) {
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_STRING) return;
    return reflection.AddString(message, &field, "x");
  }
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.SetString(message, &field, "x");
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetInt32(message, &field, 2);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetInt64(message, &field, 2);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.SetDouble(message, &field, 1);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.SetBool(message, &field, true);
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.SetEnumValue(message, &field, 2);
    default:
      ADD_FAILURE() << field.full_name() << " has a type this test does not fill";
  }
}

// Values that show an effect where Fill's happen to mean the default.
const std::map<std::string, std::string> kTellingValues = {
    {"Task.schedule_time", "schedule_time { seconds: 2000000700 }"},
    {"Queue.type", "type: PULL"},
    {"google.iam.v1.TestIamPermissionsRequest.permissions", "permissions: 'cloudtasks.tasks.run'"},
    // The rest is needed for what is asked to be looked at.
    {"google.iam.v1.Binding.role", "role: 'roles/viewer' members: 'user:a@b'"},
    {"google.iam.v1.Binding.members", "role: 'roles/viewer' members: 'user:a@b'"},
    {"google.iam.v1.Binding.condition",
     "role: 'roles/viewer' members: 'user:a@b' condition { expression: 'true' }"},
    {"OAuthToken.scope", "service_account_email: 'a@b' scope: 's'"},
    {"OidcToken.audience", "service_account_email: 'a@b' audience: 's'"},
    {"HttpTarget.Header.value", "key: 'k' value: 'x'"},
    {"AppEngineHttpRequest.relative_uri", "relative_uri: '/x'"},
};

using Path = std::vector<const FieldDescriptor*>;

template <typename Api>
class Fields : public ServiceTest<Api> {
 protected:
  using Service = TasksService<Api>;

  Fields() {
    const ServiceDescriptor* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
            std::string(Api::kService));
    for (int i = 0; i < service->method_count(); ++i) methods_.push_back(service->method(i));
    const std::string resource = fmt::format("resource: '{}'", kQueue);
    const std::string cmek = fmt::format("name: '{}/cmekConfig'", kLocation);
    const std::string task = this->TaskNameField("t");
    Offer("ListQueues", &Service::ListQueues, fmt::format("parent: '{}'", kLocation));
    Offer("GetQueue", &Service::GetQueue, name_);
    Offer("CreateQueue", &Service::CreateQueue,
          fmt::format("parent: '{0}' queue {{ name: '{0}/queues/new' }}", kLocation));
    Offer("UpdateQueue", &Service::UpdateQueue, fmt::format("queue {{ {} }}", name_));
    Offer("DeleteQueue", &Service::DeleteQueue, name_);
    Offer("PurgeQueue", &Service::PurgeQueue, name_);
    Offer("PauseQueue", &Service::PauseQueue, name_);
    Offer("ResumeQueue", &Service::ResumeQueue, name_);
    Offer("GetIamPolicy", &Service::GetIamPolicy, resource);
    Offer("SetIamPolicy", &Service::SetIamPolicy,
          resource + "policy {} update_mask { paths: '*' }");
    Offer("TestIamPermissions", &Service::TestIamPermissions, resource);
    Offer("ListTasks", &Service::ListTasks, fmt::format("parent: '{}'", kQueue));
    Offer("GetTask", &Service::GetTask, task);
    Offer("CreateTask", &Service::CreateTask,
          fmt::format("parent: '{}' task {{ http_request {{ url: 'http://h/' }} }}", kQueue));
    Offer("BatchCreateTasks", &Service::BatchCreateTasks, "");
    Offer("DeleteTask", &Service::DeleteTask, task);
    Offer("BatchDeleteTasks", &Service::BatchDeleteTasks, "");
    Offer("RunTask", &Service::RunTask, task);
    Offer("UpdateCmekConfig", &Service::UpdateCmekConfig,
          fmt::format("cmek_config {{ {} }}", cmek));
    Offer("GetCmekConfig", &Service::GetCmekConfig, cmek);
  }

  using Change = std::function<void(Message*)>;
  struct Seen {
    Status status;
    std::string world;  // the answer, and what the call left behind
  };

  // Makes `method` callable by its name; `valid` is a request that succeeds.
  template <typename Request, typename Response>
  void Offer(const std::string& name, void (Service::*method)(Request&, Response&, Call&),
             const std::string& valid) {
    calls_[name] = [this, method, valid](const Change& change) {
      // A fresh world, so that no call sees another's traces.
      this->engine_.StartAfresh();
      for (const char* queue : {"q", "r", "s"}) EXPECT_TRUE(this->CreateQueue(queue).ok());
      for (const char* task : {"t", "u", "v"}) {
        EXPECT_TRUE(
            this->CreateTask(this->TaskNameField(task) + " schedule_time { seconds: 2000000100 }",
                             "body: 'b'")
                .ok());
      }
      Request request;
      EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(valid, &request)) << valid;
      change(&request);
      const auto outcome = this->Invoke(method, std::move(request));
      const auto queue = this->Invoke(&Service::GetQueue, name_);
      const auto tasks = this->Invoke(&Service::ListTasks,
                                      fmt::format("parent: '{}' response_view: FULL", kQueue));
      return Seen{outcome.status,
                  fmt::format("{}\n{}\n{}\n{}", sluice::Message(outcome.status),
                              outcome.response.DebugString(), queue.response.DebugString(),
                              tasks.response.DebugString())};
    };
  }

  std::string KeyOf(const FieldDescriptor& field) const {
    std::string name = field.full_name();
    if (name.starts_with(package_)) name.erase(0, package_.size());
    return name;
  }

  // Calls `visit(path, row)` for every field a request can hold, down to those that
  // are not acted on. A field without a row fails the test.
  void Walk(const Descriptor& message, Path& path,
            const std::function<void(const Path&, const Row&)>& visit) {
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor& field = *message.field(i);
      const auto row = rows_.find(KeyOf(field));
      if (row == rows_.end()) {
        ADD_FAILURE() << KeyOf(field) << " has no row in " << document_;
        continue;
      }
      path.push_back(&field);
      visit(path, row->second);
      if (HasFields(field) && row->second.handling == "acted on") {
        Walk(*field.message_type(), path, visit);
      }
      path.pop_back();
    }
  }

  bool HasFields(const FieldDescriptor& field) const {
    if (field.message_type() == nullptr || field.is_map()) return false;
    const std::string_view name = field.message_type()->full_name();
    return name.starts_with(package_) || name.starts_with("google.iam.v1.");
  }

  // The same call with all but the last field of the path.
  Seen CallWithout(const std::string& method, const Path& path) {
    return CallWith(method, path, /*fills=*/false);
  }

  Seen CallWith(const std::string& method, const Path& path, bool fills = true) {
    return calls_.at(method)([&](Message* request) {
      Message* message = request;
      for (std::size_t i = 0; i + 1 < path.size(); ++i) {
        const Reflection& reflection = *message->GetReflection();
        message = path[i]->is_repeated() ? reflection.AddMessage(message, path[i])
                                         : reflection.MutableMessage(message, path[i]);
      }
      if (!fills) return;
      const auto telling = kTellingValues.find(KeyOf(*path.back()));
      if (telling == kTellingValues.end()) return Fill(message, *path.back());
      EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(telling->second, message));
    });
  }

  // Every field of every served method.
  void WalkRequests(
      const std::function<void(const std::string& method, const Path&, const Row&)>& visit) {
    for (const MethodDescriptor* method : methods_) {
      if (rows_.at(method->name()).handling != "served") continue;
      Path path;
      Walk(*method->input_type(), path,
           [&](const Path& at, const Row& row) { visit(method->name(), at, row); });
    }
  }

  const std::string package_ = fmt::format("google.cloud.tasks.{}.", Api::kVersion);
  const std::string document_ = fmt::format("docs/reference/fields-tasks-{}.md", Api::kVersion);
  const std::string name_ = fmt::format("name: '{}'", kQueue);
  const std::map<std::string, Row> rows_ = ReadTables(document_);
  std::vector<const MethodDescriptor*> methods_;
  std::map<std::string, std::function<Seen(const Change&)>> calls_;
};

using Versions = ::testing::Types<ApiV2, ApiV2Beta3>;
TYPED_TEST_SUITE(Fields, Versions);

TYPED_TEST(Fields, EveryPublishedMethodHasARowAndAnObject) {
  ASSERT_EQ(this->methods_.size(), kTasksMethods<TypeParam>.size());
  std::set<std::string> published;
  for (std::size_t i = 0; i < this->methods_.size(); ++i) {
    const std::string& name = this->methods_[i]->name();
    EXPECT_TRUE(this->rows_.contains(name)) << name << " has no row";
    EXPECT_EQ(name, kTasksMethods<TypeParam>[i].name);
    published.insert(name);
  }
  for (const auto& [name, row] : this->rows_) {
    if (name.find('.') != std::string::npos) continue;
    EXPECT_TRUE(published.contains(name)) << name << " is no method";
    EXPECT_TRUE(row.handling == "served" || row.is_refused()) << name << ": " << row.handling;
  }
}

TYPED_TEST(Fields, EveryFieldHasARowAndEveryRowAField) {
  std::set<std::string> reached;
  this->WalkRequests([&](const std::string&, const Path& path, const Row& row) {
    const std::string key = this->KeyOf(*path.back());
    reached.insert(key);
    EXPECT_TRUE(row.handling == "acted on" || row.handling == "ignored" || row.is_refused())
        << key << ": " << row.handling;
  });
  EXPECT_FALSE(reached.empty());
  for (const auto& [name, row] : this->rows_) {
    if (name.find('.') == std::string::npos) continue;
    EXPECT_TRUE(reached.contains(name)) << name << " is no field of a request";
  }
}

TYPED_TEST(Fields, ValidRequestsSucceedAndRefusedMethodsAreRefused) {
  for (const MethodDescriptor* method : this->methods_) {
    const Row& row = this->rows_.at(method->name());
    const Status status = this->calls_.at(method->name())([](Message*) {}).status;
    EXPECT_EQ(NameOf(status.code()), row.is_refused() ? row.code() : "OK")
        << method->name() << ": " << sluice::Message(status);
    if (row.is_refused()) {
      EXPECT_NE(sluice::Message(status).find(method->name()), std::string_view::npos);
    }
  }
}

TYPED_TEST(Fields, RefusedFieldsAreRefusedByName) {
  int refused = 0;
  this->WalkRequests([&](const std::string& method, const Path& path, const Row& row) {
    if (!row.is_refused()) return;
    const Status status = this->CallWith(method, path).status;
    EXPECT_EQ(NameOf(status.code()), row.code()) << method << " " << this->KeyOf(*path.back());
    EXPECT_NE(sluice::Message(status).find(path.back()->name()), std::string_view::npos)
        << sluice::Message(status);
    ++refused;
  });
  EXPECT_GT(refused, 0);
}

TYPED_TEST(Fields, IgnoredFieldsChangeNothing) {
  int ignored = 0;
  this->WalkRequests([&](const std::string& method, const Path& path, const Row& row) {
    if (row.handling != "ignored") return;
    const auto without = this->CallWithout(method, path);
    const auto with = this->CallWith(method, path);
    EXPECT_TRUE(with.status.ok()) << method << " " << this->KeyOf(*path.back()) << ": "
                                  << sluice::Message(with.status);
    EXPECT_EQ(with.world, without.world) << method << " " << this->KeyOf(*path.back());
    ++ignored;
  });
  EXPECT_GT(ignored, 0);
}

TYPED_TEST(Fields, FieldsActedOnMakeADifference) {
  int acted_on = 0;
  this->WalkRequests([&](const std::string& method, const Path& path, const Row& row) {
    // A message is acted on by what is in it.
    if (row.handling != "acted on" || this->HasFields(*path.back())) return;
    const auto without = this->CallWithout(method, path);
    const auto with = this->CallWith(method, path);
    EXPECT_NE(with.world, without.world)
        << method << " " << this->KeyOf(*path.back()) << " is without effect";
    ++acted_on;
  });
  EXPECT_GT(acted_on, 0);
}

TYPED_TEST(Fields, UnknownFieldsOfNewerClientsAreIgnored) {
  constexpr int kUnusedNumber = 4711;
  const Status status =
      this->calls_
          .at("CreateTask")([](Message* request) {
            auto* typed = dynamic_cast<typename TypeParam::CreateTaskRequest*>(request);
            for (Message* message : std::initializer_list<Message*>{
                     typed, typed->mutable_task(), typed->mutable_task()->mutable_http_request()}) {
              message->GetReflection()->MutableUnknownFields(message)->AddLengthDelimited(
                  kUnusedNumber, "new");
            }
          })
          .status;
  EXPECT_TRUE(status.ok()) << sluice::Message(status);
}

}  // namespace
}  // namespace sluice::front::testing

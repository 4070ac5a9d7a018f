// SPDX-License-Identifier: Apache-2.0

// Access policies and encryption keys, in both versions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "front/tasks/iam_policy.h"
#include "front/tasks/testing/service_fixture.h"

namespace sluice::front::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Policy = google::iam::v1::Policy;

const std::string kResource = fmt::format("resource: '{}'", kQueue);
const std::string kViewer = "bindings { role: 'roles/viewer' members: 'user:a@b.c' }";

template <typename Api>
class ServicePolicy : public ServiceTest<Api> {
 protected:
  using Service = TasksService<Api>;

  Outcome<Policy> Get(const std::string& rest = {}) {
    return this->Invoke(&Service::GetIamPolicy, kResource + rest);
  }
  Outcome<Policy> Set(const std::string& policy, const std::string& rest = {}) {
    return this->Invoke(&Service::SetIamPolicy,
                        fmt::format("{} policy {{ {} }} {}", kResource, policy, rest));
  }
  std::vector<std::string> Test(const std::string& permissions) {
    const auto held = this->Invoke(&Service::TestIamPermissions, kResource + permissions);
    EXPECT_TRUE(held.ok()) << held.status;
    return {held->permissions().begin(), held->permissions().end()};
  }
};

using Versions = ::testing::Types<ApiV2, ApiV2Beta3>;
TYPED_TEST_SUITE(ServicePolicy, Versions);

TYPED_TEST(ServicePolicy, APolicyIsEmptyUntilItIsSetAndThenTold) {
  ASSERT_TRUE(this->CreateQueue("q").ok());
  EXPECT_EQ(this->Get()->bindings_size(), 0);
  EXPECT_FALSE(this->Get()->etag().empty());
  const auto set = this->Set(kViewer + "version: 1");
  ASSERT_TRUE(set.ok()) << set.status;
  const auto got = this->Get();
  EXPECT_EQ(got->DebugString(), set->DebugString());
  EXPECT_EQ(got->bindings(0).members(0), "user:a@b.c");
  EXPECT_EQ(got->version(), 1);
}

TYPED_TEST(ServicePolicy, AStaleEtagIsRefusedAndChangesNothing) {
  ASSERT_TRUE(this->CreateQueue("q").ok());
  Policy policy = this->Get().response;
  policy.add_bindings()->set_role("roles/editor");
  policy.mutable_bindings(0)->add_members("user:x@y.z");
  ASSERT_TRUE(this->Set(policy.ShortDebugString()).ok());
  policy.mutable_bindings(0)->set_role("roles/owner");
  const auto stale = this->Set(policy.ShortDebugString());
  EXPECT_TRUE(absl::IsAborted(stale.status)) << stale.status;
  EXPECT_EQ(this->Get()->bindings(0).role(), "roles/editor");
  // Without an etag the last one wins.
  EXPECT_TRUE(this->Set(kViewer).ok());
  EXPECT_EQ(this->Get()->bindings(0).role(), "roles/viewer");
}

TYPED_TEST(ServicePolicy, APolicyGoesWithItsQueueAndSurvivesItsOtherChanges) {
  ASSERT_TRUE(this->CreateQueue("q").ok());
  const std::string etag = this->Set(kViewer)->etag();
  const std::string name = fmt::format("name: '{}'", kQueue);
  ASSERT_TRUE(this->Invoke(&TestFixture::Service::PauseQueue, name).ok());
  EXPECT_EQ(this->Get()->etag(), etag);
  ASSERT_TRUE(this->Invoke(&TestFixture::Service::DeleteQueue, name).ok());
  ASSERT_TRUE(this->CreateQueue("q").ok());
  EXPECT_EQ(this->Get()->bindings_size(), 0);
  EXPECT_NE(this->Get()->etag(), etag);
}

TYPED_TEST(ServicePolicy, AMaskSparesTheRest) {
  ASSERT_TRUE(this->CreateQueue("q").ok());
  const std::string audit = "audit_configs { service: 'allServices' }";
  ASSERT_TRUE(this->Set(kViewer + audit, "update_mask { paths: '*' }").ok());
  ASSERT_TRUE(this->Set("", "").ok());
  EXPECT_EQ(this->Get()->bindings_size(), 0);
  EXPECT_EQ(this->Get()->audit_configs_size(), 1);
  ASSERT_TRUE(this->Set(kViewer, "update_mask { paths: 'audit_configs' }").ok());
  EXPECT_EQ(this->Get()->bindings_size(), 0);
  EXPECT_EQ(this->Get()->audit_configs_size(), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(this->Set("", "update_mask { paths: 'x' }").status));
}

TYPED_TEST(ServicePolicy, BadPoliciesAndVersionsAreRefused) {
  ASSERT_TRUE(this->CreateQueue("q").ok());
  const std::string condition =
      "bindings { role: 'r' members: 'm' condition { expression: 'true' } }";
  for (const std::string& bad : {std::string("version: 2"), std::string("bindings { role: 'r' }"),
                                 std::string("bindings { members: 'm' }"), condition}) {
    EXPECT_TRUE(absl::IsInvalidArgument(this->Set(bad).status)) << bad;
  }
  std::string many = "bindings { role: 'r' ";
  for (int i = 0; i < kPolicyMembersMax; ++i) many += "members: 'm' ";
  EXPECT_TRUE(this->Set(many + "}").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(this->Set(many + "members: 'm' }").status));
  ASSERT_TRUE(this->Set(condition + "version: 3").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(this->Get().status));
  EXPECT_TRUE(this->Get("options { requested_policy_version: 3 }").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(this->Get("options { requested_policy_version: 2 }").status));
}

TYPED_TEST(ServicePolicy, PermissionsAreHeldOnQueuesThatExist) {
  const std::string asked =
      "permissions: 'cloudtasks.tasks.run' permissions: 'cloudtasks.queues.fly'";
  EXPECT_THAT(this->Test(asked), ElementsAre());
  ASSERT_TRUE(this->CreateQueue("q").ok());
  EXPECT_THAT(this->Test(asked), ElementsAre("cloudtasks.tasks.run"));
  const auto wild = this->Invoke(&TestFixture::Service::TestIamPermissions,
                                 kResource + "permissions: 'cloudtasks.*'");
  EXPECT_TRUE(absl::IsInvalidArgument(wild.status));
}

TYPED_TEST(ServicePolicy, MissingQueuesHaveNoPolicy) {
  EXPECT_TRUE(absl::IsNotFound(this->Get().status));
  EXPECT_TRUE(absl::IsNotFound(this->Set(kViewer).status));
}

TYPED_TEST(ServicePolicy, ThereIsNoEncryptionKeyAndNoneCanBeSet) {
  const std::string name = fmt::format("name: '{}/cmekConfig'", kLocation);
  const auto got = this->Invoke(&TestFixture::Service::GetCmekConfig, name);
  ASSERT_TRUE(got.ok()) << got.status;
  EXPECT_EQ(got->name(), fmt::format("{}/cmekConfig", kLocation));
  EXPECT_EQ(got->kms_key(), "");
  const auto update = [&](const std::string& config, const std::string& rest = {}) {
    return this->Invoke(&TestFixture::Service::UpdateCmekConfig,
                        fmt::format("cmek_config {{ {} {} }} {}", name, config, rest));
  };
  EXPECT_EQ(update("")->name(), got->name());
  EXPECT_TRUE(update("kms_key: 'k'", "update_mask { paths: 'name' }").ok());
  const auto refused = update("kms_key: 'k'");
  EXPECT_TRUE(absl::IsUnimplemented(refused.status));
  EXPECT_THAT(std::string(Message(refused.status)), HasSubstr("cmek_config.kms_key"));
  EXPECT_TRUE(absl::IsInvalidArgument(
      this->Invoke(&TestFixture::Service::GetCmekConfig, "name: 'projects/p/cmekConfig'").status));
}

}  // namespace
}  // namespace sluice::front::testing

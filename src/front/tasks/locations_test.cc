// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/locations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "front/tasks/testing/service_fixture.h"

namespace sluice::front::testing {
namespace {

using ::testing::ElementsAre;

class Locations : public ServiceV2Test {
 protected:
  template <typename Request, typename Response>
  Outcome<Response> Ask(void (LocationsService::*method)(Request&, Response&, Call&),
                        const std::string& text) {
    Request request;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request)) << text;
    Outcome<Response> outcome;
    RecordedCall call;
    (locations_.*method)(request, outcome.response, call);
    EXPECT_TRUE(call.end.has_value());
    outcome.status = call.end.value_or(absl::OkStatus());
    return outcome;
  }

  std::vector<std::string> List(const std::string& request) {
    const auto page = Ask(&LocationsService::ListLocations, request);
    EXPECT_TRUE(page.ok()) << page.status;
    next_ = page->next_page_token();
    std::vector<std::string> ids;
    for (const auto& found : page->locations()) ids.push_back(found.location_id());
    return ids;
  }

  LocationsService locations_{{&engine_, &clock_, nullptr, nullptr}, {"z", "a"}};
  std::string next_;
};

TEST_F(Locations, AreThoseOfTheOperatorAndThoseWithQueues) {
  EXPECT_THAT(List("name: 'projects/p'"), ElementsAre("a", "z"));
  ASSERT_TRUE(CreateQueue("q").ok());
  EXPECT_THAT(List("name: 'projects/p'"), ElementsAre("a", "l", "z"));
  EXPECT_THAT(List("name: 'projects/other'"), ElementsAre("a", "z"));
  EXPECT_THAT(List("name: 'projects/p' filter: 'location_id=l'"), ElementsAre("l"));
  EXPECT_THAT(List("name: 'projects/p' page_size: 2"), ElementsAre("a", "l"));
  EXPECT_THAT(List(fmt::format("name: 'projects/p' page_size: 2 page_token: '{}'", next_)),
              ElementsAre("z"));
  EXPECT_TRUE(next_.empty());
}

TEST_F(Locations, AreFoundByName) {
  ASSERT_TRUE(CreateQueue("q").ok());
  const auto found = Ask(&LocationsService::GetLocation, fmt::format("name: '{}'", kLocation));
  ASSERT_TRUE(found.ok()) << found.status;
  EXPECT_EQ(found->name(), kLocation);
  EXPECT_EQ(found->location_id(), "l");
  const auto missing = Ask(&LocationsService::GetLocation, "name: 'projects/p/locations/x'");
  EXPECT_TRUE(absl::IsNotFound(missing.status));
}

TEST_F(Locations, BadRequestsAreRefused) {
  for (const char* bad :
       {"name: 'p'", "name: 'projects/p/locations/l'", "name: 'projects/p' page_size: -1",
        "name: 'projects/p' filter: 'x'", "name: 'projects/p' page_token: 'x'"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Ask(&LocationsService::ListLocations, bad).status)) << bad;
  }
}

}  // namespace
}  // namespace sluice::front::testing

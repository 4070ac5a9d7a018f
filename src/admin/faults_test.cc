// SPDX-License-Identifier: Apache-2.0
#include "admin/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace sluice::admin {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr std::uint64_t kSeed = 7;
constexpr front::Method kCreate{"google.cloud.tasks.v2.CloudTasks", "CreateTask"};
constexpr front::Method kGet{"google.cloud.tasks.v2.CloudTasks", "GetTask"};
/// Far longer than the test runs: a call held this long has not gone on by itself.
constexpr std::string_view kLong = "1h";

FaultRule Rule(const std::string& json) {
  StatusOr<FaultRule> rule = FaultRuleFromJson(Json::parse(json));
  EXPECT_TRUE(rule.ok()) << rule.status();
  return rule.value_or(FaultRule{});
}

std::string Refusal(const std::string& json) {
  const Status status = FaultRuleFromJson(Json::parse(json)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << json;
  return std::string(Message(status));
}

/// The status a call goes on with; nothing while it is held back.
using Outcome = std::shared_ptr<std::optional<Status>>;

front::CallGate::Continue Into(const Outcome& outcome) {
  return [outcome](Status status) { *outcome = std::move(status); };
}

Outcome Before(FaultInjector& faults, const front::Method& method) {
  const auto outcome = std::make_shared<std::optional<Status>>();
  faults.Before({&method, "projects/p"}, Into(outcome));
  return outcome;
}

Outcome After(FaultInjector& faults, const front::Method& method, const Status& result = {}) {
  const auto outcome = std::make_shared<std::optional<Status>>();
  faults.After({&method, "projects/p"}, result, Into(outcome));
  return outcome;
}

TEST(Faults, WithoutRulesEveryCallPasses) {
  FaultInjector faults(kSeed);
  EXPECT_TRUE(Before(faults, kCreate)->value().ok());
  EXPECT_TRUE(After(faults, kCreate)->value().ok());
}

TEST(Faults, ARuleHitsItsMethodAtItsMomentOnly) {
  FaultInjector faults(kSeed);
  ASSERT_TRUE(faults
                  .Add(Rule(R"({"method":"CreateTask","when":"before_commit","action":"fail",
                                "code":"ABORTED","message":"no"})"))
                  .ok());
  const Status status = Before(faults, kCreate)->value();
  EXPECT_TRUE(absl::IsAborted(status));
  EXPECT_EQ(Message(status), "no");
  EXPECT_TRUE(After(faults, kCreate)->value().ok());
  EXPECT_TRUE(Before(faults, kGet)->value().ok());
  EXPECT_EQ(faults.List()[0].hits, 1u);
}

TEST(Faults, AStarHitsEveryMethodAndACountEndsIt) {
  FaultInjector faults(kSeed);
  ASSERT_TRUE(
      faults.Add(Rule(R"({"method":"*","when":"after_commit","action":"fail","count":2})")).ok());
  EXPECT_TRUE(absl::IsUnavailable(After(faults, kCreate)->value()));
  EXPECT_TRUE(absl::IsUnavailable(After(faults, kGet)->value()));
  EXPECT_TRUE(After(faults, kGet)->value().ok());
  EXPECT_EQ(faults.List()[0].hits, 2u);
}

TEST(Faults, ACallThatFailedByItselfIsNotAfterItsCommit) {
  FaultInjector faults(kSeed);
  ASSERT_TRUE(
      faults.Add(Rule(R"({"method":"*","when":"after_commit","action":"fail","count":1})")).ok());
  EXPECT_TRUE(After(faults, kCreate, NotFound("x"))->value().ok());
  EXPECT_EQ(faults.List()[0].hits, 0u);
}

std::string HitPattern(std::uint64_t seed) {
  FaultInjector faults(seed);
  EXPECT_TRUE(
      faults.Add(Rule(R"({"method":"*","when":"before_commit","action":"fail","probability":0.3})"))
          .ok());
  std::string pattern;
  for (int i = 0; i < 1000; ++i) pattern += Before(faults, kGet)->value().ok() ? '.' : 'x';
  return pattern;
}

TEST(Faults, AProbabilityIsKeptAndTheSeedDecidesWhichCalls) {
  const std::string pattern = HitPattern(kSeed);
  const auto hits = std::count(pattern.begin(), pattern.end(), 'x');
  EXPECT_GT(hits, 250);
  EXPECT_LT(hits, 350);
  EXPECT_EQ(pattern, HitPattern(kSeed));
  EXPECT_NE(pattern, HitPattern(kSeed + 1));
}

TEST(Faults, ProbabilityZeroNeverHitsAndOneAlways) {
  FaultInjector faults(kSeed);
  ASSERT_TRUE(faults
                  .Add(Rule(R"({"method":"GetTask","when":"before_commit","action":"fail",
                                  "probability":0})"))
                  .ok());
  ASSERT_TRUE(faults
                  .Add(Rule(R"({"method":"CreateTask","when":"before_commit","action":"fail",
                                  "probability":1})"))
                  .ok());
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(Before(faults, kGet)->value().ok());
    EXPECT_FALSE(Before(faults, kCreate)->value().ok());
  }
}

TEST(Faults, ADelayedCallGoesOnLater) {
  FaultInjector faults(kSeed);
  ASSERT_TRUE(faults
                  .Add(Rule(R"({"method":"*","when":"before_commit","action":"delay",
                                  "duration":"1ms"})"))
                  .ok());
  std::promise<Status> went_on;
  faults.Before({&kCreate, ""}, [&](Status status) { went_on.set_value(std::move(status)); });
  EXPECT_TRUE(went_on.get_future().get().ok());
}

TEST(Faults, ADroppedReplyIsHeldWithoutAnAnswerAndBrokenOffByStop) {
  FaultInjector faults(kSeed);
  ASSERT_TRUE(
      faults.Add(Rule(R"({"method":"*","when":"after_commit","action":"drop_reply"})")).ok());
  const Outcome outcome = After(faults, kCreate);
  EXPECT_FALSE(outcome->has_value());
  EXPECT_EQ(faults.held_count(), 1u);
  faults.Stop();
  EXPECT_EQ(faults.held_count(), 0u);
  EXPECT_TRUE(front::IsDropCall(outcome->value()));
  EXPECT_TRUE(After(faults, kCreate)->value().ok());
}

TEST(Faults, ADroppedReplyWithoutHoldIsBrokenOffAtOnce) {
  FaultInjector faults(kSeed);
  ASSERT_TRUE(faults
                  .Add(Rule(R"({"method":"*","when":"after_commit","action":"drop_reply",
                                  "duration":"0s"})"))
                  .ok());
  EXPECT_TRUE(front::IsDropCall(After(faults, kCreate)->value()));
}

TEST(Faults, CallsHeldBackAreBounded) {
  FaultInjector faults(kSeed);
  ASSERT_TRUE(faults
                  .Add(Rule(fmt::format(
                      R"({{"method":"*","when":"before_commit","action":"delay","duration":"{}"}})",
                      kLong)))
                  .ok());
  for (std::size_t i = 0; i < kCallsHeldMax; ++i) Before(faults, kGet);
  EXPECT_EQ(faults.held_count(), kCallsHeldMax);
  EXPECT_TRUE(absl::IsResourceExhausted(Before(faults, kGet)->value()));
}

TEST(Faults, RemovedRulesHitNoMore) {
  FaultInjector faults(kSeed);
  const FaultRule rule =
      faults.Add(Rule(R"({"method":"*","when":"before_commit","action":"fail"})")).value();
  EXPECT_TRUE(faults.Remove(rule.id).ok());
  EXPECT_TRUE(absl::IsNotFound(faults.Remove(rule.id)));
  EXPECT_TRUE(Before(faults, kGet)->value().ok());
}

TEST(Faults, RulesAreBoundedAndMethodsChecked) {
  FaultInjector faults(kSeed, {"CreateTask", "GetTask"});
  const FaultRule rule = Rule(R"({"method":"*","when":"before_commit","action":"fail"})");
  for (std::size_t i = 0; i < kFaultRulesMax; ++i) ASSERT_TRUE(faults.Add(rule).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(faults.Add(rule).status()));
  EXPECT_EQ(faults.RemoveAll(), kFaultRulesMax);
  const Status status =
      faults.Add(Rule(R"({"method":"CreateTsk","when":"before_commit","action":"fail"})")).status();
  EXPECT_THAT(std::string(Message(status)), HasSubstr("did you mean CreateTask?"));
}

TEST(FaultRule, JsonReadsBackAsTheSameRule) {
  for (const std::string json :
       {R"({"method":"*","when":"before_commit","action":"delay","duration":"2s"})",
        R"({"method":"GetTask","when":"after_commit","action":"drop_reply","count":3})",
        R"({"method":"*","when":"before_commit","action":"fail","code":"INTERNAL",
            "message":"m","probability":0.5})"}) {
    Json shown = FaultRuleToJson(Rule(json));
    const Json given = Json::parse(json);
    for (const auto& [member, value] : given.items()) {
      EXPECT_EQ(shown[member], value) << member;
    }
    shown.erase("id");
    shown.erase("hits");
    EXPECT_EQ(FaultRuleToJson(FaultRuleFromJson(shown).value()), FaultRuleToJson(Rule(json)));
  }
}

TEST(FaultRule, MistakesNameTheMemberAndWhatIsAllowed) {
  const std::string ok = R"("method":"*","when":"before_commit")";
  EXPECT_THAT(Refusal("[]"), HasSubstr("must be a JSON object"));
  EXPECT_THAT(Refusal(R"({"when":"before_commit","action":"fail"})"),
              HasSubstr("method: required"));
  EXPECT_THAT(Refusal("{" + ok + R"(,"action":"explode"})"),
              HasSubstr(R"(action: "explode" is not one of fail, delay, drop_reply)"));
  EXPECT_THAT(Refusal("{" + ok + R"(,"action":"fail","code":"OK"})"), HasSubstr("code: \"OK\""));
  EXPECT_THAT(Refusal("{" + ok + R"(,"action":"fail","duration":"1s"})"),
              HasSubstr("duration: not allowed with action fail"));
  EXPECT_THAT(Refusal("{" + ok + R"(,"action":"delay"})"), HasSubstr("duration: required"));
  EXPECT_THAT(Refusal("{" + ok + R"(,"action":"delay","duration":1})"),
              HasSubstr("duration: must be a string"));
  EXPECT_THAT(Refusal("{" + ok + R"(,"action":"delay","duration":"2h"})"),
              HasSubstr("duration: 2h is outside 0s to 1h"));
  EXPECT_THAT(Refusal("{" + ok + R"(,"action":"fail","probability":1.5})"),
              HasSubstr("probability"));
  EXPECT_THAT(Refusal("{" + ok + R"(,"action":"fail","count":0})"), HasSubstr("count"));
  EXPECT_THAT(Refusal("{" + ok + R"(,"action":"fail","probabilty":1})"),
              HasSubstr("did you mean probability?"));
}

}  // namespace
}  // namespace sluice::admin

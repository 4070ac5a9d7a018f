// SPDX-License-Identifier: Apache-2.0
#include "admin/attempt_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "admin/logging.h"
#include "env/virtual_clock.h"

namespace sluice::admin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kAttempts = 1000;

/// Answers every attempt at once with 200.
class Target final : public engine::Dispatcher {
 public:
  void Start(core::StartAttempt, Finished finished) override {
    finished({core::AttemptOutcome::Kind::kResponse, 200, ""});
  }
};

class AttemptLogTest : public ::testing::Test {
 protected:
  /// Starts an attempt of a queue with this ratio; returns whether its outcome came through.
  bool Start(core::AttemptId id, double ratio, engine::Dispatcher& log) {
    auto body = std::make_shared<core::TaskBody>();
    body->task_id = "t";
    body->request.url = "http://user:secret@h:1/p?token=x";
    core::StartAttempt attempt;
    attempt.id = id;
    attempt.queue = QueueName::Parse("projects/p/locations/l/queues/q").value();
    attempt.task.body = std::move(body);
    attempt.task.progress.dispatch_count = 2;
    attempt.log_sampling_ratio = ratio;
    bool is_finished = false;
    log.Start(std::move(attempt), [&](core::AttemptOutcome) { is_finished = true; });
    return is_finished;
  }

  env::VirtualClock clock_{absl::UnixEpoch()};
  std::vector<std::string> lines_;
  Logger logger_{LogLevel::kInfo, LogFormat::kText, clock_,
                 [this](std::string_view line) { lines_.emplace_back(line); }};
  Target target_;
  env::InlineExecutor inline_;
};

TEST_F(AttemptLogTest, ASampledAttemptIsOneLineWithoutSecrets) {
  AttemptLog log(&target_, &inline_, &logger_);
  EXPECT_TRUE(Start(1, 1, log));
  EXPECT_THAT(lines_, ElementsAre("1970-01-01T00:00:00Z INFO attempt "
                                  "queue=projects/p/locations/l/queues/q task=t attempt=2 "
                                  "url=http://h:1/p outcome=response status=200 message=\"\""));
}

TEST_F(AttemptLogTest, TheRatioDecidesHowManyAreLogged) {
  AttemptLog log(&target_, &inline_, &logger_);
  for (int i = 0; i < kAttempts; ++i) EXPECT_TRUE(Start(static_cast<std::uint64_t>(i), 0, log));
  EXPECT_THAT(lines_, IsEmpty());
  for (int i = 0; i < kAttempts; ++i) EXPECT_TRUE(Start(static_cast<std::uint64_t>(i), 0.25, log));
  EXPECT_GT(lines_.size(), 200u);
  EXPECT_LT(lines_.size(), 300u);
}

TEST_F(AttemptLogTest, LinesThatNobodyTakesAreDroppedAndCounted) {
  env::SteppedExecutor stuck;
  AttemptLog log(&target_, &stuck, &logger_);
  for (int i = 0; i < kAttemptLinesWaitingMax + 3; ++i) EXPECT_TRUE(Start(1, 1, log));
  EXPECT_TRUE(stuck.RunOne());
  EXPECT_THAT(lines_[0], HasSubstr("WARN attempt_lines_dropped count=3"));
}

TEST(UrlForLog, QueryFragmentAndCredentialsAreLeftOut) {
  EXPECT_EQ(UrlForLog("https://h/p?a=b"), "https://h/p");
  EXPECT_EQ(UrlForLog("https://h/p#f"), "https://h/p");
  EXPECT_EQ(UrlForLog("https://u:p@h:8/x@y"), "https://h:8/x@y");
  EXPECT_EQ(UrlForLog("https://u:p@x@h"), "https://h");
  EXPECT_EQ(UrlForLog("h/p"), "h/p");
}

}  // namespace
}  // namespace sluice::admin

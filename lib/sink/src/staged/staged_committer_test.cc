// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/staged/staged_committer.h"

#include <gmock/gmock.h>

#include <thread>

#include "sluice/sink/staged/envelope_codec.h"
#include "staged/testing.h"

namespace sluice::sink {
namespace {

using absl::StatusCode;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using testing::AnEnvelope;
using testing::Fails;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Ok;
using testing::Request;

constexpr std::string_view kAge = "currentCommitOldestTaskAgeMillis";
constexpr std::string_view kBudget = "currentCommitReplayBudgetMillis";
constexpr ExpiredEnvelopePolicy kPolicies[] = {
    ExpiredEnvelopePolicy::kFail, ExpiredEnvelopePolicy::kAssumeCommitted,
    ExpiredEnvelopePolicy::kCreateAnyway, ExpiredEnvelopePolicy::kDrop};

StagedOptions Staged(ExpiredEnvelopePolicy policy) {
  return *StagedOptions::Builder().set_expired_envelope_policy(policy).Build();
}

/// A window of exactly `window`.
StagedOptions Window(milliseconds window, milliseconds timeout = seconds(1)) {
  return *StagedOptions::Builder()
              .set_name_retention(window + timeout)
              .set_clock_skew_allowance(milliseconds(0))
              .set_request_timeout(timeout)
              .Build();
}

class StagedCommitterTest : public ::testing::Test {
 protected:
  void Open(StagedOptions staged = {}, WriterOptions::Builder writer = {}) {
    committer_.reset();
    StagedCommitterConfig config{.queue = testing::Queue(),
                                 .writer = *writer.set_per_destination_metrics(true).Build(),
                                 .staged = staged};
    committer_ = MakeStagedCommitter(
        std::move(config), std::make_unique<testing::FakeCreator>(calls_), Services(world_));
  }
  Request& Add(char id, std::int64_t origin, std::int64_t deadline) {
    return requests_.emplace_back(AnEnvelope(id, origin, deadline));
  }
  Status Commit() {
    std::vector<CommitRequest*> pointers;
    for (Request& request : requests_) pointers.push_back(&request);
    return committer_->Commit(pointers);
  }
  std::string Refusal() {
    const Status status = Commit();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(Message(status)), Not(HasSubstr("secret")));
    return std::string(Message(status));
  }
  std::int64_t Metric(std::string_view name) { return world_.metrics.Sample(name).value_or(0); }
  std::int64_t PerQueue(std::string_view name) {
    return Metric(fmt::format("destination.{}.{}", testing::kQueuePath, name));
  }

  testing::World world_{1500};
  testing::Calls calls_;
  std::deque<Request> requests_;
  std::unique_ptr<SinkCommitter> committer_;
};

TEST_F(StagedCommitterTest, GaugesShowTheMinimaOfTheRunningCommitOnly) {
  Open(Window(milliseconds(1200)));  // tightens the first to 2,100 and the second to 2,200
  Add('a', 900, 5000);
  Add('b', 1000, 2500);
  calls_.answers = {Ok(), Ok()};
  calls_.on_create = [this] {
    const std::int64_t now = absl::ToUnixMillis(world_.wall.Now());
    EXPECT_EQ(Metric(kAge), now - 900);
    EXPECT_EQ(Metric(kBudget), 2100 - now);
    world_.Advance(milliseconds(100));
  };
  EXPECT_EQ(Metric(kAge), -1);
  ASSERT_TRUE(Commit().ok());
  EXPECT_EQ(PerQueue("recordsSend"), 2);
  EXPECT_EQ(Metric(kAge), -1);
  EXPECT_EQ(Metric(kBudget), -1);
}

TEST_F(StagedCommitterTest, ALostAnswerIsSentAgainUnchangedAndRecognized) {
  Open();
  Request& request = Add('a', 1000, 100'000);
  calls_.answers = {Fails(StatusCode::kDeadlineExceeded), Fails(StatusCode::kAlreadyExists)};
  ASSERT_TRUE(Commit().ok());
  ASSERT_EQ(calls_.size(), 2U);
  EXPECT_EQ(calls_.all[0].request, calls_.all[1].request);
  google::cloud::tasks::v2::CreateTaskRequest sent;
  ASSERT_TRUE(sent.ParseFromString(calls_.all[0].request));
  EXPECT_EQ(sent.parent(), testing::kQueuePath);
  EXPECT_EQ(sent.task().SerializeAsString(), request.held.task);
  EXPECT_EQ(request.signals, 1);
  EXPECT_EQ(Metric("tasksDeduplicated"), 1);
  EXPECT_EQ(Metric("errorClass.DEADLINE_EXCEEDED.errors"), 1);
  EXPECT_EQ(PerQueue("recordsSend"), 1);
  EXPECT_EQ(PerQueue("sendErrors"), 0);
  ASSERT_TRUE(committer_->Close().ok());
  ASSERT_TRUE(committer_->Close().ok());
  EXPECT_EQ(calls_.closed, 1);
}

TEST_F(StagedCommitterTest, TheBudgetsAreApart) {
  Open(
      {},
      WriterOptions::Builder().set_recovery_max_attempts(3).set_not_found_recovery_max_attempts(2));
  Request& request = Add('a', 1000, 100'000);
  calls_.answers = {Fails(StatusCode::kUnavailable), Fails(StatusCode::kNotFound),
                    Fails(StatusCode::kResourceExhausted), Fails(StatusCode::kNotFound)};
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("NOT_FOUND"), HasSubstr("transientFailures=2"),
                               HasSubstr("notFoundFailures=2")));
  EXPECT_EQ(calls_.size(), 4U);
  EXPECT_EQ(request.signals, 0);
  EXPECT_EQ(PerQueue("sendErrors"), 1);
}

TEST_F(StagedCommitterTest, AnUnclassifiedFailureAndEveryOtherStatusEndTheCommit) {
  Add('a', 1000, 100'000);
  for (const StatusCode code :
       {StatusCode::kInvalidArgument, StatusCode::kCancelled, StatusCode::kUnknown,
        StatusCode::kPermissionDenied, StatusCode::kUnauthenticated,
        StatusCode::kFailedPrecondition, StatusCode::kAborted, StatusCode::kOutOfRange,
        StatusCode::kUnimplemented, StatusCode::kInternal, StatusCode::kDataLoss}) {
    Open();
    calls_.answers = {Fails(code, "secret")};
    EXPECT_THAT(Refusal(), HasSubstr(StatusCodeName(code)));
  }
  Open();
  calls_.answers = {Failure(std::nullopt, "secret")};
  EXPECT_THAT(Refusal(), HasSubstr("UNCLASSIFIED"));
  EXPECT_EQ(Metric("errorClass.UNCLASSIFIED.errors"), 1);
  Open();
  calls_.answers = {Failure(StatusCode::kUnavailable, "x").WrappedIn("y", StatusCode::kInternal),
                    Ok()};
  EXPECT_TRUE(Commit().ok());
  EXPECT_EQ(requests_.front().signals, 0);
}

TEST_F(StagedCommitterTest, AnEnvelopeAtItsDeadlineIsExpired) {
  Open();
  Add('a', 1000, 2000);
  world_.Advance(milliseconds(500));
  EXPECT_THAT(Refusal(),
              AllOf(HasSubstr("expired"), HasSubstr("origin 1000"), HasSubstr("deadline 2000"),
                    HasSubstr("now 2000"), HasSubstr("expiredEnvelopePolicy")));
  EXPECT_EQ(Metric("expiredEnvelopesFailed"), 1);
  EXPECT_EQ(calls_.size(), 0U);
  EXPECT_EQ(PerQueue("recordsSend"), 0);
  EXPECT_EQ(Metric(kAge), -1);
  EXPECT_EQ(Metric(kBudget), -1);
}

TEST_F(StagedCommitterTest, TheEarlierOfBothDeadlinesHolds) {
  Open(Window(std::chrono::hours(9 * 24)));
  Add('a', 1000, 2000);
  world_.Advance(milliseconds(500));
  EXPECT_THAT(Refusal(), HasSubstr("effective deadline 2000"));
  Open(Window(seconds(2)));
  requests_.clear();
  Add('a', 1000, 100'000);
  world_.Advance(seconds(1));
  EXPECT_THAT(Refusal(), HasSubstr("effective deadline 3000"));
  EXPECT_EQ(calls_.size(), 0U);
}

TEST_F(StagedCommitterTest, RetriedAndQueuedEnvelopesExpireToo) {
  Open();
  Add('a', 1000, 2000);
  calls_.answers = {Fails(StatusCode::kUnavailable)};
  calls_.on_create = [this] { world_.Advance(milliseconds(499)); };
  EXPECT_THAT(Refusal(), HasSubstr("expired"));
  EXPECT_EQ(calls_.size(), 1U);

  Open({}, WriterOptions::Builder().set_max_in_flight_tasks(1));
  requests_.clear();
  Add('b', 1500, 90'000);
  Add('c', 1500, 3000);
  calls_.answers = {Ok()};
  calls_.on_create = [this] { world_.Advance(seconds(2)); };
  EXPECT_THAT(Refusal(), HasSubstr("expired"));
  EXPECT_EQ(calls_.size(), 2U);
}

TEST_F(StagedCommitterTest, EachPolicyDoesWhatItSaysAndCountsItself) {
  const std::pair<ExpiredEnvelopePolicy, std::string_view> counters[] = {
      {ExpiredEnvelopePolicy::kFail, "expiredEnvelopesFailed"},
      {ExpiredEnvelopePolicy::kAssumeCommitted, "expiredEnvelopesAssumedCommitted"},
      {ExpiredEnvelopePolicy::kCreateAnyway, "expiredEnvelopeCreatesAuthorized"},
      {ExpiredEnvelopePolicy::kDrop, "expiredEnvelopesDropped"}};
  std::size_t decided = 0;
  for (const auto& [policy, counter] : counters) {
    Open(Staged(policy));
    requests_.clear();
    Request& request = Add('a', 100, 200);
    calls_.answers = {Ok()};
    const std::size_t before = calls_.size();
    EXPECT_EQ(Commit().ok(), policy != ExpiredEnvelopePolicy::kFail);
    EXPECT_EQ(calls_.size() - before, policy == ExpiredEnvelopePolicy::kCreateAnyway ? 1U : 0U);
    EXPECT_EQ(request.signals, policy == ExpiredEnvelopePolicy::kAssumeCommitted ? 1 : 0);
    ++decided;
    EXPECT_EQ(Metric(counter), 1);
    std::int64_t all = 0;
    for (const auto& [other, name] : counters) all += Metric(name);
    EXPECT_EQ(all, decided);
  }
  EXPECT_EQ(Metric("tasksDeduplicated"), 0);
}

TEST_F(StagedCommitterTest, AuthorizedCreatesAreCountedByAttempt) {
  Open(Staged(ExpiredEnvelopePolicy::kCreateAnyway));
  Add('a', 1000, 100'000);
  Add('b', 1000, 1200);
  calls_.answers = {Ok(), Fails(StatusCode::kUnavailable), Ok()};
  ASSERT_TRUE(Commit().ok());
  EXPECT_EQ(calls_.size(), 3U);
  EXPECT_EQ(Metric("expiredEnvelopeCreatesAuthorized"), 2);
}

TEST_F(StagedCommitterTest, NoPolicyCoversAForeignQueueCorruptBytesOrAnUnknownDeadline) {
  for (const ExpiredEnvelopePolicy policy : kPolicies) {
    Open(Staged(policy));
    requests_.clear();
    Add('a', 100, 200);
    Request& bad = Add('b', 100, 200);
    bad.held.queue = *QueueDestination::Of("my-project", "asia-northeast1", "other");
    EXPECT_THAT(Refusal(), HasSubstr("original fixed destination"));
    EXPECT_EQ(requests_.front().signals, 0);

    requests_.clear();
    Add('a', 100, 0);
    EXPECT_THAT(Refusal(), HasSubstr("unknown deadline"));

    requests_.clear();
    Add('a', 100, 200).held.task = "\xff\xff\xff";
    EXPECT_EQ(Commit().code(), StatusCode::kDataLoss);
    EXPECT_EQ(requests_.front().signals, 0);
  }
  EXPECT_EQ(calls_.size(), 0U);
}

TEST_F(StagedCommitterTest, NotMoreThanTheBoundAreActive) {
  Open({}, WriterOptions::Builder().set_max_in_flight_tasks(2));
  for (const char id : {'a', 'b', 'c'}) Add(id, 1000, 100'000);
  int waits = 0;
  world_.on_idle = [&] {
    ++waits;
    if (waits == 1) {
      EXPECT_EQ(calls_.size(), 2U);
      calls_.Answer(0, Ok());
    } else {
      EXPECT_EQ(calls_.size(), 3U);
      calls_.Answer(1, Ok());
      calls_.Answer(2, Ok());
    }
  };
  ASSERT_TRUE(Commit().ok());
  EXPECT_EQ(waits, 2);
}

TEST_F(StagedCommitterTest, CloseDuringACommitFailsItAndCancelsItsCalls) {
  Open({}, WriterOptions::Builder().set_max_in_flight_tasks(1));
  Add('a', 1000, 100'000);
  Add('b', 1000, 100'000);
  world_.on_idle = [&] {
    EXPECT_TRUE(committer_->Close().ok());
    EXPECT_FALSE(committer_->Commit({}).ok());
  };
  EXPECT_THAT(Refusal(), HasSubstr("closed"));
  EXPECT_EQ(calls_.size(), 1U);
  EXPECT_EQ(calls_.all[0].cancelled, 1);
  ASSERT_TRUE(committer_->Close().ok());
  EXPECT_EQ(calls_.closed, 1);
  // The service accepted it after all: nothing follows from that.
  calls_.Answer(0, Fails(StatusCode::kAlreadyExists));
  while (world_.RunOneUntil(env::MonotonicTime::min())) {
  }
  EXPECT_EQ(calls_.size(), 1U);
  EXPECT_EQ(Metric("tasksDeduplicated"), 0);
  EXPECT_THAT(std::string(Message(Commit())), HasSubstr("closed"));
}

TEST_F(StagedCommitterTest, CloseFromAnotherThreadWakesARealMailbox) {
  HostServices host = Services(world_);
  host.mailbox = std::make_shared<ThreadMailbox>();
  std::unique_ptr<SinkCommitter> committer =
      MakeStagedCommitter({.queue = testing::Queue(), .writer = {}, .staged = {}},
                          std::make_unique<testing::FakeCreator>(calls_), host);
  Request request(AnEnvelope('a', 1000, 100'000));
  std::thread closer;
  calls_.on_create = [&] { closer = std::thread([&] { EXPECT_TRUE(committer->Close().ok()); }); };
  const Status status = committer->Commit({&request});
  closer.join();
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  EXPECT_EQ(calls_.closed, 1);
}

TEST_F(StagedCommitterTest, ACallWithoutAnswerEndsAtItsOwnDeadline) {
  Open(*StagedOptions::Builder().set_request_timeout(milliseconds(200)).Build());
  Request& request = Add('a', 1000, 100'000);
  const env::MonotonicTime start = world_.mono.now;
  world_.on_idle = [&] {
    if (calls_.size() == 2) {
      calls_.Answer(0, Fails(StatusCode::kInternal));  // the late word of the first call
      calls_.Answer(1, Ok());
    }
  };
  ASSERT_TRUE(Commit().ok());
  ASSERT_EQ(calls_.size(), 2U);
  EXPECT_EQ(calls_.all[0].deadline, start + milliseconds(200));
  EXPECT_EQ(calls_.all[0].cancelled, 1);
  EXPECT_EQ(request.signals, 0);
  EXPECT_EQ(Metric("errorClass.DEADLINE_EXCEEDED.errors"), 1);
  EXPECT_EQ(world_.metrics.Sample("errorClass.INTERNAL.errors"), std::nullopt);
}

TEST_F(StagedCommitterTest, BudgetsStartAnewWithEachCommit) {
  Open({}, WriterOptions::Builder().set_recovery_max_attempts(2));
  Add('a', 1000, 3'000'000);
  for (int round = 0; round < 3; ++round) {
    calls_.answers = {Fails(StatusCode::kUnavailable), Ok()};
    EXPECT_TRUE(Commit().ok());
  }
}

struct Reader : QueueRetentionReader {
  std::variant<std::optional<Duration>, Failure> ReadTombstoneTtl(const QueueDestination&,
                                                                  Duration limit) override {
    EXPECT_EQ(limit, absl::Seconds(20));
    ++*reads;
    return answer;
  }
  Status Close() override {
    ++*closes;
    return {};
  }
  std::variant<std::optional<Duration>, Failure> answer = std::optional<Duration>();
  int* reads = nullptr;
  int* closes = nullptr;
};

class RetentionTest : public ::testing::Test {
 protected:
  Status Open(std::variant<std::optional<Duration>, Failure> answer, StagedOptions staged = {},
              bool emulator = false) {
    RetentionReaderFactory reader = [&]() -> StatusOr<std::unique_ptr<QueueRetentionReader>> {
      auto made = std::make_unique<Reader>();
      made->answer = answer;
      made->reads = &reads_;
      made->closes = &reader_closes_;
      return made;
    };
    const auto creator = [&]() -> StatusOr<std::unique_ptr<TaskCreator>> {
      ++creators_;
      return std::make_unique<testing::FakeCreator>(calls_);
    };
    auto made = OpenStagedCommitter({.queue = testing::Queue(), .writer = {}, .staged = staged},
                                    emulator ? nullptr : reader, creator, Services(world_));
    return made.ok() ? (*made)->Close() : made.status();
  }

  testing::World world_{1500};
  testing::Calls calls_;
  int reads_ = 0;
  int reader_closes_ = 0;
  int creators_ = 0;
};

TEST_F(RetentionTest, AShorterRetentionOrAFailedReadOpensNothing) {
  for (const ExpiredEnvelopePolicy policy : kPolicies) {
    const Status shorter = Open(absl::Minutes(59), Staged(policy));
    EXPECT_THAT(std::string(Message(shorter)), HasSubstr("tombstoneTtl is shorter"));
    const Status failed = Open(Failure(StatusCode::kPermissionDenied, "secret"), Staged(policy));
    EXPECT_EQ(failed.code(), StatusCode::kPermissionDenied);
    EXPECT_THAT(std::string(Message(failed)),
                AllOf(HasSubstr("PERMISSION_DENIED"), Not(HasSubstr("secret"))));
  }
  EXPECT_THAT(std::string(Message(Open(Failure(std::nullopt, "secret")))),
              HasSubstr("UNCLASSIFIED"));
  EXPECT_THAT(std::string(Message(Open(absl::Hours(1) - absl::Microseconds(1)))),
              HasSubstr("shorter"));
  EXPECT_EQ(reads_, 10);
  EXPECT_EQ(reader_closes_, 10);
  EXPECT_EQ(creators_, 0);
}

TEST_F(RetentionTest, EnoughRetentionIsReadOnceAndSometimesNotAsked) {
  EXPECT_TRUE(Open(absl::Hours(1)).ok());
  EXPECT_EQ(std::tie(reads_, reader_closes_, creators_, calls_.closed), std::tuple(1, 1, 1, 1));
  EXPECT_TRUE(Open(std::optional<Duration>()).ok());  // absent: the published hour
  EXPECT_EQ(reads_, 2);
  const Failure failure(StatusCode::kUnavailable, "");
  EXPECT_TRUE(Open(failure, {}, true).ok());
  EXPECT_TRUE(
      Open(failure, *StagedOptions::Builder().set_verify_queue_retention(false).Build()).ok());
  EXPECT_EQ(reads_, 2);
  EXPECT_EQ(creators_, 4);
  EXPECT_EQ(calls_.closed, 4);
}

}  // namespace
}  // namespace sluice::sink

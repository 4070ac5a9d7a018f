// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/staged/envelope_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/crc32c.h"
#include "google/cloud/tasks/v2/task.pb.h"
#include "sluice/sink/staged/task_check.h"

namespace sluice::sink {
namespace {

namespace pb = google::cloud::tasks::v2;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kQueue = "projects/my-project/locations/asia-northeast1/queues/webhooks";
const std::string kId(32, 'a');

pb::Task ATask() {
  pb::Task task;
  task.set_name(std::string(kQueue) + "/tasks/" + kId);
  task.mutable_http_request()->set_url("https://secret.example/x");
  task.mutable_http_request()->set_http_method(pb::POST);
  task.mutable_http_request()->set_body("secret-body");
  (*task.mutable_http_request()->mutable_headers())["X-Secret"] = "secret-header";
  return task;
}

Envelope Make(std::string task) {
  return {.queue = *QueueDestination::Parse(kQueue),
          .origin_millis = 1000,
          .deadline_millis = 5000,
          .task = std::move(task)};
}

bool Same(const Envelope& a, const Envelope& b) {
  return a.queue == b.queue && a.origin_millis == b.origin_millis &&
         a.deadline_millis == b.deadline_millis && a.task == b.task;
}

std::string BigEndian(std::uint64_t v, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(v >> (8 * i)));
  return out;
}

/// A frame with a valid checksum whose lengths may lie.
std::string Frame(std::string_view queue, std::string_view task, std::uint32_t queue_length,
                  std::uint32_t task_length, std::uint32_t magic = 0x43545345,
                  std::int64_t origin = 1000, std::int64_t deadline = 5000) {
  std::string frame = BigEndian(magic, 4) + BigEndian(queue_length, 4) + std::string(queue) +
                      BigEndian(static_cast<std::uint64_t>(origin), 8) +
                      BigEndian(static_cast<std::uint64_t>(deadline), 8) +
                      BigEndian(task_length, 4) + std::string(task);
  return frame + BigEndian(Crc32c(frame), 4);
}

std::string Refusal(std::string_view frame, int version = 1) {
  const StatusOr<Envelope> decoded = DecodeEnvelope(version, frame);
  EXPECT_EQ(decoded.status().code(), absl::StatusCode::kDataLoss);
  return std::string(Message(decoded.status()));
}

std::string Encoded(const Envelope& envelope) {
  const StatusOr<std::string> frame = EncodeEnvelope(envelope);
  EXPECT_TRUE(frame.ok()) << frame.status();
  return frame.ok() ? *frame : "";
}

TEST(EnvelopeTest, KeepsUnknownFieldsAndItsOwnCopy) {
  std::string bytes = ATask().SerializeAsString();
  bytes += std::string("\xfa\x3f\x03zzz", 6);  // field 1023, which no Task has
  const Envelope before = Make(bytes);
  std::string frame = Encoded(before);
  const StatusOr<Envelope> after = DecodeEnvelope(1, frame);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(Encoded(*after), frame);
  frame.assign(frame.size(), 'x');
  EXPECT_TRUE(Same(*after, before));
  EXPECT_EQ(HashOf(*after), HashOf(before));
  EXPECT_EQ(after->task, bytes);
  EXPECT_TRUE(CheckStagedTask(kQueue, after->task).ok());
  EXPECT_THAT(ToString(*after), AllOf(Not(HasSubstr("secret")), Not(HasSubstr("my-project"))));
}

TEST(EnvelopeTest, FrameIsMagicQueueOriginDeadlineTaskChecksum) {
  const std::string task = ATask().SerializeAsString();
  const std::string frame = Encoded(Make(task));
  EXPECT_EQ(frame, Frame(kQueue, task, kQueue.size(), static_cast<std::uint32_t>(task.size())));
  EXPECT_EQ(frame.size(), 32 + kQueue.size() + task.size());
  EXPECT_EQ(kEnvelopeVersion, 1);
}

TEST(EnvelopeTest, TokensSurviveByteForByte) {
  pb::Task oidc = ATask();
  oidc.mutable_http_request()->mutable_oidc_token()->set_service_account_email("a@b");
  oidc.mutable_http_request()->mutable_oidc_token()->set_audience("aud");
  pb::Task oauth = ATask();
  oauth.mutable_http_request()->mutable_oauth_token()->set_service_account_email("a@b");
  oauth.mutable_http_request()->mutable_oauth_token()->set_scope("scope");
  for (const pb::Task& task : {oidc, oauth}) {
    const std::string bytes = task.SerializeAsString();
    EXPECT_EQ(DecodeEnvelope(1, Encoded(Make(bytes)))->task, bytes);
    EXPECT_TRUE(CheckStagedTask(kQueue, bytes).ok());
  }
}

TEST(EnvelopeTest, OtherVersionAndMagicAreNamed) {
  const std::string frame = Encoded(Make("t"));
  EXPECT_THAT(Refusal(frame, 2), AllOf(HasSubstr("version 2"), HasSubstr("version 1")));
  EXPECT_THAT(Refusal(Frame(kQueue, "t", kQueue.size(), 1, 0x43545346)), HasSubstr("magic"));
}

TEST(EnvelopeTest, EveryTruncationAndEveryFlippedBitIsRefused) {
  const std::string frame = Encoded(Make(ATask().SerializeAsString()));
  for (std::size_t length = 0; length < frame.size(); ++length) {
    Refusal(std::string_view(frame).substr(0, length));
  }
  for (std::size_t at = 0; at < frame.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = frame;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      Refusal(flipped);
    }
  }
}

TEST(EnvelopeTest, LengthsOutOfRangeAreNamed) {
  for (const std::uint32_t length : {0x80000000U, 0xffffffffU, 0U, 100'001U, 0x7fffffffU}) {
    EXPECT_THAT(Refusal(Frame(kQueue, "t", length, 1)), HasSubstr("queue length")) << length;
    EXPECT_THAT(Refusal(Frame(kQueue, "t", kQueue.size(), length)), HasSubstr("task length"))
        << length;
  }
}

TEST(EnvelopeTest, FrameSizeHasBounds) {
  EXPECT_THAT(Refusal(std::string(200'033, 'x')), HasSubstr("frame size"));
  EXPECT_THAT(Refusal(std::string(31, 'x')), HasSubstr("frame size"));
  const StatusOr<Envelope> none = DecodeEnvelope(1, std::nullopt);
  EXPECT_THAT(std::string(Message(none.status())), HasSubstr("frame size"));
}

TEST(EnvelopeTest, ContentsAreCheckedUnderAValidChecksum) {
  const auto n = static_cast<std::uint32_t>(kQueue.size());
  EXPECT_THAT(Refusal(Frame(kQueue, "tx", n, 1)), HasSubstr("trailing bytes"));
  EXPECT_THAT(Refusal(Frame("\xff", "t", 1, 1)), HasSubstr("encoding"));
  EXPECT_THAT(Refusal(Frame("\xed\xa0\x80", "t", 3, 1)), HasSubstr("encoding"));  // a surrogate
  EXPECT_THAT(Refusal(Frame(kQueue, "t", n, 1, 0x43545345, 1000, 1000)), HasSubstr("deadline"));
  for (const std::string path :
       {"queue", "projects/p/locations/l/queues/", "projects//locations/l/queues/q",
        "projects/p/locations/ l/queues/q", "projects/p/locations/l/queues/q/tasks/t"}) {
    const auto length = static_cast<std::uint32_t>(path.size());
    EXPECT_THAT(Refusal(Frame(path, "t", length, 1)), HasSubstr("queue path")) << path;
  }
}

TEST(EnvelopeTest, TaskMayHaveAHundredThousandBytesAndNotOneMore) {
  const Envelope largest = Make(std::string(100'000, 't'));
  EXPECT_TRUE(Same(*DecodeEnvelope(1, Encoded(largest)), largest));
  const Status refused = EncodeEnvelope(Make(std::string(100'001, 't'))).status();
  EXPECT_THAT(std::string(Message(refused)), HasSubstr("100000"));
}

TEST(EnvelopeTest, NamesThisSinkDidNotGiveAreRefusedWithoutEcho) {
  const std::string parent = std::string(kQueue) + "/tasks/";
  for (const std::string& name :
       {std::string(), parent + std::string(32, 'g'), parent + std::string(32, 'A'),
        parent + std::string(31, 'a'), "projects/other/locations/l/queues/q/tasks/" + kId}) {
    pb::Task task = ATask();
    task.set_name(name);
    const Status refused = CheckStagedTask(kQueue, task.SerializeAsString());
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(Message(refused)),
                AllOf(HasSubstr("name"), Not(HasSubstr("other")), Not(HasSubstr("gggg"))));
  }
  EXPECT_THAT(std::string(Message(CheckStagedTask(kQueue, "\xff\xff\xff"))), HasSubstr("encoding"));
}

TEST(EnvelopeTest, TargetConstraintsAreCheckedWithoutEcho) {
  const auto refused = [](auto change) {
    pb::Task task = ATask();
    change(task);
    const Status status = CheckStagedTask(kQueue, task.SerializeAsString());
    EXPECT_THAT(std::string(Message(status)),
                AllOf(HasSubstr("target constraints"), Not(HasSubstr("secret"))));
  };
  refused([](pb::Task& t) { t.mutable_http_request()->set_url("ftp://secret"); });
  refused([](pb::Task& t) { t.mutable_http_request()->set_http_method(pb::GET); });
  refused([](pb::Task& t) { t.mutable_http_request()->clear_http_method(); });
  refused([](pb::Task& t) { t.clear_http_request(); });
  refused([](pb::Task& t) { t.mutable_http_request()->mutable_oidc_token(); });
  refused([](pb::Task& t) {
    t.mutable_http_request()->mutable_oauth_token()->set_service_account_email("  ");
  });
  for (const std::string uri :
       {"secret", "//secret/x", "/se cret", "/secret#f", "/secret%2", "/secret%zz"}) {
    refused([&uri](pb::Task& t) {
      t.mutable_app_engine_http_request()->set_http_method(pb::POST);
      t.mutable_app_engine_http_request()->set_relative_uri(uri);
    });
  }
  refused([](pb::Task& t) {
    t.mutable_app_engine_http_request()->set_http_method(pb::PATCH);
    t.mutable_app_engine_http_request()->set_body("secret");
  });
  refused([](pb::Task& t) {
    t.mutable_app_engine_http_request()->set_http_method(pb::PUT);
    t.mutable_app_engine_http_request()->mutable_app_engine_routing()->set_host("secret");
  });
  refused([](pb::Task& t) {
    t.mutable_app_engine_http_request()->set_http_method(pb::PUT);
    (*t.mutable_app_engine_http_request()->mutable_headers())[" X-AppEngine-secret"] = "v";
  });
  pb::Task fine = ATask();
  fine.mutable_app_engine_http_request()->set_http_method(pb::PUT);
  fine.mutable_app_engine_http_request()->set_relative_uri("/a%20b?c=d");
  fine.mutable_app_engine_http_request()->set_body("b");
  EXPECT_TRUE(CheckStagedTask(kQueue, fine.SerializeAsString()).ok());
}

TEST(ReplaySnapshotTest, MinimaClampAndSaturate) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  ReplaySnapshot snapshot;
  EXPECT_EQ(snapshot.OldestAgeMillis(2000), -1);
  EXPECT_EQ(snapshot.RemainingMillis(2000), -1);
  snapshot.Add(1000, 5000);
  snapshot.Add(900, 6000);
  snapshot.Add(1200, 4000);
  EXPECT_EQ(snapshot.OldestAgeMillis(2000), 1100);
  EXPECT_EQ(snapshot.RemainingMillis(2000), 2000);
  EXPECT_EQ(snapshot.RemainingMillis(4000), 0);
  EXPECT_EQ(snapshot.RemainingMillis(4001), 0);
  EXPECT_EQ(snapshot.OldestAgeMillis(800), 0);
  snapshot.Add(-kMax, kMax);
  EXPECT_EQ(snapshot.OldestAgeMillis(kMax), kMax);
  ReplaySnapshot late;
  late.Add(0, kMax);
  EXPECT_EQ(late.RemainingMillis(-kMax), kMax);
}

TEST(DeadlineTest, TheEarlierOfPromiseAndOptionsCounts) {
  const auto window = [](std::int64_t millis) {
    return *StagedOptions::Builder()
                .set_clock_skew_allowance({})
                .set_request_timeout(std::chrono::milliseconds(1))
                .set_name_retention(std::chrono::milliseconds(millis + 1))
                .Build();
  };
  Envelope envelope = Make("t");
  EXPECT_EQ(*EffectiveDeadline(envelope, window(100'000)), 5000);
  EXPECT_EQ(*EffectiveDeadline(envelope, window(1500)), 2500);
  envelope.origin_millis = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(EffectiveDeadline(envelope, window(1)).ok());
}

}  // namespace
}  // namespace sluice::sink

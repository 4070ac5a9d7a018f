// SPDX-License-Identifier: Apache-2.0
// Proves that every record reads back as written, that each truncation and an
// unknown version are refused, and that no flipped byte crashes a decoder.
#include "engine/records.h"

#include <gtest/gtest.h>

#include <functional>

namespace sluice::engine {
namespace {

const Time kTime = absl::FromUnixMicros(1'800'000'000'123'456);

core::RetryConfig SomeRetry() {
  return {-1, absl::Seconds(60), absl::Milliseconds(300), absl::Seconds(9), 3};
}

core::Queue SomeQueue() {
  core::Queue q;
  q.name = {{"example.com:p", "l"}, "q-1"};
  q.incarnation = 77;
  q.state = core::QueueState::kPaused;
  q.config.rate = {0.25, 10, 3};
  q.config.retry = SomeRetry();
  q.config.log_sampling_ratio = 0.5;
  q.config.task_ttl = absl::Hours(240);
  q.config.tombstone_ttl = absl::Hours(2);
  q.purge_time = kTime;
  q.purged_through = 12;
  q.policy = {"any bytes", 3};
  core::QueueTargets::Settings targets;
  targets.http.uri = {
      core::UriScheme::kHttp, "b.example", 8080, "/y", "", core::UriEnforceMode::kIfNotExists};
  targets.http.method = core::HttpMethod::kGet;
  targets.http.headers = {{"X-A", "1"}, {"x-b", ""}};
  targets.http.token = core::OidcToken{"a@b", "aud"};
  targets.app_engine = {"s", "v", "i", "i.v.s.p.l.r.appspot.com"};
  q.config.targets = core::QueueTargets(std::move(targets));
  return q;
}

core::TaskBody SomeBody() {
  core::TaskBody b;
  b.sequence = 5;
  b.task_id = "order-1";
  b.create_time = kTime;
  b.schedule_time = kTime + absl::Hours(1);
  b.dispatch_deadline = absl::Seconds(15);
  b.request = {core::HttpMethod::kPut, "http://a/%20", {{"X-A", "1"}, {"x-b", ""}}, "body\0x"};
  b.request.app_engine = core::AppEngineRouting{"s", "v", "i", "h"};
  b.request.token = core::OAuthToken{"a@b", "scope"};
  b.retry = SomeRetry();
  return b;
}

core::TaskProgress SomeProgress() {
  core::TaskProgress p;
  p.schedule_time = kTime;
  p.dispatch_count = 3;
  p.response_count = 2;
  p.execution_count = 1;
  p.previous_response = 503;
  p.first_dispatch_time = kTime - absl::Seconds(9);
  p.last_attempt = core::Attempt{kTime, kTime, kTime + absl::Seconds(1), {14, "HTTP 503"}};
  p.past = {{kTime - absl::Seconds(9), kTime - absl::Seconds(8), 500, 13}, {kTime, kTime, 0, 14}};
  return p;
}

struct Sample {
  const char* name;
  std::string bytes;
  std::function<Status(std::string_view)> decode;
};

std::vector<Sample> Samples() {
  const auto status = [](auto decoder) {
    return [decoder](std::string_view v) { return decoder(v).status(); };
  };
  return {
      {"meta", EncodeMeta({9, {kTime, 2, 3, kTime, 4, 5}}), status(DecodeMeta)},
      {"queue", EncodeQueue(SomeQueue()), status(DecodeQueue)},
      {"body", EncodeBody(SomeBody()),
       [](std::string_view v) { return DecodeBody(5, v).status(); }},
      {"progress", EncodeProgress(SomeProgress()), status(DecodeProgress)},
      {"dead letter",
       EncodeDeadLetter({kTime, {std::make_shared<core::TaskBody>(SomeBody()), SomeProgress()}}),
       [](std::string_view v) { return DecodeDeadLetter(5, v).status(); }},
      {"head of a dead letter", EncodeDeadLetterHead({kTime, 9, 503}),
       status(DecodeDeadLetterHead)},
      {"name", EncodeNameEntry({4, kTime}), status(DecodeNameEntry)},
      {"counters", EncodeCounters({4, 5, kTime, 6}), status(DecodeCounters)},
      {"reservation", EncodeReservation(kTime), status(DecodeReservation)},
  };
}

TEST(Records, QueuesReadBackAsWritten) {
  const auto q = DecodeQueue(EncodeQueue(SomeQueue()));
  ASSERT_TRUE(q.ok());
  EXPECT_EQ(q->name, SomeQueue().name);
  EXPECT_EQ(q->incarnation, 77u);
  EXPECT_EQ(q->state, core::QueueState::kPaused);
  EXPECT_EQ(q->config, SomeQueue().config);
  EXPECT_EQ(q->purge_time, kTime);
  EXPECT_EQ(q->policy, (core::AccessPolicy{"any bytes", 3}));
  EXPECT_EQ(q->purged_through, 12u);
}

TEST(Records, BodiesReadBackAsWritten) {
  const core::TaskBody want = SomeBody();
  const auto b = DecodeBody(5, EncodeBody(want));
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(b->sequence, 5u);
  EXPECT_EQ(b->task_id, want.task_id);
  EXPECT_EQ(b->create_time, want.create_time);
  EXPECT_EQ(b->schedule_time, want.schedule_time);
  EXPECT_EQ(b->dispatch_deadline, want.dispatch_deadline);
  EXPECT_EQ(b->request, want.request);
  EXPECT_EQ(b->retry, want.retry);
  EXPECT_FALSE(b->is_generated_id);
}

TEST(Records, DeadLettersReadBackAsWritten) {
  const core::DeadLetter letter{kTime,
                                {std::make_shared<core::TaskBody>(SomeBody()), SomeProgress()}};
  const auto read = DecodeDeadLetter(SomeBody().sequence, EncodeDeadLetter(letter));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->end_time, kTime);
  EXPECT_EQ(EncodeBody(*read->task.body), EncodeBody(SomeBody()));
  EXPECT_EQ(read->task.body->sequence, SomeBody().sequence);
  EXPECT_EQ(read->task.progress, SomeProgress());
  const core::DeadLetterHead head{kTime, 9, 503};
  EXPECT_EQ(*DecodeDeadLetterHead(EncodeDeadLetterHead(head)), head);
}

TEST(Records, ProgressNamesAndCountersReadBackAsWritten) {
  EXPECT_EQ(*DecodeProgress(EncodeProgress(SomeProgress())), SomeProgress());
  EXPECT_EQ(*DecodeProgress(EncodeProgress({})), core::TaskProgress{});
  EXPECT_EQ(*DecodeNameEntry(EncodeNameEntry({4, std::nullopt})),
            (core::NameEntry{4, std::nullopt}));
  EXPECT_EQ(*DecodeNameEntry(EncodeNameEntry({0, kTime})), (core::NameEntry{0, kTime}));
  EXPECT_EQ(*DecodeCounters(EncodeCounters({4, 5, kTime, 6})),
            (core::QueueCounters{4, 5, kTime, 6}));
}

TEST(Records, AFrameHoldsItsCheckpointAndItsChanges) {
  const std::string payload = EncodeFrame({kTime, 2, 3, kTime, 4, 5}, "changes");
  const auto frame = DecodeFrame(payload);
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(frame->checkpoint.next_sequence, 3u);
  EXPECT_EQ(frame->checkpoint.epoch, 5u);
  EXPECT_EQ(frame->batch_bytes, "changes");
}

TEST(Records, EveryTruncationIsRefused) {
  for (const Sample& sample : Samples()) {
    for (std::size_t n = 0; n < sample.bytes.size(); ++n) {
      EXPECT_TRUE(absl::IsDataLoss(sample.decode(sample.bytes.substr(0, n))))
          << sample.name << " cut at " << n;
    }
    EXPECT_TRUE(absl::IsDataLoss(sample.decode(sample.bytes + "x"))) << sample.name;
  }
}

TEST(Records, AnUnknownVersionIsRefusedByName) {
  for (Sample& sample : Samples()) {
    sample.bytes[0] = 9;
    EXPECT_TRUE(absl::IsFailedPrecondition(sample.decode(sample.bytes))) << sample.name;
  }
}

TEST(Records, NoFlippedBitCrashesADecoder) {
  for (const Sample& sample : Samples()) {
    for (std::size_t bit = 0; bit < sample.bytes.size() * 8; ++bit) {
      std::string bytes = sample.bytes;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
      IgnoreError(sample.decode(bytes), "only a crash or a sanitizer finding counts");
    }
  }
}

}  // namespace
}  // namespace sluice::engine

// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/queue_codec.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>
#include <string>

#include "google/protobuf/text_format.h"

namespace sluice::front {
namespace {

namespace v2 = google::cloud::tasks::v2;

v2::Queue QueueOf(const std::string& text) {
  v2::Queue queue;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &queue)) << text;
  return queue;
}

FieldSelection Select(std::initializer_list<std::string> paths) {
  google::protobuf::FieldMask mask;
  for (const std::string& path : paths) mask.add_paths(path);
  return FieldSelection::Resolve(mask, *v2::Queue::descriptor(), "update_mask").value();
}

TEST(QueueCodec, UnsetFieldsGetTheDefaultsOfTheService) {
  const core::QueuePatch patch = DecodeQueueSettings(v2::Queue(), {}).value();
  EXPECT_EQ(patch.max_dispatches_per_second, 500);
  EXPECT_EQ(patch.max_concurrent_dispatches, 1000);
  EXPECT_EQ(patch.max_attempts, 100);
  EXPECT_EQ(patch.max_retry_duration, absl::ZeroDuration());
  EXPECT_EQ(patch.min_backoff, absl::Milliseconds(100));
  EXPECT_EQ(patch.max_backoff, absl::Hours(1));
  EXPECT_EQ(patch.max_doublings, 16);
  EXPECT_EQ(patch.log_sampling_ratio, 0);
  // v2 neither sets the burst nor knows the life times.
  EXPECT_FALSE(patch.max_burst_size.has_value());
  EXPECT_FALSE(patch.task_ttl.has_value());
  EXPECT_FALSE(patch.tombstone_ttl.has_value());
}

TEST(QueueCodec, EverySettingIsTaken) {
  const core::QueuePatch patch =
      DecodeQueueSettings(QueueOf(R"pb(
                            rate_limits {
                              max_dispatches_per_second: 0.25
                              max_burst_size: -1
                              max_concurrent_dispatches: 7
                            }
                            retry_config {
                              max_attempts: -1
                              max_retry_duration { seconds: 60 nanos: 999999999 }
                              min_backoff { nanos: 300000999 }
                              max_backoff { seconds: 10 nanos: 1000 }
                              max_doublings: 3
                            }
                            stackdriver_logging_config { sampling_ratio: 0.5 }
                            state: DISABLED
                            purge_time { seconds: 5 }
                          )pb"),
                          {})
          .value();
  EXPECT_EQ(patch.max_dispatches_per_second, 0.25);
  EXPECT_FALSE(patch.max_burst_size.has_value());
  EXPECT_EQ(patch.max_concurrent_dispatches, 7);
  EXPECT_EQ(patch.max_attempts, -1);
  EXPECT_EQ(patch.max_retry_duration, absl::Seconds(60));     // whole seconds
  EXPECT_EQ(patch.min_backoff, absl::Microseconds(300'000));  // whole microseconds
  EXPECT_EQ(patch.max_backoff, absl::Microseconds(10'000'001));
  EXPECT_EQ(patch.max_doublings, 3);
  EXPECT_EQ(patch.log_sampling_ratio, 0.5);
}

TEST(QueueCodec, OnlySelectedFieldsAreTaken) {
  const v2::Queue queue = QueueOf(R"pb(
    rate_limits { max_dispatches_per_second: 10 max_concurrent_dispatches: 5 }
    retry_config { max_attempts: 5 max_doublings: 2 }
    stackdriver_logging_config { sampling_ratio: 1 }
  )pb");
  core::QueuePatch patch =
      DecodeQueueSettings(queue, Select({"rate_limits.max_dispatches_per_second"})).value();
  EXPECT_EQ(patch.max_dispatches_per_second, 10);
  EXPECT_FALSE(patch.max_concurrent_dispatches.has_value());
  EXPECT_FALSE(patch.max_attempts.has_value());
  EXPECT_FALSE(patch.log_sampling_ratio.has_value());

  patch = DecodeQueueSettings(queue, Select({"retry_config"})).value();
  EXPECT_FALSE(patch.max_dispatches_per_second.has_value());
  EXPECT_EQ(patch.max_attempts, 5);
  EXPECT_EQ(patch.max_doublings, 2);
  EXPECT_EQ(patch.min_backoff, absl::Milliseconds(100));  // the parent replaces: back to default
}

TEST(QueueCodec, ASelectedLeafWithoutValueReturnsToItsDefault) {
  const core::QueuePatch patch =
      DecodeQueueSettings(v2::Queue(),
                          Select({"retryConfig.maxAttempts", "retryConfig.maxBackoff"}))
          .value();
  EXPECT_EQ(patch.max_attempts, 100);
  EXPECT_EQ(patch.max_backoff, absl::Hours(1));
  EXPECT_FALSE(patch.min_backoff.has_value());
}

TEST(QueueCodec, OutputOnlyPathsSelectNothing) {
  const v2::Queue queue = QueueOf(
      "name: 'x' state: PAUSED rate_limits { max_burst_size: 7 } retry_config { max_attempts: 3 }");
  const core::QueuePatch patch =
      DecodeQueueSettings(queue,
                          Select({"name", "state", "purge_time", "rate_limits.max_burst_size"}))
          .value();
  EXPECT_FALSE(patch.max_burst_size.has_value());
  EXPECT_FALSE(patch.max_dispatches_per_second.has_value());
  EXPECT_FALSE(patch.max_attempts.has_value());
}

TEST(QueueCodec, ValuesThatAreNoneAreRefused) {
  for (const char* text : {"retry_config { min_backoff { seconds: -1 } }",
                           "retry_config { min_backoff { nanos: -1 } }",
                           "retry_config { max_backoff { seconds: -1 } }",
                           "retry_config { max_retry_duration { nanos: -5 } }",
                           "retry_config { min_backoff { nanos: 1000000000 } }",
                           "retry_config { min_backoff { seconds: 1 nanos: -1 } }",
                           "retry_config { max_backoff { seconds: 999999999999 } }",
                           "rate_limits { max_dispatches_per_second: nan }",
                           "rate_limits { max_dispatches_per_second: inf }",
                           "stackdriver_logging_config { sampling_ratio: 1.5 }",
                           "stackdriver_logging_config { sampling_ratio: -0.1 }",
                           "stackdriver_logging_config { sampling_ratio: nan }"}) {
    const auto patch = DecodeQueueSettings(QueueOf(text), {});
    EXPECT_TRUE(absl::IsInvalidArgument(patch.status())) << text;
  }
}

TEST(QueueCodec, AQueueIsShownWhole) {
  core::Queue queue;
  queue.name = QueueName::Parse("projects/p/locations/l/queues/q").value();
  queue.state = core::QueueState::kPaused;
  queue.config.retry.max_retry_duration = absl::Seconds(90);
  queue.config.log_sampling_ratio = 0.5;
  queue.purge_time = absl::FromUnixMicros(1'800'000'000'123'456);
  v2::Queue out;
  EncodeQueue(queue, &out);
  EXPECT_EQ(out.SerializeAsString(), QueueOf(R"pb(
                                       name: "projects/p/locations/l/queues/q"
                                       rate_limits {
                                         max_dispatches_per_second: 500
                                         max_burst_size: 100
                                         max_concurrent_dispatches: 1000
                                       }
                                       retry_config {
                                         max_attempts: 100
                                         max_retry_duration { seconds: 90 }
                                         min_backoff { nanos: 100000000 }
                                         max_backoff { seconds: 3600 }
                                         max_doublings: 16
                                       }
                                       state: PAUSED
                                       purge_time { seconds: 1800000000 nanos: 123456000 }
                                       stackdriver_logging_config { sampling_ratio: 0.5 }
                                     )pb")
                                         .SerializeAsString())
      << out.DebugString();
}

TEST(QueueCodec, WhatWasNeverSetIsNotShown) {
  v2::Queue out;
  EncodeQueue(core::Queue{}, &out);
  EXPECT_FALSE(out.retry_config().has_max_retry_duration());
  EXPECT_FALSE(out.has_purge_time());
  EXPECT_FALSE(out.has_stackdriver_logging_config());
  EXPECT_FALSE(out.has_http_target());
  EXPECT_FALSE(out.has_app_engine_routing_override());
}

TEST(QueueCodec, ATasksRetrySettingsAreCompletedFromItsQueue) {
  core::RetryConfig of_queue;
  of_queue.max_attempts = 7;
  of_queue.min_backoff = absl::Seconds(2);
  of_queue.max_doublings = 5;
  const v2::RetryConfig in =
      QueueOf("retry_config { max_attempts: 2 max_backoff { seconds: 9 } }").retry_config();
  EXPECT_TRUE(LeavesRetryOpen(in));
  const core::RetryConfig retry = DecodeTaskRetry(in, of_queue, "task.retry_config").value();
  EXPECT_EQ(retry.max_attempts, 2);
  EXPECT_EQ(retry.max_backoff, absl::Seconds(9));
  EXPECT_EQ(retry.min_backoff, absl::Seconds(2));
  EXPECT_EQ(retry.max_doublings, 5);
  EXPECT_EQ(retry.max_retry_duration, absl::ZeroDuration());

  v2::RetryConfig complete;
  core::RetryConfig with_duration = retry;
  with_duration.max_retry_duration = absl::Seconds(1);
  EncodeRetry(with_duration, &complete);
  EXPECT_FALSE(LeavesRetryOpen(complete));
  EXPECT_EQ(DecodeTaskRetry(complete, {}, "task.retry_config").value(), with_duration);
}

TEST(QueueCodec, ATasksRetrySettingsHaveTheBoundsOfAQueues) {
  for (const char* text : {"max_attempts: -2", "max_doublings: -1", "min_backoff { seconds: -1 }",
                           "max_backoff { seconds: -1 }", "max_retry_duration { seconds: -1 }",
                           "min_backoff { seconds: 10 } max_backoff { seconds: 5 }",
                           "max_backoff { nanos: 50000000 }"}) {
    const v2::RetryConfig in = QueueOf(fmt::format("retry_config {{ {} }}", text)).retry_config();
    EXPECT_TRUE(absl::IsInvalidArgument(DecodeTaskRetry(in, {}, "task.retry_config").status()))
        << text;
  }
}

}  // namespace
}  // namespace sluice::front

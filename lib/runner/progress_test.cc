// SPDX-License-Identifier: Apache-2.0
#include "runner/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::runner {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Progress, BlankLinesAreShownWhenThereAreAny) {
  EXPECT_THAT(ProgressText({.records = 7}), Not(HasSubstr("blank")));
  EXPECT_THAT(ProgressText({.records = 7, .blank_lines = 2}),
              HasSubstr("7 records, 2 blank lines,"));
}

TEST(Progress, QueuesHaveALineEachWhenTheyAreCounted) {
  sink::MetricRegistry metrics;
  metrics.GetCounter("writer.numRecordsSend").Add(3);
  EXPECT_EQ(QueuesText(metrics), "");
  const auto group = metrics.Group("writer")->Group("destination");
  group->Group("projects/p/locations/l/queues/a")->GetCounter("recordsSend").Add(3);
  group->Group("projects/p/locations/l/queues/a")->GetCounter("sendErrors").Add(1);
  group->Group("projects/p/locations/l/queues/b.c")->GetCounter("recordsSend").Add(2);
  EXPECT_EQ(QueuesText(metrics),
            "projects/p/locations/l/queues/a: 3 tasks sent, 1 failed for good\n"
            "projects/p/locations/l/queues/b.c: 2 tasks sent, 0 failed for good\n");
}

}  // namespace
}  // namespace sluice::runner

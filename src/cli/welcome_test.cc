// SPDX-License-Identifier: Apache-2.0
#include "cli/welcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Welcome, TheReadyLineHasTheFormThatScriptsWaitFor) {
  EXPECT_EQ(ReadyLine("127.0.0.1:8085"), "sluice: ready on 127.0.0.1:8085\n");
}

TEST(Welcome, ItSaysWhereItListensWhatIsKeptAndWhatMayBeLost) {
  admin::ServerOptions options;
  const std::vector<std::string> addresses = {"127.0.0.1:8085", "[::1]:8086"};
  const log::RecoveryReport recovery;
  const admin::ApplyReport applied;
  const auto text = [&](bool has_examples) {
    return WelcomeText({&options, &addresses, &recovery, &applied, "", has_examples, false});
  };
  EXPECT_THAT(text(false), HasSubstr("listening  [::1]:8086 (gRPC and HTTP, plain text)"));
  EXPECT_THAT(text(false), HasSubstr("data       sluice-data (durability sync"));
  EXPECT_THAT(text(false), HasSubstr("recovery   new"));
  EXPECT_THAT(text(false), Not(HasSubstr("Three things")));
  EXPECT_THAT(text(true), HasSubstr("http://127.0.0.1:8085/metrics"));
  EXPECT_THAT(text(true), Not(HasSubstr("make demo")));
  options.durability = log::Durability::kOs;
  EXPECT_THAT(text(false), HasSubstr("may lose up to a second"));
  options.in_memory = true;
  EXPECT_THAT(text(false), HasSubstr("nothing survives"));
  EXPECT_THAT(text(false), Not(HasSubstr("recovery")));
}

TEST(Welcome, RecoverySaysWhatWasReplayedAndCut) {
  log::RecoveryReport report;
  report.segments = 1;
  report.end = 9;
  report.frames_replayed = 3;
  report.bytes_replayed = 120;
  report.was_sealed = true;
  EXPECT_EQ(RecoverySentence(report), "3 frames (120 bytes) replayed, clean end");
  report.was_sealed = false;
  report.bytes_cut = 40;
  report.cut_reason = "torn";
  EXPECT_EQ(RecoverySentence(report),
            "3 frames (120 bytes) replayed, no clean end; an unproven last frame of 40 bytes was "
            "cut: torn");
}

}  // namespace
}  // namespace sluice::cli

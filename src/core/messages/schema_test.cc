// SPDX-License-Identifier: Apache-2.0
#include "core/messages/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

// Spec pubsub 7; of acceptance 151 to 154 and 158 the rules, without the service.

namespace sluice::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Time kNow = absl::FromUnixSeconds(2'000'000'000);

Schema Make(std::uint32_t random = 7) {
  return MakeSchema("projects/p/schemas/s", {SchemaType::kAvro, "one"}, random, kNow);
}

Status Commit(std::string definition, Schema* schema) {
  return CommitRevision({SchemaType::kAvro, std::move(definition)}, kNow + absl::Seconds(1),
                        schema);
}

std::vector<std::string> Definitions(std::span<const SchemaRevision> revisions) {
  std::vector<std::string> definitions;
  for (const SchemaRevision& revision : revisions) definitions.push_back(revision.definition);
  return definitions;
}

void ExpectRefused(const Status& status, absl::StatusCode code, const std::string& why) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(Message(status)), HasSubstr(why));
}

TEST(Schema, RollbackMakesARevisionThatCopiesAnOlderOne) {
  Schema schema = Make();
  EXPECT_THAT(Definitions(schema.revisions), ElementsAre("one"));
  ASSERT_TRUE(Commit("two", &schema).ok());
  EXPECT_THAT(Definitions(schema.revisions), ElementsAre("one", "two"));
  ASSERT_TRUE(RollbackTo(schema.revisions[0].id, kNow + absl::Seconds(2), &schema).ok());
  EXPECT_THAT(Definitions(schema.revisions), ElementsAre("one", "two", "one"));
  EXPECT_NE(schema.latest().id, schema.revisions[0].id);
  EXPECT_EQ(schema.latest().create_time, kNow + absl::Seconds(2));
}

TEST(Schema, CommitOfTheSameDefinitionIsARevision) {
  Schema schema = Make();
  ASSERT_TRUE(Commit("one", &schema).ok());
  EXPECT_THAT(Definitions(schema.revisions), ElementsAre("one", "one"));
}

TEST(Schema, RefusesAnotherTypeAndStoresNothing) {
  Schema schema = Make();
  const Schema before = schema;
  ExpectRefused(CommitRevision({SchemaType::kProtocolBuffer, "two"}, kNow, &schema),
                absl::StatusCode::kInvalidArgument, "is of type AVRO");
  EXPECT_EQ(schema, before);
}

TEST(Schema, HasTwentyRevisionsAtMost) {
  Schema schema = Make();
  while (schema.revisions.size() < kSchemaRevisionsMax) ASSERT_TRUE(Commit("more", &schema).ok());
  const Schema full = schema;
  const auto exhausted = absl::StatusCode::kResourceExhausted;
  ExpectRefused(Commit("more", &schema), exhausted, "has 20 revisions; the limit is 20");
  ExpectRefused(RollbackTo(full.revisions[0].id, kNow, &schema), exhausted, "the limit is 20");
  EXPECT_EQ(schema, full);
  ASSERT_TRUE(DeleteRevision(full.revisions[3].id, &schema).ok());
  EXPECT_TRUE(Commit("more", &schema).ok());
}

TEST(Schema, KeepsItsOnlyRevision) {
  Schema schema = Make();
  const std::string first = schema.latest().id;
  ExpectRefused(DeleteRevision(first, &schema), absl::StatusCode::kInvalidArgument,
                "is the only one of schema projects/p/schemas/s");
  ASSERT_TRUE(Commit("two", &schema).ok());
  ASSERT_TRUE(DeleteRevision(schema.latest().id, &schema).ok());
  EXPECT_EQ(schema.latest().id, first);
}

TEST(Schema, KnowsItsRevisionsById) {
  Schema schema = Make();
  ASSERT_TRUE(Commit("two", &schema).ok());
  EXPECT_EQ((*FindRevision(schema, ""))->definition, "two");
  EXPECT_EQ((*FindRevision(schema, schema.revisions[0].id))->definition, "one");
  const auto missing = absl::StatusCode::kNotFound;
  ExpectRefused(FindRevision(schema, "nope").status(), missing, "has no revision nope");
  ExpectRefused(RollbackTo("nope", kNow, &schema), missing, "has no revision nope");
  ExpectRefused(RollbackTo("", kNow, &schema), missing, "has no revision");
  ExpectRefused(DeleteRevision("nope", &schema), missing, "has no revision nope");
}

TEST(Schema, NeverGivesAnIdTwice) {
  for (const std::uint32_t random : {0U, 7U, std::numeric_limits<std::uint32_t>::max()}) {
    Schema schema = Make(random);
    std::set<std::string> ids = {schema.latest().id};
    for (int i = 0; i < 5'000; ++i) {
      ASSERT_TRUE(Commit("x", &schema).ok());
      EXPECT_EQ(schema.latest().id.size(), 8U);
      ASSERT_TRUE(ids.insert(schema.latest().id).second);
      ASSERT_TRUE(DeleteRevision(schema.latest().id, &schema).ok());
    }
  }
}

TEST(Schema, GivesATopicTheRevisionsOfItsRange) {
  Schema schema = Make();
  for (const char* definition : {"two", "three", "four"})
    ASSERT_TRUE(Commit(definition, &schema).ok());
  const auto id = [&](std::size_t at) { return schema.revisions[at].id; };
  EXPECT_THAT(Definitions(*RevisionRange(schema, "", "")),
              ElementsAre("one", "two", "three", "four"));
  EXPECT_THAT(Definitions(*RevisionRange(schema, id(2), "")), ElementsAre("three", "four"));
  EXPECT_THAT(Definitions(*RevisionRange(schema, "", id(1))), ElementsAre("one", "two"));
  EXPECT_THAT(Definitions(*RevisionRange(schema, id(1), id(1))), ElementsAre("two"));
  ExpectRefused(RevisionRange(schema, id(2), id(1)).status(), absl::StatusCode::kInvalidArgument,
                "cannot be first");
  ExpectRefused(RevisionRange(schema, "x", "").status(), absl::StatusCode::kNotFound, "revision x");
  ExpectRefused(RevisionRange(schema, "", "y").status(), absl::StatusCode::kNotFound, "revision y");
}

}  // namespace
}  // namespace sluice::core

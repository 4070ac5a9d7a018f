// SPDX-License-Identifier: Apache-2.0
#include "front/pubsub/schemas/protobuf_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "front/pubsub/schemas/message_schema.h"

// Spec pubsub 7; of acceptance 149 and 150 what concerns Protocol Buffers.

namespace sluice::front {
namespace {

using testing::HasSubstr;
using Schema = std::unique_ptr<const MessageSchema>;

const std::string kOrder = R"(syntax = "proto3";
package shop;
message Order {
  enum Kind { NONE = 0; GIFT = 1; }
  message Line { string name = 1; int32 count = 2; }
  int64 id = 1;
  Kind kind = 2;
  repeated Line lines = 3;
  map<string, int32> counts = 4;
  Order next = 5;
})";

Schema Parsed(std::string_view definition) {
  auto schema = ParseSchema(core::SchemaType::kProtocolBuffer, definition);
  EXPECT_TRUE(schema.ok()) << definition << ": " << schema.status();
  return schema.ok() ? *std::move(schema) : nullptr;
}

std::string Refusal(std::string_view definition) {
  const Status status = ParseSchema(core::SchemaType::kProtocolBuffer, definition).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << definition.substr(0, 200);
  return std::string(Message(status));
}

std::string Error(const Schema& schema, std::string_view data, SchemaEncoding encoding) {
  const Status status = schema->Validate(data, encoding);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << data.substr(0, 200);
  return std::string(Message(status));
}

TEST(ProtobufSchema, RefusesDefinitionsThatAreNone) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"", "no definition"},
      {"this is no schema", "line 1, column 1"},
      {"syntax = \"proto3\";\nmessage M {\n  nope x = 1;\n}", "M.x: \"nope\" is not defined"},
      {"syntax = \"proto3\";\nmessage M {\n  string x = ;\n}", "line 3, column 14"},
      {"syntax = \"proto3\"; message M { string x = 1; string y = 1; }", "already been used"},
      {"syntax = \"proto4\"; message M {}", "proto4"},
      {"syntax = \"proto3\"; import \"google/protobuf/any.proto\"; message M {}",
       "imports google/protobuf/any.proto"},
      {"syntax = \"proto3\"; message A {} message B {}", "defines 2 top-level messages"},
      {"syntax = \"proto3\"; enum E { A = 0; }", "defines 0 top-level messages"},
      {"syntax = \"proto3\"; message M {} service S {}", "a service or an extension"},
      {"syntax = \"proto3\"; message M { string x = 1 [(nope) = 1]; }", "nope"}};
  for (const auto& [definition, why] : refused) {
    EXPECT_THAT(Refusal(definition), HasSubstr(why)) << definition;
  }
}

TEST(ProtobufSchema, IsProto2WhenItDoesNotSay) {
  EXPECT_NE(Parsed("message M { required int32 x = 1; }"), nullptr);
  EXPECT_THAT(Refusal("message M {\n  int32 x = 1;\n}"), HasSubstr("line 2, column 3"));
}

TEST(ProtobufSchema, HasLimitsOfSizeAndNesting) {
  const std::string text = "syntax = \"proto3\"; message M {}";
  EXPECT_NE(Parsed(text + std::string(kSchemaBytesMax - text.size(), ' ')), nullptr);
  EXPECT_EQ(Refusal(text + std::string(kSchemaBytesMax - text.size() + 1, ' ')),
            "the schema's definition has 300001 bytes; the limit is 300000");
  const auto nested = [](std::size_t depth) {
    std::string nest = "syntax = \"proto3\";";
    for (std::size_t i = 0; i < depth; ++i) nest += "message M{";
    return nest + std::string(depth, '}');
  };
  EXPECT_NE(Parsed(nested(31)), nullptr);
  EXPECT_THAT(Refusal(nested(32)), HasSubstr("maximum recursion limit"));
  EXPECT_EQ(Refusal(nested(33)), "the schema nests deeper than 32 at line 1");
  EXPECT_EQ(Refusal(nested(20'000)), "the schema nests deeper than 32 at line 1");
  EXPECT_THAT(Refusal("option (x) = " + std::string(100'000, '{')), HasSubstr("nests deeper"));
}

TEST(ProtobufSchema, ChecksJsonByTheMappingOfProto3) {
  const Schema schema = Parsed(kOrder);
  const auto json = SchemaEncoding::kJson;
  EXPECT_TRUE(schema
                  ->Validate(R"({"id":"7","kind":"GIFT","lines":[{"name":"a","count":2}],
                                   "counts":{"x":1},"next":{"id":8}})",
                             json)
                  .ok());
  EXPECT_TRUE(schema->Validate("{}", json).ok());
  EXPECT_THAT(Error(schema, R"({"id":"seven"})", json), HasSubstr("seven"));
  EXPECT_THAT(Error(schema, R"({"nope":1})", json), HasSubstr("nope"));
  for (const char* text : {"", "[]", "{} {}", "{\"id\":", "1"}) Error(schema, text, json);
}

TEST(ProtobufSchema, ChecksBinaryAndRequiredFields) {
  const auto binary = SchemaEncoding::kBinary;
  const Schema schema = Parsed(kOrder);
  EXPECT_TRUE(schema->Validate("\x08\x07", binary).ok());
  EXPECT_TRUE(schema->Validate("", binary).ok());
  EXPECT_TRUE(schema->Validate("\x98\x06\x01", binary).ok()) << "an unknown field";
  Error(schema, "\x08", binary);
  Error(schema, "\x1a\x7f", binary);
  Error(schema, "\x1a\x03\x0a\x01\xff", binary);  // no UTF-8
  Error(schema, "\x0c", binary);                  // ends a group that was not begun
  const Schema needs = Parsed("syntax = \"proto2\"; message M { required int32 x = 1; }");
  EXPECT_TRUE(needs->Validate("\x08\x07", binary).ok());
  EXPECT_THAT(Error(needs, "", binary), HasSubstr("requires: x"));
  EXPECT_TRUE(needs->Validate(R"({"x":1})", SchemaEncoding::kJson).ok());
  EXPECT_THAT(Error(needs, "{}", SchemaEncoding::kJson), HasSubstr("missing field x"));
}

TEST(ProtobufSchema, BoundsTheDepthOfMessages) {
  const Schema schema = Parsed(kOrder);
  std::string json;
  for (int i = 0; i < 100'000; ++i) json += R"({"next":)";
  Error(schema, json + "{}" + std::string(100'000, '}'), SchemaEncoding::kJson);
  std::string binary;
  for (int i = 0; i < 120; ++i) {
    std::string length;
    for (std::size_t left = binary.size(); true; left >>= 7) {
      length.push_back(static_cast<char>((left & 0x7F) | (left > 0x7F ? 0x80 : 0)));
      if (left <= 0x7F) break;
    }
    binary = "\x2a" + length + binary;
  }
  Error(schema, binary, SchemaEncoding::kBinary);
}

TEST(ProtobufSchema, AnswersRandomDefinitionsAndMessages) {
  std::mt19937_64 random(13);
  const std::string bytes = "{};=1<>()[]\"message";
  const Schema schema = Parsed(kOrder);
  std::size_t accepted = 0;
  for (int round = 0; round < 5'000; ++round) {
    std::string text = kOrder;
    for (std::uint64_t left = 1 + random() % 2; left > 0; --left) {
      text[random() % text.size()] = bytes[random() % bytes.size()];
    }
    const auto changed = ParseSchema(core::SchemaType::kProtocolBuffer, text);
    accepted += changed.ok() ? 1 : 0;
    std::string message(random() % 40, '\0');
    for (char& byte : message) byte = static_cast<char>(random());
    for (const SchemaEncoding encoding : {SchemaEncoding::kJson, SchemaEncoding::kBinary}) {
      if (changed.ok()) static_cast<void>((*changed)->Validate(message, encoding));
      static_cast<void>(schema->Validate(message, encoding));
    }
  }
  EXPECT_GT(accepted, 100U);
}

}  // namespace
}  // namespace sluice::front

// SPDX-License-Identifier: Apache-2.0
#include "front/pubsub/schemas/avro_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "front/pubsub/schemas/avro_memory.h"
#include "front/pubsub/schemas/message_schema.h"

// Spec pubsub 7; of acceptance 149, 150, 156, 157 and 160 what concerns Avro: definitions,
// their limits, and messages in both encodings.

namespace sluice::front {
namespace {

using testing::HasSubstr;
using namespace std::string_literals;
using Schema = std::unique_ptr<const MessageSchema>;

Schema Parsed(std::string_view definition) {
  auto schema = ParseSchema(core::SchemaType::kAvro, definition);
  EXPECT_TRUE(schema.ok()) << definition << ": " << schema.status();
  return schema.ok() ? *std::move(schema) : nullptr;
}

std::string Refusal(std::string_view definition) {
  const Status status = ParseSchema(core::SchemaType::kAvro, definition).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << definition.substr(0, 200);
  return std::string(Message(status));
}

std::string JsonError(const Schema& schema, std::string_view json) {
  const Status status = schema->Validate(json, SchemaEncoding::kJson);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << json.substr(0, 200);
  return std::string(Message(status));
}

std::string BinaryError(const Schema& schema, std::string_view data) {
  const Status status = schema->Validate(data, SchemaEncoding::kBinary);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(Message(status));
}

Status Json(const Schema& schema, std::string_view json) {
  return schema->Validate(json, SchemaEncoding::kJson);
}

Status Binary(const Schema& schema, std::string_view data) {
  return schema->Validate(data, SchemaEncoding::kBinary);
}

std::string Record(std::string_view fields) {
  return R"({"type":"record","name":"R","namespace":"n","fields":[)" + std::string(fields) + "]}";
}

const std::string kOrder =
    Record(R"({"name":"id","type":"long"},{"name":"note","type":["null","string"],"default":null},)"
           R"({"name":"kind","type":{"type":"enum","name":"Kind","symbols":["A","B"]}},)"
           R"({"name":"tags","type":{"type":"array","items":"string"}},)"
           R"({"name":"counts","type":{"type":"map","values":"int"}},)"
           R"({"name":"hash","type":{"type":"fixed","name":"Hash","size":2}},)"
           R"({"name":"next","type":["null","R"]})");

TEST(AvroSchema, RefusesDefinitionsThatAreNone) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"", "no definition"},
      {"{", "not valid"},
      {"not json", "not valid"},
      {R"("long" "long")", "not valid"},
      {R"("nope")", "nope"},
      {R"({"type":"record","fields":[]})", "name"},
      {R"({"type":"record","name":"1R","fields":[]})", "identifier"},
      {Record(R"({"name":"a","type":"nope"})"), "nope"},
      {Record(R"({"name":"a","type":"int"},{"name":"a","type":"int"})"),
       "at n.R: two fields are named a"},
      {Record(R"({"name":"a","type":"R"})"), "at n.R: it contains itself without an end"},
      {Record(R"({"name":"a","type":["R"]})"), "it contains itself without an end"},
      {Record(R"({"name":"a","type":{"type":"record","name":"R","fields":[]}})"), "not valid"},
      {R"(["null","null"])", "at a union: it has null twice"},
      {R"(["null",["int"]])", "at a union: a union directly in it"},
      {R"({"type":"enum","name":"E","symbols":["A","A"]})", "at E: symbol A stands there twice"},
      {R"({"type":"enum","name":"E","symbols":[]})", "not valid"},
      {R"({"type":"fixed","name":"F","size":-1})", "at F: its size is -1"}};
  for (const auto& [definition, why] : refused) {
    EXPECT_THAT(Refusal(definition), HasSubstr(why)) << definition;
  }
}

TEST(AvroSchema, HasLimitsOfSizeNestingAndTypes) {
  const std::string atom = R"("long")";
  const auto padded = [&](std::size_t bytes) {
    return atom + std::string(bytes - atom.size(), ' ');
  };
  EXPECT_NE(Parsed(padded(kSchemaBytesMax)), nullptr);
  EXPECT_EQ(Refusal(padded(kSchemaBytesMax + 1)),
            "the schema's definition has 300001 bytes; the limit is 300000");

  const auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += R"({"type":"array","items":)";
    return text + R"("int")" + std::string(static_cast<std::size_t>(depth), '}');
  };
  EXPECT_NE(Parsed(nested(96)), nullptr);
  EXPECT_THAT(Refusal(nested(97)), HasSubstr("the limit is 96"));
  EXPECT_THAT(Refusal(nested(10'000)), HasSubstr("the limit is 96"));
  EXPECT_THAT(Refusal(std::string(kSchemaBytesMax, '[')), HasSubstr("the limit is 96"));

  const auto many = [](std::size_t fields) {
    std::string text;
    for (std::size_t i = 0; i < fields; ++i) {
      text += (i == 0 ? "" : ",") + R"({"name":"f)"s + std::to_string(i) + R"(","type":"int"})";
    }
    return Record(text);
  };
  EXPECT_NE(Parsed(many(kSchemaTypesMax - 1)), nullptr);
  EXPECT_THAT(Refusal(many(kSchemaTypesMax)), HasSubstr("more than 5000 types"));
  std::string branches = R"(["null")";
  while (branches.size() < kSchemaBytesMax - 20) branches += R"(,"int")";
  EXPECT_THAT(Refusal(branches + "]"), HasSubstr("twice"));
}

TEST(AvroSchema, GivesBackAllMemoryOfTheLibrary) {
  Refusal(Record(R"({"name":"a","type":{"type":"record","name":"R","fields":[]}})"));
  EXPECT_EQ(AvroMemory::Blocks(), 0);
  Parsed(kOrder);
  EXPECT_EQ(AvroMemory::Blocks(), 0);
}

TEST(AvroSchema, TakesJsonThatMatches) {
  const Schema schema = Parsed(kOrder);
  EXPECT_TRUE(Json(schema, R"({"id":1,"note":null,"kind":"A","tags":[],"counts":{},
                               "hash":"\u00ff\u0001","next":null})")
                  .ok());
  const Status status =
      Json(schema, R"({"id":-9223372036854775808,"note":{"string":"x"},"kind":"B","tags":["é"],
          "counts":{"a":1},"hash":"ab","next":{"n.R":{"id":2,"note":null,"kind":"A","tags":[],
          "counts":{},"hash":"ab","next":null}}})");
  EXPECT_TRUE(status.ok()) << status;
}

TEST(AvroSchema, SaysWhereJsonDoesNotMatch) {
  const Schema schema = Parsed(Record(R"({"name":"id","type":"long"},)"
                                      R"({"name":"note","type":["null","string"]})"));
  const std::vector<std::pair<std::string, std::string>> refused = {
      {R"({"id":"1","note":null})", "at .id: expected a long, found a string"},
      {R"({"id":1.5,"note":null})", "at .id: expected a long, found 1.5"},
      {R"({"id":9223372036854775808,"note":null})", "at .id: expected a long"},
      {R"({"id":1})", "at .note: the field is missing"},
      {R"({"id":1,"note":"x"})",
       "at .note: expected an object that names one branch of null, string"},
      {R"({"id":1,"note":{"string":1}})", "at .note.string: expected a string, found 1"},
      {R"({"id":1,"note":{"null":null}})", "at .note.null: null names no branch"},
      {R"({"id":1,"note":{"string":"x","int":1}})", "at .note: expected"},
      {R"({"id":1,"note":null,"more":1})", "at its top: record n.R has no field more"},
      {R"([])", "at its top: expected an object, record n.R, found array"},
      {R"({"id":1,"note":null} x)", "not one JSON value"},
      {"{\"id\":1,\"note\":{\"string\":\"\xff\"}}", "not one JSON value"},
      {"", "not one JSON value"}};
  for (const auto& [json, why] : refused)
    EXPECT_THAT(JsonError(schema, json), HasSubstr(why)) << json;
}

TEST(AvroSchema, TakesNumbersByValueInJson) {
  const Schema ints = Parsed(R"("int")");
  for (const char* text : {"2147483647", "-2147483648", "1.0", "1e3"})
    EXPECT_TRUE(Json(ints, text).ok()) << text;
  for (const char* text : {"2147483648", "-2147483649", "0.5", "1e10", "true"})
    JsonError(ints, text);
  const Schema longs = Parsed(R"("long")");
  EXPECT_TRUE(Json(longs, "9223372036854775807").ok());
  JsonError(longs, "9223372036854775808.0");
  for (const char* text : {"1", "1.5", "-1e300"})
    EXPECT_TRUE(Json(Parsed(R"("double")"), text).ok());
  const Schema two = Parsed(R"({"type":"fixed","name":"F","size":2})");
  EXPECT_THAT(JsonError(two, R"("a")"), HasSubstr("expected 2 bytes of F, found 1"));
  EXPECT_THAT(JsonError(two, R"("aあ")"), HasSubstr("beyond 255"));
}

TEST(AvroSchema, TakesBinaryThatMatchesToItsLastByte) {
  const Schema schema = Parsed(kOrder);
  // id 1; note null; kind A; no tags; counts {"a": 1} in a sized block; hash; no next.
  const std::string message = "\x02\x00\x00\x00\x01\x06\x02"s + "a\x02\x00"s + "hh\x00"s;
  EXPECT_TRUE(Binary(schema, message).ok()) << Binary(schema, message);
  EXPECT_THAT(BinaryError(schema, message + "\x00"s), HasSubstr("1 bytes follow the message"));
  for (std::size_t bytes = 0; bytes < message.size(); ++bytes) {
    EXPECT_FALSE(Binary(schema, message.substr(0, bytes)).ok()) << bytes;
  }
  std::string changed = message;
  changed[2] = '\x04';
  EXPECT_THAT(BinaryError(schema, changed), HasSubstr("at .kind: expected a symbol's position"));
  changed = message;
  changed[5] = '\x08';
  EXPECT_THAT(BinaryError(schema, changed),
              HasSubstr("at .counts[]: a block of 3 bytes says it has 4"));
}

TEST(AvroSchema, ChecksEveryPrimitiveInBinary) {
  EXPECT_TRUE(Binary(Parsed(R"("null")"), "").ok());
  EXPECT_TRUE(Binary(Parsed(R"("boolean")"), "\x01").ok());
  BinaryError(Parsed(R"("boolean")"), "\x02");
  EXPECT_TRUE(Binary(Parsed(R"("float")"), "1234").ok());
  EXPECT_TRUE(Binary(Parsed(R"("double")"), "12345678").ok());
  EXPECT_TRUE(Binary(Parsed(R"("int")"), "\xfe\xff\xff\xff\x0f").ok());
  BinaryError(Parsed(R"("int")"), "\x80\x80\x80\x80\x10");
  EXPECT_TRUE(Binary(Parsed(R"("long")"), std::string(9, '\xff') + "\x01").ok());
  BinaryError(Parsed(R"("long")"), std::string(9, '\xff') + "\x02");
  BinaryError(Parsed(R"("long")"), std::string(11, '\xff'));
  BinaryError(Parsed(R"("string")"), "\x02\xff");
  EXPECT_TRUE(Binary(Parsed(R"("bytes")"), "\x02\xff").ok());
}

TEST(AvroSchema, WithstandsMessagesThatClaimMoreThanTheyHold) {
  const std::string huge = std::string(9, '\xfe') + "\x01";  // 2^63 - 1
  for (const char* type :
       {R"("bytes")", R"("string")", R"({"type":"array","items":"null"})",
        R"({"type":"array","items":"long"})", R"({"type":"map","values":"null"})"}) {
    BinaryError(Parsed(type), huge);
  }
  BinaryError(Parsed(R"({"type":"array","items":"null"})"), std::string(9, '\xff') + "\x01\x00"s);
  // 2^40 values of no bytes each.
  std::string fields;
  std::string doubling = R"("null")";
  for (int i = 0; i < 20; ++i) {
    const std::string n = std::to_string(i);
    fields += R"({"name":"a)" + n + R"(","type":{"type":"record","name":"R)" + n +
              R"(","fields":[{"name":"x","type":)" + doubling + R"(},{"name":"y","type":)" +
              doubling + "}]}},";
    doubling = "\"R" + n + '"';
  }
  fields.pop_back();
  EXPECT_THAT(BinaryError(Parsed(Record(fields)), ""), HasSubstr("too many values"));
}

// Were each of them looked for from the first on, this would be 6,000,000,000 comparisons.
TEST(AvroSchema, FindsSymbolsAndBranchesByName) {
  std::string symbols;
  std::string branches;
  for (int i = 0; i < 4'000; ++i) {
    const std::string comma = i == 0 ? "" : ",";
    symbols += comma + "\"S" + std::to_string(i) + '"';
    branches += comma + R"({"type":"fixed","size":0,"name":"F)" + std::to_string(i) + "\"}";
  }
  const Schema enums =
      Parsed(R"({"type":"array","items":{"type":"enum","name":"E","symbols":[)" + symbols + "]}}");
  const Schema unions = Parsed(R"({"type":"array","items":[)" + branches + "]}");
  std::string words = "[";
  std::string values = "[";
  for (int i = 0; i < 750'000; ++i) {
    words += i == 0 ? R"("S3999")" : R"(,"S3999")";
    values += i == 0 ? R"({"F3999":""})" : R"(,{"F3999":""})";
  }
  EXPECT_TRUE(Json(enums, words + "]").ok());
  EXPECT_TRUE(Json(unions, values + "]").ok());
}

TEST(AvroSchema, BoundsTheDepthOfMessages) {
  const Schema list = Parsed(Record(R"({"name":"next","type":["null","R"]})"));
  const auto binary = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '\x02') + "\x00"s;
  };
  EXPECT_TRUE(Binary(list, binary(40)).ok()) << Binary(list, binary(40));
  EXPECT_THAT(BinaryError(list, binary(1'000'000)), HasSubstr("nest deeper than 100"));
  const auto json = [](std::size_t depth) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += R"({"next":{"n.R":)";
    text += R"({"next":null})";
    return text + std::string(depth * 2, '}');
  };
  EXPECT_TRUE(Json(list, json(40)).ok());
  EXPECT_THAT(JsonError(list, json(100'000)), HasSubstr("nest deeper than 100"));
}

TEST(AvroSchema, AnswersRandomDefinitionsAndMessages) {
  std::mt19937_64 random(11);
  const std::string bytes = R"({}[]":,0"int""null"recordname)";
  const Schema schema = Parsed(kOrder);
  std::size_t accepted = 0;
  for (int round = 0; round < 30'000; ++round) {
    std::string text = kOrder;
    for (std::uint64_t left = 1 + random() % 3; left > 0; --left) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text[at] = bytes[random() % bytes.size()];
      } else {
        text.erase(at, 1 + random() % 8);
      }
    }
    const auto changed = ParseSchema(core::SchemaType::kAvro, text);
    accepted += changed.ok() ? 1 : 0;
    std::string message(random() % 40, '\0');
    for (char& byte : message)
      byte = static_cast<char>(random() % 3 == 0 ? random() : random() % 4);
    for (const SchemaEncoding encoding : {SchemaEncoding::kJson, SchemaEncoding::kBinary}) {
      if (changed.ok()) static_cast<void>((*changed)->Validate(message, encoding));
      static_cast<void>(schema->Validate(message, encoding));
    }
    ASSERT_EQ(AvroMemory::Blocks(), 0) << text;
  }
  EXPECT_GT(accepted, 100U);
}

}  // namespace
}  // namespace sluice::front

// SPDX-License-Identifier: Apache-2.0
#include "core/messages/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

// Spec pubsub 3.6; acceptance 114 (the table), 115 (what is refused), 116 (the length),
// 119 (quoted keys and escapes), and the parser and evaluator against random filters.

namespace sluice::core {
namespace {

using Row = std::map<std::string, std::string, std::less<>>;

bool Matches(const MessageFilter& filter, const Row& row) {
  return filter.Matches([&](std::string_view key) -> std::optional<std::string_view> {
    const auto found = row.find(key);
    return found == row.end() ? std::nullopt : std::optional<std::string_view>(found->second);
  });
}

bool Matches(std::string_view text, const Row& row) {
  const StatusOr<MessageFilter> filter = MessageFilter::Parse(text);
  EXPECT_TRUE(filter.ok()) << text << ": " << filter.status();
  return filter.ok() && Matches(*filter, row);
}

std::string ErrorOf(std::string_view text) {
  const Status status = MessageFilter::Parse(text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(Message(status));
}

TEST(MessageFilter, KeepsTheRowsOfTheSpecification) {
  const std::vector<Row> rows = {{{"lang", "en"}, {"name", "com"}},
                                 {{"lang", "en"}, {"name", "net"}},
                                 {{"lang", "en"}, {"name", "org"}},
                                 {{"lang", "cn"}, {"name", "com"}},
                                 {{"lang", "cn"}, {"name", "net"}},
                                 {{"lang", "cn"}, {"name", "org"}},
                                 {{"lang", "jp"}, {"name", "co"}},
                                 {{"lang", "jp"}},
                                 {{"name", "com"}},
                                 {{"lang", "jp"}, {"みんな", "dummy1"}},
                                 {{"みんな", "dummy2"}},
                                 {{"name", "com"}, {"みんな", "dummy3"}}};
  const std::vector<std::pair<std::string, std::set<std::size_t>>> table = {
      {R"(attributes.name = "com")", {1, 4, 9, 12}},
      {R"(attributes.name != "com")", {2, 3, 5, 6, 7, 8, 10, 11}},
      {R"(hasPrefix(attributes.name, "co"))", {1, 4, 7, 9, 12}},
      {R"(attributes:name)", {1, 2, 3, 4, 5, 6, 7, 9, 12}},
      {R"(NOT attributes:name)", {8, 10, 11}},
      {R"((NOT attributes:name) OR attributes.name = "co")", {7, 8, 10, 11}},
      {R"(NOT (attributes:name OR attributes.lang = "jp"))", {11}},
      {R"(attributes.name = "com" AND -attributes:"lang")", {9, 12}},
      {R"(attributes:"みんな")", {10, 11, 12}},
      {"", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
      {" \n\t", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}};
  for (const auto& [text, kept] : table) {
    std::set<std::size_t> matched;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (Matches(text, rows[i])) matched.insert(i + 1);
    }
    EXPECT_EQ(matched, kept) << text;
  }
}

TEST(MessageFilter, RefusesWhatIsNoFilterAndSaysWhere) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"this is not a filter", "byte 0: expected attributes"},
      {"attributes.name = com", "byte 18: expected a string in double quotes"},
      {"attributes.name = 'com'", "byte 18: expected a string in double quotes"},
      {R"(attributes.name > "a")", "byte 16: expected = or !="},
      {R"(data = "x")", "byte 0: expected attributes"},
      {R"(attributes.a = "1" AND attributes.b = "2" OR attributes.c = "3")",
       "byte 42: expected parentheses"},
      {R"(attributes.a = "1" OR attributes.b = "2" AND attributes.c = "3")",
       "byte 41: expected parentheses"},
      {R"(attributes.a = "1" and attributes.b = "2")", "byte 19: expected AND, OR"},
      {"attributes:a attributes:b", "byte 13: expected AND, OR"},
      {"not attributes:a", "byte 0: expected attributes"},
      {"NOTattributes:a", "byte 0: expected attributes"},
      {"hasPrefix(attributes.a)", "byte 22: expected , and a string"},
      {R"(hasPrefix(attributes:a, "b"))", "byte 20: expected attributes. and a key"},
      {R"(hasPrefix(attributes.a, "b")", "byte 27: expected ) after the string, found its end"},
      {"attributes.", "byte 11: expected an attribute's key"},
      {"attributes:", "byte 11: expected an attribute's key"},
      {"attributes", "byte 10: expected : or . and a key, found its end"},
      {"attributes:\"\"", "byte 11: no attribute has an empty key"},
      {"(attributes:a", "byte 13: expected AND, OR or ), found its end"},
      {"attributes:a)", "byte 12: expected AND, OR or the end"},
      {"()", "byte 1: expected attributes"},
      {"attributes:a AND", "byte 16: expected attributes"},
      {"NOT", "byte 3: expected attributes"},
      {R"(attributes.a = "b)", "byte 15: this string has no closing quote"},
      {R"(attributes.a = "\q")", "byte 16: not an escape"},
      {R"(attributes.a = "\)", "byte 16: not an escape"},
      {R"(attributes.a = "\u12")", "byte 16: this escape needs 4 digits"},
      {R"(attributes.a = "\x-1")", "byte 16: this escape needs 2 digits"},
      {R"(attributes.a = "\18")", "byte 16: this escape needs 3 digits to base 8"},
      {R"(attributes.a = "\uD800")", "byte 16: this escape is no Unicode character"},
      {R"(attributes.a = "\U00110000")", "byte 16: this escape is no Unicode character"}};
  for (const auto& [text, why] : refused) {
    EXPECT_THAT(ErrorOf(text), testing::HasSubstr(why)) << text;
  }
}

TEST(MessageFilter, HasTwoHundredAndFiftySixBytesAtMost) {
  const std::string head = "attributes:";
  EXPECT_TRUE(MessageFilter::Parse(head + std::string(256 - head.size(), 'k')).ok());
  EXPECT_EQ(ErrorOf(head + std::string(257 - head.size(), 'k')),
            "the filter has 257 bytes; the limit is 256");
  // Bytes, not characters: 80 of three bytes each are 240.
  std::string wide;
  for (int i = 0; i < 80; ++i) wide += "み";
  EXPECT_TRUE(MessageFilter::Parse(head + '"' + wide + '"').ok());
  EXPECT_EQ(ErrorOf(head + '"' + wide + "みみ\""), "the filter has 259 bytes; the limit is 256");
}

TEST(MessageFilter, ComparesDecodedStringsAndKeys) {
  EXPECT_TRUE(Matches(R"(attributes."a\"b" = "c\\d")", {{"a\"b", "c\\d"}}));
  EXPECT_TRUE(Matches(R"(attributes.k = "\u0041\x42\103\U0001F600")", {{"k", "ABC😀"}}));
  EXPECT_TRUE(Matches(R"(attributes.k = "\xe9\u3042")", {{"k", "éあ"}}));
  EXPECT_TRUE(Matches(R"(attributes.k = "\n\t\r")", {{"k", "\n\t\r"}}));
  EXPECT_TRUE(Matches(R"(attributes:"a.b/c d")", {{"a.b/c d", ""}}));
  EXPECT_TRUE(Matches("attributes:a-b_9", {{"a-b_9", ""}}));
  EXPECT_FALSE(Matches("attributes:KEY", {{"key", ""}}));
  EXPECT_FALSE(Matches(R"(attributes.k = "V")", {{"k", "v"}}));
}

TEST(MessageFilter, TellsAnEmptyAttributeFromAnAbsentOne) {
  for (const char* text :
       {"attributes:k", R"(attributes.k = "")", R"(hasPrefix(attributes.k, ""))"}) {
    EXPECT_TRUE(Matches(text, {{"k", ""}})) << text;
    EXPECT_FALSE(Matches(text, {})) << text;
  }
  EXPECT_TRUE(Matches(R"(attributes.k != "")", {}));
  EXPECT_FALSE(Matches(R"(hasPrefix(attributes.k, "abc"))", {{"k", "ab"}}));
}

TEST(MessageFilter, NeedsBlanksOnlyBetweenWords) {
  const Row row = {{"a", "1"}, {"b", "2"}};
  EXPECT_TRUE(Matches(R"(attributes.a="1"AND(attributes.b="2"))", row));
  EXPECT_TRUE(Matches("NOT(attributes:c)AND attributes:a", row));
  EXPECT_TRUE(Matches(" attributes . a\n=\t\"1\" AND hasPrefix ( attributes . b , \"\" ) ", row));
  EXPECT_TRUE(Matches("NOT NOT - -attributes:a", row));
  EXPECT_FALSE(Matches("NOT - NOT attributes:a", row));
  EXPECT_TRUE(Matches("attributes:AND", {{"AND", ""}}));
}

TEST(MessageFilter, TakesAsMuchNestingAndAsManyConditionsAsFit) {
  const std::string atom = "attributes:k";
  const std::size_t depth = (kFilterBytesMax - atom.size()) / 2;
  const std::string nested = std::string(depth, '(') + atom + std::string(depth, ')');
  EXPECT_TRUE(Matches(nested, {{"k", ""}}));
  EXPECT_FALSE(Matches(nested, {}));
  EXPECT_TRUE(Matches(std::string(kFilterBytesMax - atom.size(), '-') + atom, {{"k", ""}}));
  ErrorOf(std::string(kFilterBytesMax, '('));
  ErrorOf(std::string(1'000'000, '('));

  // Every right side waits on the stack for its parentheses to close.
  std::string right = atom;
  while (right.size() + atom.size() + 6 <= kFilterBytesMax) right = atom + "AND(" + right + ")";
  EXPECT_FALSE(MessageFilter::Parse(right).ok()) << "the key would be kAND";
  right = "attributes:k";
  while (right.size() + 19 <= kFilterBytesMax) right = "attributes:k AND(" + right + ")";
  EXPECT_TRUE(Matches(right, {{"k", ""}}));
  EXPECT_FALSE(Matches(right, {}));
}

// Makes a random filter, its text and, beside it, its truth by plain recursion.
class RandomFilter {
 public:
  RandomFilter(std::mt19937_64* random, const Row* row) : random_(*random), row_(*row) {}

  struct Made {
    std::string text;
    bool truth;
  };

  Made Make(int depth) {
    if (depth == 0 || Below(4) == 0) return Condition();
    if (Below(3) == 0) {
      Made inner = Make(depth - 1);
      return {(Below(2) == 0 ? "NOT (" : "-(") + inner.text + ")", !inner.truth};
    }
    const bool all = Below(2) == 0;
    Made left = Make(depth - 1);
    Made right = Make(depth - 1);
    return {"(" + left.text + (all ? ") AND (" : ") OR (") + right.text + ")",
            all ? left.truth && right.truth : left.truth || right.truth};
  }

 private:
  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }

  Made Condition() {
    const std::string key(1, static_cast<char>('a' + Below(3)));
    const std::string value(Below(3), 'v');
    const auto found = row_.find(key);
    const bool has = found != row_.end();
    const std::string field = "attributes." + key;
    switch (Below(4)) {
      case 0:
        return {"attributes:" + key, has};
      case 1:
        return {field + "=\"" + value + '"', has && found->second == value};
      case 2:
        return {field + " != \"" + value + '"', !has || found->second != value};
      default:
        return {"hasPrefix(" + field + ",\"" + value + "\")",
                has && found->second.starts_with(value)};
    }
  }

  std::mt19937_64& random_;
  const Row& row_;
};

TEST(MessageFilter, AgreesWithPlainRecursionOnRandomFilters) {
  std::mt19937_64 random(20'240'501);
  std::size_t parsed = 0;
  for (int round = 0; round < 20'000; ++round) {
    Row row;
    for (const char key : {'a', 'b', 'c'}) {
      if (random() % 2 == 0) row[std::string(1, key)] = std::string(random() % 3, 'v');
    }
    const RandomFilter::Made made = RandomFilter(&random, &row).Make(4);
    if (made.text.size() > kFilterBytesMax) continue;
    ++parsed;
    ASSERT_EQ(Matches(made.text, row), made.truth) << made.text;
  }
  EXPECT_GT(parsed, 5'000U);
}

TEST(MessageFilter, AnswersRandomTextWithAFilterOrAnError) {
  std::mt19937_64 random(7);
  const std::vector<std::string> pieces = {"attributes", ".",     ":",         "=",
                                           "!=",         "\"v\"", "k",         " ",
                                           "(",          ")",     "AND",       "OR",
                                           "NOT",        "-",     "hasPrefix", ",",
                                           "\"",         "\\",    "\\u0041",   std::string(1, '\0'),
                                           "\xff",       "み"};
  std::size_t accepted = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text = random() % 4 == 0 ? "" : "attributes:k";
    for (std::uint64_t left = random() % 12; left > 0; --left)
      text += pieces[random() % pieces.size()];
    const StatusOr<MessageFilter> filter = MessageFilter::Parse(text);
    if (!filter.ok()) {
      ASSERT_EQ(filter.status().code(), absl::StatusCode::kInvalidArgument) << text;
      continue;
    }
    ++accepted;
    // What was accepted stays a filter when negated, and then says the opposite.
    const Row row = {{"k", "v"}};
    if (filter->matches_everything() || text.size() + 3 > kFilterBytesMax) continue;
    ASSERT_NE(Matches(*filter, row), Matches("-(" + text + ")", row)) << text;
  }
  EXPECT_GT(accepted, 1'000U);
}

}  // namespace
}  // namespace sluice::core

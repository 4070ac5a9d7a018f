// SPDX-License-Identifier: Apache-2.0
#include "core/messages/filter.h"

#include <utility>

#include "core/messages/filter_lexer.h"

namespace sluice::core {
namespace {

// Each truth on the stack comes from a condition, and the shortest one is `attributes:k`.
constexpr std::size_t kConditionsMax = kFilterBytesMax / std::string_view("attributes:k").size();
static_assert(kConditionsMax <= 64, "Matches keeps its stack in the bits of one number");

}  // namespace

// Recursive descent. Each level of recursion has read at least one byte, so its depth
// is bounded by the length of the text, which Parse checks first.
class FilterParser {
 public:
  FilterParser(std::string_view text, std::vector<MessageFilter::Step>* steps)
      : lexer_(text), steps_(*steps) {}

  Status Filter() {
    if (lexer_.AtEnd()) return {};
    SLUICE_RETURN_IF_ERROR(Expression());
    return lexer_.AtEnd() ? Status() : lexer_.Expected("AND, OR or the end of the filter");
  }

 private:
  using Operation = MessageFilter::Operation;

  Status Expression() {
    SLUICE_RETURN_IF_ERROR(Term());
    std::string_view chain;
    for (std::string_view word = lexer_.PeekWord(); word == "AND" || word == "OR";
         word = lexer_.PeekWord()) {
      if (!chain.empty() && chain != word) {
        return lexer_.Expected("parentheses around one of them, as AND and OR stand in one row");
      }
      chain = word;
      lexer_.TakeWord(word);
      SLUICE_RETURN_IF_ERROR(Term());
      Push(chain == "AND" ? Operation::kAnd : Operation::kOr);
    }
    return {};
  }

  Status Term() {
    bool negated = false;
    while (lexer_.TakeSymbol("-") || lexer_.TakeWord("NOT")) negated = !negated;
    SLUICE_RETURN_IF_ERROR(Atom());
    if (negated) Push(Operation::kNot);
    return {};
  }

  Status Atom() {
    if (lexer_.TakeSymbol("(")) {
      SLUICE_RETURN_IF_ERROR(Expression());
      return lexer_.TakeSymbol(")") ? Status() : lexer_.Expected("AND, OR or )");
    }
    if (lexer_.TakeWord("hasPrefix")) return Prefix();
    if (!lexer_.TakeWord("attributes")) {
      return lexer_.Expected("attributes, hasPrefix, NOT, - or (");
    }
    if (lexer_.TakeSymbol(":")) {
      SLUICE_ASSIGN_OR_RETURN(std::string key, lexer_.Key());
      Push(Operation::kHas, std::move(key));
      return {};
    }
    return lexer_.TakeSymbol(".") ? Comparison() : lexer_.Expected(": or . and a key");
  }

  Status Comparison() {
    SLUICE_ASSIGN_OR_RETURN(std::string key, lexer_.Key());
    const bool negated = lexer_.TakeSymbol("!=");
    if (!negated && !lexer_.TakeSymbol("=")) return lexer_.Expected("= or !=");
    SLUICE_ASSIGN_OR_RETURN(std::string value, lexer_.String());
    Push(Operation::kEquals, std::move(key), std::move(value));
    if (negated) Push(Operation::kNot);
    return {};
  }

  Status Prefix() {
    if (!lexer_.TakeSymbol("(")) return lexer_.Expected("( after hasPrefix");
    if (!lexer_.TakeWord("attributes") || !lexer_.TakeSymbol(".")) {
      return lexer_.Expected("attributes. and a key");
    }
    SLUICE_ASSIGN_OR_RETURN(std::string key, lexer_.Key());
    if (!lexer_.TakeSymbol(",")) return lexer_.Expected(", and a string");
    SLUICE_ASSIGN_OR_RETURN(std::string value, lexer_.String());
    if (!lexer_.TakeSymbol(")")) return lexer_.Expected(") after the string");
    Push(Operation::kHasPrefix, std::move(key), std::move(value));
    return {};
  }

  void Push(Operation operation, std::string key = {}, std::string value = {}) {
    steps_.push_back({operation, std::move(key), std::move(value)});
  }

  FilterLexer lexer_;
  std::vector<MessageFilter::Step>& steps_;
};

StatusOr<MessageFilter> MessageFilter::Parse(std::string_view text) {
  if (text.size() > kFilterBytesMax) {
    return InvalidArgument("the filter has {} bytes; the limit is {}", text.size(),
                           kFilterBytesMax);
  }
  MessageFilter filter;
  SLUICE_RETURN_IF_ERROR(FilterParser(text, &filter.steps_).Filter());
  return filter;
}

bool MessageFilter::Matches(Attributes attributes) const {
  if (steps_.empty()) return true;
  std::uint64_t stack = 0;  // the lowest bit is the top
  for (const Step& step : steps_) {
    const std::uint64_t top = stack & 1;
    switch (step.operation) {
      case Operation::kNot:
        stack ^= 1;
        break;
      case Operation::kAnd:
        stack = (stack >> 1) & (~std::uint64_t{1} | top);
        break;
      case Operation::kOr:
        stack = (stack >> 1) | top;
        break;
      default:
        stack = (stack << 1) | static_cast<std::uint64_t>(Holds(step, attributes));
    }
  }
  return (stack & 1) != 0;
}

bool MessageFilter::Holds(const Step& condition, Attributes attributes) {
  const std::optional<std::string_view> value = attributes(condition.key);
  if (!value) return false;
  switch (condition.operation) {
    case Operation::kEquals:
      return *value == condition.value;
    case Operation::kHasPrefix:
      return value->starts_with(condition.value);
    default:
      return true;
  }
}

}  // namespace sluice::core

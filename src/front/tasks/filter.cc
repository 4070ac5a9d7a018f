// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/filter.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "front/errors.h"
#include "front/tasks/filter_condition.h"

namespace sluice::front {

using google::protobuf::Descriptor;

struct Filter::Node {
  enum class Kind { kAll, kAny, kNot, kCondition };
  Kind kind = Kind::kAll;
  std::vector<std::unique_ptr<const Node>> parts;  // one for kNot, none for kCondition
  FilterCondition condition;
};

namespace {

using Node = Filter::Node;
using NodePtr = std::unique_ptr<const Node>;

constexpr std::string_view kField = "filter";
constexpr std::size_t kShownLengthMax = 50;

enum class TokenKind { kEnd, kWord, kQuoted, kOperator, kOpen, kClose };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::size_t position = 0;
  std::string text;  // of a quoted one without quotes and escapes
  FilterOperator op = FilterOperator::kEqual;
};

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsWordEnd(char c) {
  return IsSpace(c) || std::string_view("()\"'<>=!:,~").find(c) != std::string_view::npos;
}

// `position` counts bytes from 1.
Status SyntaxError(std::size_t position, std::string_view what) {
  return AtField(kField, InvalidArgument("{}: at byte {}: {}", kField, position + 1, what));
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  StatusOr<Token> Next() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
    Token token;
    token.position = at_;
    if (at_ == text_.size()) return token;
    const char c = text_[at_];
    if (c == '(' || c == ')') {
      token.kind = c == '(' ? TokenKind::kOpen : TokenKind::kClose;
      ++at_;
      return token;
    }
    if (c == '"' || c == '\'') return Quoted(std::move(token));
    if (!IsWordEnd(c)) return Word(std::move(token));
    return Operator(std::move(token));
  }

 private:
  StatusOr<Token> Quoted(Token token) {
    token.kind = TokenKind::kQuoted;
    const char quote = text_[at_++];
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\') ++at_;
      if (at_ < text_.size()) token.text += text_[at_++];
    }
    if (at_ == text_.size()) return SyntaxError(token.position, "the quote is never closed");
    ++at_;
    return token;
  }

  StatusOr<Token> Word(Token token) {
    token.kind = TokenKind::kWord;
    const std::size_t begin = at_;
    // A minus sign before a parenthesis or a quote is a word of its own.
    while (at_ < text_.size() && !IsWordEnd(text_[at_])) ++at_;
    token.text = text_.substr(begin, at_ - begin);
    return token;
  }

  StatusOr<Token> Operator(Token token) {
    static constexpr std::pair<std::string_view, FilterOperator> kOperators[] = {
        {"<=", FilterOperator::kLessOrEqual}, {">=", FilterOperator::kGreaterOrEqual},
        {"!=", FilterOperator::kNotEqual},    {"<", FilterOperator::kLess},
        {">", FilterOperator::kGreater},      {"=", FilterOperator::kEqual},
        {":", FilterOperator::kHas},
    };
    const std::string_view rest = text_.substr(at_);
    for (const auto& [spelling, op] : kOperators) {
      if (!rest.starts_with(spelling)) continue;
      at_ += spelling.size();
      if (at_ < text_.size() && text_[at_] == '~') break;
      token.kind = TokenKind::kOperator;
      token.op = op;
      return token;
    }
    if (rest.substr(0, 2).find('~') != std::string_view::npos) {
      return SyntaxError(token.position, "regular expressions are not supported");
    }
    return SyntaxError(token.position, fmt::format("\"{}\" is not understood", rest.front()));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

class Parser {
 public:
  Parser(std::string_view text, const Descriptor& message) : lexer_(text), message_(message) {}

  StatusOr<NodePtr> Run() {
    SLUICE_RETURN_IF_ERROR(Advance());
    if (token_.kind == TokenKind::kEnd) return NodePtr();
    SLUICE_ASSIGN_OR_RETURN(NodePtr root, Expression());
    if (token_.kind != TokenKind::kEnd) {
      return SyntaxError(token_.position, "a closing parenthesis without an opening one");
    }
    return root;
  }

 private:
  Status Advance() {
    SLUICE_ASSIGN_OR_RETURN(token_, lexer_.Next());
    return absl::OkStatus();
  }

  bool IsKeyword(std::string_view word) const {
    return token_.kind == TokenKind::kWord && token_.text == word;
  }

  // Alternatives side by side or joined by AND.
  StatusOr<NodePtr> Expression() {
    auto all = std::make_unique<Node>();
    all->kind = Node::Kind::kAll;
    while (true) {
      SLUICE_ASSIGN_OR_RETURN(NodePtr part, Alternatives());
      all->parts.push_back(std::move(part));
      if (IsKeyword("AND")) {
        SLUICE_RETURN_IF_ERROR(Advance());
        continue;
      }
      if (token_.kind == TokenKind::kEnd || token_.kind == TokenKind::kClose) break;
    }
    return Simplest(std::move(all));
  }

  StatusOr<NodePtr> Alternatives() {
    auto any = std::make_unique<Node>();
    any->kind = Node::Kind::kAny;
    while (true) {
      SLUICE_ASSIGN_OR_RETURN(NodePtr part, Term());
      any->parts.push_back(std::move(part));
      if (!IsKeyword("OR")) break;
      SLUICE_RETURN_IF_ERROR(Advance());
    }
    return Simplest(std::move(any));
  }

  StatusOr<NodePtr> Term() {
    bool is_negated = false;
    if (IsKeyword("NOT") || IsKeyword("-")) {
      is_negated = true;
      SLUICE_RETURN_IF_ERROR(Advance());
    } else if (token_.kind == TokenKind::kWord && token_.text.front() == '-') {
      is_negated = true;
      token_.text.erase(0, 1);
      ++token_.position;
    }
    SLUICE_ASSIGN_OR_RETURN(NodePtr inner, Simple());
    if (!is_negated) return inner;
    auto negation = std::make_unique<Node>();
    negation->kind = Node::Kind::kNot;
    negation->parts.push_back(std::move(inner));
    return NodePtr(std::move(negation));
  }

  StatusOr<NodePtr> Simple() {
    if (token_.kind != TokenKind::kOpen) return Condition();
    const std::size_t opened = token_.position;
    if (++depth_ > kFilterDepthMax) {
      return SyntaxError(opened, fmt::format("parentheses nest deeper than {}", kFilterDepthMax));
    }
    SLUICE_RETURN_IF_ERROR(Advance());
    SLUICE_ASSIGN_OR_RETURN(NodePtr inner, Expression());
    if (token_.kind != TokenKind::kClose) {
      return SyntaxError(opened, "the parenthesis is never closed");
    }
    --depth_;
    SLUICE_RETURN_IF_ERROR(Advance());
    return inner;
  }

  StatusOr<NodePtr> Condition() {
    if (token_.kind != TokenKind::kWord) {
      return SyntaxError(token_.position, "a field name is expected here");
    }
    const Token field = token_;
    SLUICE_RETURN_IF_ERROR(Advance());
    if (token_.kind != TokenKind::kOperator) {
      return SyntaxError(token_.position,
                         fmt::format("after \"{}\" one of = != < <= > >= : is expected",
                                     std::string_view(field.text).substr(0, kShownLengthMax)));
    }
    const FilterOperator op = token_.op;
    SLUICE_RETURN_IF_ERROR(Advance());
    if (token_.kind != TokenKind::kWord && token_.kind != TokenKind::kQuoted) {
      return SyntaxError(token_.position, "a value is expected here");
    }
    auto condition = FilterCondition::Make(message_, field.text, op, token_.text,
                                           token_.kind == TokenKind::kQuoted);
    if (!condition.ok()) return SyntaxError(field.position, Message(condition.status()));
    SLUICE_RETURN_IF_ERROR(Advance());
    auto node = std::make_unique<Node>();
    node->kind = Node::Kind::kCondition;
    node->condition = *std::move(condition);
    return NodePtr(std::move(node));
  }

  static NodePtr Simplest(std::unique_ptr<Node> node) {
    if (node->parts.size() == 1) return std::move(node->parts.front());
    return node;
  }

  Lexer lexer_;
  const Descriptor& message_;
  Token token_;
  int depth_ = 0;
};

bool Holds(const Node& node, const google::protobuf::Message& message) {
  const auto part_holds = [&message](const NodePtr& part) { return Holds(*part, message); };
  switch (node.kind) {
    case Node::Kind::kAll:
      return std::all_of(node.parts.begin(), node.parts.end(), part_holds);
    case Node::Kind::kAny:
      return std::any_of(node.parts.begin(), node.parts.end(), part_holds);
    case Node::Kind::kNot:
      return !Holds(*node.parts.front(), message);
    case Node::Kind::kCondition:
      return node.condition.Matches(message);
  }
  return false;
}

bool IsAbout(const Node& node, std::string_view name) {
  if (node.kind == Node::Kind::kCondition) return node.condition.root().name() == name;
  return std::any_of(node.parts.begin(), node.parts.end(),
                     [name](const NodePtr& part) { return IsAbout(*part, name); });
}

}  // namespace

Filter::Filter() = default;
Filter::~Filter() = default;
Filter::Filter(Filter&&) noexcept = default;
Filter& Filter::operator=(Filter&&) noexcept = default;

StatusOr<Filter> Filter::Parse(std::string_view text, const Descriptor& message) {
  if (text.size() > kFilterBytesMax) {
    return AtField(kField, InvalidArgument("{} has {} bytes; allowed are {}", kField, text.size(),
                                           kFilterBytesMax));
  }
  Filter filter;
  SLUICE_ASSIGN_OR_RETURN(filter.root_, Parser(text, message).Run());
  return filter;
}

bool Filter::Touches(std::string_view name) const {
  return root_ != nullptr && IsAbout(*root_, name);
}

bool Filter::Matches(const google::protobuf::Message& message) const {
  return root_ == nullptr || Holds(*root_, message);
}

}  // namespace sluice::front

// SPDX-License-Identifier: Apache-2.0
#include "front/rest/path_template.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace sluice::front {
namespace {

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

StatusOr<PathTemplate> PathTemplate::Parse(std::string_view text) {
  const auto refused = [text](std::string_view why) {
    return InvalidArgument("path template {}: {}", text, why);
  };
  PathTemplate out;
  std::string_view rest = text;
  if (rest.empty() || rest.front() != '/') return refused("must begin with '/'");
  const std::size_t verb = rest.rfind(':');
  if (verb != std::string_view::npos && verb > rest.rfind('/') + 1 &&
      (rest.find('}', verb) == std::string_view::npos)) {
    out.verb_ = rest.substr(verb + 1);
    rest = rest.substr(0, verb);
  }
  const auto add_segments = [&out](std::string_view pattern) {
    for (const std::string_view segment : Split(pattern, '/')) out.segments_.emplace_back(segment);
  };
  while (!rest.empty()) {
    if (rest.front() != '/') return refused("a variable must fill whole segments");
    rest.remove_prefix(1);
    if (rest.empty() || rest.front() != '{') {
      const std::size_t end = std::min(rest.find('/'), rest.size());
      add_segments(rest.substr(0, end));
      rest.remove_prefix(end);
      continue;
    }
    const std::size_t close = rest.find('}');
    if (close == std::string_view::npos) return refused("a variable is not closed");
    const std::string_view inside = rest.substr(1, close - 1);
    const std::size_t equals = inside.find('=');
    Variable variable{.field = std::string(inside.substr(0, equals)),
                      .first = out.segments_.size()};
    add_segments(equals == std::string_view::npos ? kAny : inside.substr(equals + 1));
    variable.last = out.segments_.size();
    out.variables_.push_back(std::move(variable));
    rest.remove_prefix(close + 1);
  }
  for (const std::string& segment : out.segments_) {
    if (segment.empty() || segment == "**" || segment.find('{') != std::string::npos) {
      return refused("only literals and single '*' are understood");
    }
  }
  return out;
}

std::optional<std::vector<PathBinding>> PathTemplate::Match(std::string_view path) const {
  if (!verb_.empty()) {
    const std::size_t colon = path.rfind(':');
    if (colon == std::string_view::npos || path.substr(colon + 1) != verb_) return std::nullopt;
    path = path.substr(0, colon);
  }
  if (path.empty() || path.front() != '/') return std::nullopt;
  const std::vector<std::string_view> sent = Split(path.substr(1), '/');
  if (sent.size() != segments_.size()) return std::nullopt;
  std::vector<std::string> decoded;
  decoded.reserve(sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    std::optional<std::string> segment = DecodePercent(sent[i]);
    if (!segment || segment->empty() || segment->find('/') != std::string::npos ||
        !IsUtf8(*segment)) {
      return std::nullopt;
    }
    if (segments_[i] != kAny && segments_[i] != *segment) return std::nullopt;
    decoded.push_back(*std::move(segment));
  }
  std::vector<PathBinding> bindings;
  for (const Variable& variable : variables_) {
    PathBinding binding{.field = variable.field};
    for (std::size_t i = variable.first; i < variable.last; ++i) {
      if (i > variable.first) binding.value += '/';
      binding.value += decoded[i];
    }
    bindings.push_back(std::move(binding));
  }
  return bindings;
}

}  // namespace sluice::front

// SPDX-License-Identifier: Apache-2.0
#include "runner/template_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"

namespace sluice::runner {
namespace {

using Encoding = TemplateText::Encoding;

std::optional<Encoding> EncodingByName(std::string_view name) {
  if (name == "raw") return Encoding::kRaw;
  if (name == "url") return Encoding::kUrl;
  if (name == "json") return Encoding::kJson;
  return std::nullopt;
}

std::vector<std::string> SplitPath(std::string_view name) {
  std::vector<std::string> path;
  for (std::size_t begin = 0;;) {
    const std::size_t dot = name.find('.', begin);
    path.emplace_back(name.substr(begin, dot == std::string_view::npos ? dot : dot - begin));
    if (dot == std::string_view::npos) return path;
    begin = dot + 1;
  }
}

const nlohmann::json* Find(const nlohmann::json& record, const std::vector<std::string>& path) {
  const nlohmann::json* at = &record;
  for (const std::string& step : path) {
    if (at->is_object()) {
      const auto found = at->find(step);
      if (found == at->end()) return nullptr;
      at = &*found;
      continue;
    }
    const auto index = ParseNumber<std::size_t>(step);
    if (!at->is_array() || !index || *index >= at->size()) return nullptr;
    at = &(*at)[*index];
  }
  return at;
}

std::string Dump(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

StatusOr<TemplateText> TemplateText::Parse(std::string_view text, Encoding encoding) {
  TemplateText result;
  Part part;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      part.text.push_back(text[i]);
      continue;
    }
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (next == '$') {
      part.text.push_back('$');
      ++i;
      continue;
    }
    const std::size_t end = text.find('}', i);
    if (next != '{' || end == std::string_view::npos) {
      return InvalidArgument(
          "column {}: a dollar sign begins ${{field}}; write $$ for the sign itself", i + 1);
    }
    std::string_view place = text.substr(i + 2, end - i - 2);
    part.encoding = i == 0 && encoding == Encoding::kUrl ? Encoding::kRaw : encoding;
    if (const std::size_t bar = place.find('|'); bar != std::string_view::npos) {
      const std::optional<Encoding> named = EncodingByName(place.substr(bar + 1));
      if (!named) {
        return InvalidArgument("column {}: \"{}\" is none of raw, url, json", i + 1,
                               place.substr(bar + 1));
      }
      part.encoding = *named;
      place = place.substr(0, bar);
    }
    part.path = SplitPath(place);
    if (std::any_of(part.path.begin(), part.path.end(),
                    [](const std::string& step) { return step.empty(); })) {
      return InvalidArgument("column {}: \"{}\" is not a field's name", i + 1, place);
    }
    part.name = std::string(place);
    result.parts_.push_back(std::move(part));
    part = Part{};
    i = end;
  }
  if (!part.text.empty()) result.parts_.push_back(std::move(part));
  return result;
}

StatusOr<std::string> TemplateText::Fill(const nlohmann::json& record) const {
  std::string out;
  for (const Part& part : parts_) {
    out += part.text;
    if (part.name.empty()) continue;
    const nlohmann::json* value = Find(record, part.path);
    if (value == nullptr || value->is_null()) {
      return InvalidArgument("the record's field \"{}\" is {}", part.name,
                             value == nullptr ? "missing" : "null");
    }
    const std::string text = value->is_string() && part.encoding != Encoding::kJson
                                 ? value->get<std::string>()
                                 : Dump(*value);
    if (part.encoding == Encoding::kUrl) {
      AppendPercentEncoded(text, kUnreservedMarks, &out);
    } else {
      out += text;
    }
  }
  return out;
}

bool TemplateText::is_fixed() const {
  return std::all_of(parts_.begin(), parts_.end(), [](const Part& p) { return p.name.empty(); });
}

}  // namespace sluice::runner

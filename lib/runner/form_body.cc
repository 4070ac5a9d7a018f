// SPDX-License-Identifier: Apache-2.0
#include "runner/form_body.h"

#include "base/text.h"

namespace sluice::runner {
namespace {

void AppendEncoded(std::string_view text, std::string* out) {
  while (true) {
    const std::size_t space = text.find(' ');
    AppendPercentEncoded(text.substr(0, space), "-.*_", out);
    if (space == std::string_view::npos) return;
    out->push_back('+');
    text.remove_prefix(space + 1);
  }
}

void AppendPair(std::string_view name, std::string_view value, std::string* out) {
  if (!out->empty()) out->push_back('&');
  AppendEncoded(name, out);
  out->push_back('=');
  AppendEncoded(value, out);
}

Status WrongType(std::string_view name) {
  return InvalidArgument(
      "form-urlencoded takes strings and arrays of strings, and the field \"{}\" is neither", name);
}

}  // namespace

StatusOr<std::string> FormBody(std::string_view text) {
  const auto record = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!record.is_object()) return InvalidArgument("the record is not a JSON object");
  std::string out;
  for (const auto& [name, value] : record.items()) {
    if (value.is_null()) continue;
    if (value.is_string()) {
      AppendPair(name, value.get_ref<const std::string&>(), &out);
      continue;
    }
    if (!value.is_array()) return WrongType(name);
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (value[i].is_null()) {
        return InvalidArgument("element {} of the field \"{}\" is null", i, name);
      }
      if (!value[i].is_string()) return WrongType(name);
      AppendPair(name, value[i].get_ref<const std::string&>(), &out);
    }
  }
  return out;
}

}  // namespace sluice::runner

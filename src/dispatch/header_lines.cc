// SPDX-License-Identifier: Apache-2.0
#include "dispatch/header_lines.h"

#include <algorithm>

#include "base/http_headers.h"

namespace sluice::dispatch {
namespace {

constexpr std::string_view kSeparator = ": ";
constexpr std::size_t kNameInMessageMax = 64;

std::string_view Trimmed(std::string_view value) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t begin = value.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return value.substr(begin, value.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace

void HeaderLines::Clear() {
  text_.clear();
  entries_.clear();
}

Status HeaderLines::Add(std::string_view name, std::string_view value) {
  if (!IsValidHeaderName(name)) {
    return InvalidArgument("header name '{}' has a byte that may not be sent",
                           name.substr(0, kNameInMessageMax));
  }
  if (!IsValidHeaderValue(value)) {
    return InvalidArgument("the value of header '{}' has a byte that may not be sent",
                           name.substr(0, kNameInMessageMax));
  }
  const std::string_view trimmed = Trimmed(value);
  entries_.push_back({text_.size(), name.size(), trimmed.size()});
  text_ += name;
  if (trimmed.empty()) {
    text_ += ';';
  } else {
    text_ += kSeparator;
    text_ += trimmed;
  }
  text_ += '\0';
  return {};
}

void HeaderLines::Remove(std::string_view name) {
  std::erase_if(entries_, [&](const Entry& entry) {
    return IsSameHeader(std::string_view(text_).substr(entry.offset, entry.name_bytes), name);
  });
}

bool HeaderLines::Has(std::string_view name) const {
  for (std::size_t i = 0; i < count(); ++i) {
    if (IsSameHeader(Name(i), name)) return true;
  }
  return false;
}

std::string_view HeaderLines::Name(std::size_t index) const {
  const Entry& entry = entries_[index];
  return std::string_view(text_).substr(entry.offset, entry.name_bytes);
}

std::string_view HeaderLines::Value(std::size_t index) const {
  const Entry& entry = entries_[index];
  if (entry.value_bytes == 0) return {};
  return std::string_view(text_).substr(entry.offset + entry.name_bytes + kSeparator.size(),
                                        entry.value_bytes);
}

char* HeaderLines::Line(std::size_t index) { return text_.data() + entries_[index].offset; }

}  // namespace sluice::dispatch

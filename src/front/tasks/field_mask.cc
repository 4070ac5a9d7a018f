// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/field_mask.h"

#include <google/protobuf/util/field_mask_util.h>

#include <algorithm>
#include <utility>

#include "front/errors.h"

namespace sluice::front {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr std::size_t kShownLengthMax = 100;

// True when `path` is `ancestor` or lies in it.
bool IsWithin(std::string_view path, std::string_view ancestor) {
  return path.starts_with(ancestor) &&
         (path.size() == ancestor.size() || path[ancestor.size()] == '.');
}

// The parts of times and spans are not fields of their own.
bool HasParts(const FieldDescriptor& field) {
  return field.message_type() != nullptr && !field.is_repeated() &&
         !std::string_view(field.message_type()->full_name()).starts_with("google.protobuf.");
}

const FieldDescriptor* Find(const Descriptor& message, const std::string& segment) {
  const FieldDescriptor* field = message.FindFieldByName(segment);
  return field != nullptr ? field : message.FindFieldByCamelcaseName(segment);
}

// `path` in snake_case, or nothing when it leads nowhere.
std::string Canonical(std::string_view path, const Descriptor& root) {
  std::string out;
  const Descriptor* message = &root;
  while (message != nullptr) {
    const std::size_t dot = path.find('.');
    const FieldDescriptor* field = Find(*message, std::string(path.substr(0, dot)));
    if (field == nullptr) return {};
    if (!out.empty()) out += '.';
    out += field->name();
    if (dot == std::string_view::npos) return out;
    path.remove_prefix(dot + 1);
    message = HasParts(*field) ? field->message_type() : nullptr;
  }
  return {};
}

}  // namespace

StatusOr<FieldSelection> FieldSelection::Resolve(const google::protobuf::FieldMask& mask,
                                                 const Descriptor& message,
                                                 std::string_view field) {
  FieldSelection selection;
  bool is_everything = false;
  for (const std::string& path : mask.paths()) {
    if (path == "*") {
      is_everything = true;
      continue;
    }
    std::string canonical = Canonical(path, message);
    if (canonical.empty()) {
      return AtField(field, InvalidArgument("{}: \"{}\" is not a field of {}", field,
                                            path.substr(0, kShownLengthMax), message.name()));
    }
    selection.paths_.push_back(std::move(canonical));
  }
  if (is_everything) selection.paths_.clear();
  return selection;
}

bool FieldSelection::Includes(std::string_view path) const {
  return paths_.empty() || std::any_of(paths_.begin(), paths_.end(),
                                       [path](const auto& named) { return IsWithin(path, named); });
}

bool FieldSelection::Touches(std::string_view path) const {
  return paths_.empty() || std::any_of(paths_.begin(), paths_.end(), [path](const auto& named) {
           return IsWithin(path, named) || IsWithin(named, path);
         });
}

void FieldSelection::Trim(google::protobuf::Message* message) const {
  if (paths_.empty()) return;
  google::protobuf::FieldMask mask;
  for (const std::string& path : paths_) mask.add_paths(path);
  google::protobuf::util::FieldMaskUtil::TrimMessage(mask, message);
}

}  // namespace sluice::front

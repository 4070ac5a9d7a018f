// SPDX-License-Identifier: Apache-2.0
#include "base/names.h"

#include <array>
#include <span>
#include <vector>

namespace sluice {
namespace {

constexpr std::size_t kProjectLengthMax = 128;
constexpr std::size_t kLocationLengthMax = 63;
// Longer inputs are cut in messages, so that an error never repeats a megabyte.
constexpr std::size_t kShownLengthMax = 200;

struct Rule {
  std::string_view collection;  // "projects"
  std::string_view noun;        // "project id"
  std::string_view extra;       // allowed beside letters and digits
  std::size_t length_max;
};

constexpr Rule kProject{"projects", "project id", "-:.", kProjectLengthMax};
constexpr Rule kLocation{"locations", "location id", "-", kLocationLengthMax};
constexpr Rule kQueue{"queues", "queue id", "-", kQueueIdLengthMax};
constexpr Rule kTask{"tasks", "task id", "-_", kTaskIdLengthMax};

std::string Shown(std::string_view text) {
  if (text.size() <= kShownLengthMax) return std::string(text);
  return fmt::format("{}... ({} bytes)", text.substr(0, kShownLengthMax), text.size());
}

bool IsAlphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::vector<std::string_view> SplitAtSlashes(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t slash = text.find('/'); slash != std::string_view::npos;
       slash = text.find('/')) {
    parts.push_back(text.substr(0, slash));
    text.remove_prefix(slash + 1);
  }
  parts.push_back(text);
  return parts;
}

Status CheckId(std::string_view id, const Rule& rule, std::string_view whole) {
  if (id.empty() || id.size() > rule.length_max) {
    return InvalidArgument("resource name \"{}\": the {} has {} characters; allowed are 1 to {}",
                           Shown(whole), rule.noun, id.size(), rule.length_max);
  }
  for (const char c : id) {
    if (!IsAlphanumeric(c) && rule.extra.find(c) == std::string_view::npos) {
      return InvalidArgument(
          "resource name \"{}\": the {} may hold letters, digits and \"{}\" only", Shown(whole),
          rule.noun, rule.extra);
    }
  }
  return absl::OkStatus();
}

std::string Pattern(std::span<const Rule> rules) {
  std::string out;
  for (const Rule& rule : rules) {
    out += fmt::format("{}{}/*", out.empty() ? "" : "/", rule.collection);
  }
  return out;
}

// Splits `name` by `rules` into ids. Errors: INVALID_ARGUMENT.
Status Match(std::string_view name, std::span<const Rule> rules, std::span<std::string_view> ids) {
  const std::vector<std::string_view> parts = SplitAtSlashes(name);
  bool fits = parts.size() == 2 * rules.size();
  for (std::size_t i = 0; fits && i < rules.size(); ++i) {
    fits = parts[2 * i] == rules[i].collection;
  }
  if (!fits) {
    return InvalidArgument("resource name \"{}\" does not have the form \"{}\"", Shown(name),
                           Pattern(rules));
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    ids[i] = parts[2 * i + 1];
    SLUICE_RETURN_IF_ERROR(CheckId(ids[i], rules[i], name));
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<LocationName> LocationName::Parse(std::string_view name) {
  static constexpr std::array kRules{kProject, kLocation};
  std::array<std::string_view, kRules.size()> ids;
  SLUICE_RETURN_IF_ERROR(Match(name, kRules, ids));
  return LocationName{std::string(ids[0]), std::string(ids[1])};
}

StatusOr<QueueName> QueueName::Parse(std::string_view name) {
  static constexpr std::array kRules{kProject, kLocation, kQueue};
  std::array<std::string_view, kRules.size()> ids;
  SLUICE_RETURN_IF_ERROR(Match(name, kRules, ids));
  return QueueName{{std::string(ids[0]), std::string(ids[1])}, std::string(ids[2])};
}

StatusOr<TaskName> TaskName::Parse(std::string_view name) {
  static constexpr std::array kRules{kProject, kLocation, kQueue, kTask};
  std::array<std::string_view, kRules.size()> ids;
  SLUICE_RETURN_IF_ERROR(Match(name, kRules, ids));
  return TaskName{{{std::string(ids[0]), std::string(ids[1])}, std::string(ids[2])},
                  std::string(ids[3])};
}

std::string LocationName::ToString() const {
  return fmt::format("projects/{}/locations/{}", project, location);
}

std::string QueueName::ToString() const {
  return fmt::format("{}/queues/{}", location.ToString(), queue_id);
}

std::string TaskName::ToString() const {
  return fmt::format("{}/tasks/{}", queue.ToString(), task_id);
}

}  // namespace sluice

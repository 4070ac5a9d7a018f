// SPDX-License-Identifier: Apache-2.0
#include "admin/config.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "admin/option_table.h"
#include "admin/value_text.h"

namespace sluice::admin {
namespace {

constexpr std::size_t kMistakesShownMax = 20;
constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::string_view kQueuesKey = "queues";
constexpr double kRateMin = 0.001;

struct QueueSetting {
  QueueKey key;
  std::function<Status(QueueDeclaration&, std::string_view)> set;
};

template <class Member>
QueueSetting Integer(std::string_view path, std::int64_t min, std::int64_t max,
                     std::string_view help, Member member) {
  return {{path, "N", help}, [=](QueueDeclaration& queue, std::string_view text) -> Status {
            SLUICE_ASSIGN_OR_RETURN(const std::int64_t value, ParseInteger(text, min, max));
            queue.settings.*member = static_cast<std::int32_t>(value);
            return {};
          }};
}

template <class Member>
QueueSetting Number(std::string_view path, double min, double max, std::string_view help,
                    Member member) {
  return {{path, "NUMBER", help}, [=](QueueDeclaration& queue, std::string_view text) -> Status {
            SLUICE_ASSIGN_OR_RETURN(queue.settings.*member, ParseReal(text, min, max));
            return {};
          }};
}

template <class Member>
QueueSetting Span(std::string_view path, Duration min, Duration max, std::string_view help,
                  Member member) {
  return {{path, "DURATION", help}, [=](QueueDeclaration& queue, std::string_view text) -> Status {
            SLUICE_ASSIGN_OR_RETURN(queue.settings.*member, ParseSpan(text, min, max));
            return {};
          }};
}

Status SetName(QueueDeclaration& queue, std::string_view text) {
  SLUICE_ASSIGN_OR_RETURN(queue.name, QueueName::Parse(text));
  return {};
}

Status SetState(QueueDeclaration& queue, std::string_view text) {
  if (text == "RUNNING") {
    queue.state = core::QueueState::kRunning;
  } else if (text == "PAUSED") {
    queue.state = core::QueueState::kPaused;
  } else {
    return InvalidArgument("\"{}\" is not one of RUNNING|PAUSED", text);
  }
  return {};
}

// Bounds of ttls: spec 2.1. Rates and concurrency also obey `limits`, which
// may be set later than the queue is read: CheckQueues.
const std::vector<QueueSetting>& QueueSettings() {
  using Patch = core::QueuePatch;
  static const Duration kDay = absl::Hours(24);
  static const Duration kZero = absl::ZeroDuration();
  static const Duration kForever = 3650 * kDay;
  static const std::vector<QueueSetting> table = {
      {{"name", "projects/P/locations/L/queues/Q", "Full resource name. Required, once a file."},
       SetName},
      Number("rate_limits.max_dispatches_per_second", kRateMin, 1e9,
             "Pace: attempts a second, retries included.", &Patch::max_dispatches_per_second),
      Integer("rate_limits.max_burst_size", 1, kInt32Max,
              "Attempts that may leave at once after a pause. Derived from the rate when not "
              "declared.",
              &Patch::max_burst_size),
      Integer("rate_limits.max_concurrent_dispatches", 1, kInt32Max, "Attempts under way at once.",
              &Patch::max_concurrent_dispatches),
      Integer("retry_config.max_attempts", -1, kInt32Max,
              "Attempts of a task, the first included; -1: no limit.", &Patch::max_attempts),
      Span("retry_config.max_retry_duration", kZero, kForever,
           "How long after the first attempt a task is still retried; 0s: no limit.",
           &Patch::max_retry_duration),
      Span("retry_config.min_backoff", kZero, kForever, "Wait before the first retry.",
           &Patch::min_backoff),
      Span("retry_config.max_backoff", kZero, kForever, "Longest wait before a retry.",
           &Patch::max_backoff),
      Integer("retry_config.max_doublings", 0, kInt32Max,
              "How often the wait doubles before it grows by a constant step.",
              &Patch::max_doublings),
      {{"state", "RUNNING|PAUSED", "Applied at start and reload; left alone when not declared."},
       SetState},
      Number("log_sampling_ratio", 0, 1, "Share of attempts that are logged.",
             &Patch::log_sampling_ratio),
      Span("task_ttl", 10 * kDay, kForever, "How long a task may wait before it expires.",
           &Patch::task_ttl),
      Span("tombstone_ttl", absl::Hours(1), 9 * kDay,
           "How long the name of a finished task cannot be used again.", &Patch::tombstone_ttl),
  };
  return table;
}

/// Visits a YAML tree, knows where it is, and collects mistakes.
class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  void ReadRoot(const YAML::Node& root) {
    if (root.IsNull()) return;  // an empty file declares nothing
    ReadMap(root, "", [&](const std::string& key, const YAML::Node& node, const Place& place) {
      if (key == kQueuesKey) {
        ReadQueues(node);
      } else {
        ReadOption(key, node, place);
      }
    });
  }

  void Mistake(const Place& place, std::string text) {
    ++mistake_count_;
    if (mistakes_.size() < kMistakesShownMax) {
      mistakes_.push_back(fmt::format("{}: {}", place.ToString(), text));
    }
  }

  [[nodiscard]] Place PlaceOf(const YAML::Mark& mark) const {
    return {file_, mark.line + 1, mark.column + 1};
  }

  StatusOr<Config> Finish() && {
    if (mistake_count_ == 0) return std::move(config_);
    std::string text;
    for (const std::string& mistake : mistakes_) {
      if (!text.empty()) text += '\n';
      text += mistake;
    }
    if (mistake_count_ > mistakes_.size()) {
      text += fmt::format("\n... and {} more", mistake_count_ - mistakes_.size());
    }
    return InvalidArgument("{}", text);
  }

 private:
  using Entry = std::function<void(const std::string&, const YAML::Node&, const Place&)>;

  /// Calls `entry` with the full path of each key of a map.
  void ReadMap(const YAML::Node& node, const std::string& prefix, const Entry& entry) {
    if (!node.IsMap()) {
      Mistake(PlaceOf(node.Mark()), fmt::format("{} must be a map of keys and values",
                                                prefix.empty() ? "the file" : prefix));
      return;
    }
    std::set<std::string> seen;
    for (const auto& pair : node) {
      const Place place = PlaceOf(pair.first.Mark());
      if (!pair.first.IsScalar()) {
        Mistake(place, "a key must be a plain word");
        continue;
      }
      const std::string key =
          prefix.empty() ? pair.first.Scalar() : prefix + "." + pair.first.Scalar();
      if (!seen.insert(key).second) {
        Mistake(place, fmt::format("{}: given twice", key));
        continue;
      }
      entry(key, pair.second, place);
    }
  }

  /// The text of a scalar; nothing (and a mistake) for anything else.
  std::optional<std::string> ReadScalar(const YAML::Node& node, const std::string& key,
                                        std::string_view form) {
    if (node.IsScalar()) return node.Scalar();
    Mistake(PlaceOf(node.Mark()),
            fmt::format("{}: {}; expected {}", key,
                        node.IsNull() ? "has no value" : "is a list or a map", form));
    return std::nullopt;
  }

  void UnknownKey(const Place& place, const std::string& key,
                  const std::vector<std::string_view>& known) {
    const std::string_view nearest = Nearest(key, known);
    Mistake(place, nearest.empty()
                       ? fmt::format("{}: unknown key", key)
                       : fmt::format("{}: unknown key; did you mean {}?", key, nearest));
  }

  void ReadOption(const std::string& key, const YAML::Node& node, const Place& place) {
    const Option* option = FindOption(key);
    if (option != nullptr && !option->is_in_file) {
      Mistake(place, fmt::format("{}: only as {} or {}, not in the file", key, FlagName(*option),
                                 EnvironmentName(*option)));
      return;
    }
    if (option == nullptr && IsGroup(key)) {
      ReadMap(node, key,
              [&](const std::string& inner, const YAML::Node& value, const Place& inner_place) {
                ReadOption(inner, value, inner_place);
              });
      return;
    }
    if (option == nullptr) {
      std::vector<std::string_view> known = {kQueuesKey};
      for (const Option& each : Options()) {
        if (each.is_in_file) known.push_back(each.key);
      }
      UnknownKey(place, key, known);
      return;
    }
    std::optional<std::string> value;
    if (option->kind == Option::Kind::kList && node.IsSequence()) {
      value.emplace();
      for (const auto& item : node) {
        const std::optional<std::string> text = ReadScalar(item, key, option->value_form);
        if (!text.has_value()) return;
        if (!value->empty()) *value += ',';
        *value += *text;
      }
    } else {
      value = ReadScalar(node, key, option->value_form);
    }
    if (!value.has_value()) return;
    ServerOptions scratch;
    const Place value_place = PlaceOf(node.Mark());
    if (const Status status = option->set(scratch, *value); !status.ok()) {
      Mistake(value_place, fmt::format("{}: {}", key, Message(status)));
      return;
    }
    config_.settings.push_back({key, *std::move(value), value_place});
  }

  static bool IsGroup(const std::string& key) {
    const std::string prefix = key + ".";
    return std::any_of(Options().begin(), Options().end(),
                       [&](const Option& option) { return option.key.starts_with(prefix); });
  }

  void ReadQueues(const YAML::Node& node) {
    if (node.IsNull()) return;
    if (!node.IsSequence()) {
      Mistake(PlaceOf(node.Mark()),
              "queues: must be a list, each entry beginning with \"- name:\"");
      return;
    }
    std::map<QueueName, Place> names;
    std::size_t index = 0;
    for (const auto& item : node) {
      const std::string prefix = fmt::format("queues[{}]", index++);
      QueueDeclaration queue;
      queue.place = PlaceOf(item.Mark());
      ReadQueueMap(item, prefix, prefix, &queue);
      if (!queue.places.contains("name")) {
        if (item.IsMap()) Mistake(queue.place, prefix + ".name: required, but missing or wrong");
        continue;
      }
      const auto [earlier, is_new] = names.emplace(queue.name, queue.place);
      if (!is_new) {
        Mistake(queue.place, fmt::format("{}.name: {} is declared already at {}", prefix,
                                         queue.name.ToString(), earlier->second.ToString()));
        continue;
      }
      CheckBackoff(queue, prefix);
      config_.queues.push_back(std::move(queue));
    }
  }

  /// Keys of a queue, or of a group inside it (`prefix` is longer than `root` then).
  void ReadQueueMap(const YAML::Node& node, const std::string& prefix, const std::string& root,
                    QueueDeclaration* queue) {
    ReadMap(node, prefix, [&](const std::string& key, const YAML::Node& value, const Place& place) {
      const std::string path = key.substr(root.size() + 1);
      const auto& settings = QueueSettings();
      const auto setting = std::find_if(settings.begin(), settings.end(),
                                        [&](const auto& each) { return each.key.path == path; });
      if (setting == settings.end()) {
        const bool is_group = std::any_of(settings.begin(), settings.end(), [&](const auto& each) {
          return each.key.path.starts_with(path + ".");
        });
        if (is_group) {
          ReadQueueMap(value, key, root, queue);
        } else {
          std::vector<std::string_view> known;
          for (const QueueSetting& each : settings) known.push_back(each.key.path);
          UnknownKey(place, path, known);
        }
        return;
      }
      const std::optional<std::string> text = ReadScalar(value, key, setting->key.value_form);
      if (!text.has_value()) return;
      const Place value_place = PlaceOf(value.Mark());
      if (const Status status = setting->set(*queue, *text); !status.ok()) {
        Mistake(value_place, fmt::format("{}: {}", key, Message(status)));
        return;
      }
      queue->places.emplace(path, value_place);
    });
  }

  void CheckBackoff(const QueueDeclaration& queue, const std::string& prefix) {
    const auto& [min, max] = std::tie(queue.settings.min_backoff, queue.settings.max_backoff);
    if (!min.has_value() || !max.has_value() || *min <= *max) return;
    Mistake(queue.places.at("retry_config.min_backoff"),
            fmt::format("{}.retry_config.min_backoff: {} is above max_backoff {}", prefix,
                        SpanText(*min), SpanText(*max)));
  }

  const std::string file_;
  Config config_;
  std::vector<std::string> mistakes_;
  std::size_t mistake_count_ = 0;
};

}  // namespace

namespace {

// Hears where documents begin and nothing else.
class DocumentStarts final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { last_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

  [[nodiscard]] const YAML::Mark& last() const { return last_; }

 private:
  YAML::Mark last_;
};

// The library's own LoadAll never ends on some text that is no YAML (a comma in front
// of it): its parser reports document after document without moving on.
std::optional<YAML::Mark> SecondDocument(const std::string& yaml) {
  std::istringstream stream(yaml);
  YAML::Parser parser(stream);
  DocumentStarts starts;
  if (!parser.HandleNextDocument(starts) || !parser.HandleNextDocument(starts)) return {};
  return starts.last();
}

}  // namespace

std::string Place::ToString() const { return fmt::format("{}:{}:{}", file, line, column); }

const std::vector<QueueKey>& QueueKeys() {
  static const std::vector<QueueKey> keys = [] {
    std::vector<QueueKey> all;
    for (const QueueSetting& setting : QueueSettings()) all.push_back(setting.key);
    return all;
  }();
  return keys;
}

StatusOr<Config> ParseConfig(std::string_view text, std::string_view file_name) {
  if (text.size() > kConfigBytesMax) {
    return InvalidArgument("{}: {} bytes; a configuration file has at most {}", file_name,
                           text.size(), kConfigBytesMax);
  }
  Reader reader(file_name);
  try {
    const std::string yaml(text);
    if (const std::optional<YAML::Mark> second = SecondDocument(yaml)) {
      reader.Mistake(reader.PlaceOf(*second), "a second document; one file has one");
    } else {
      reader.ReadRoot(YAML::Load(yaml));
    }
  } catch (const YAML::Exception& error) {
    const bool has_mark = !error.mark.is_null();
    return InvalidArgument(
        "{}: not YAML: {}",
        has_mark ? reader.PlaceOf(error.mark).ToString() : std::string(file_name), error.msg);
  }
  return std::move(reader).Finish();
}

Status ApplySettings(const Config& config, ServerOptions* options) {
  for (const FileSetting& setting : config.settings) {
    const Option* option = FindOption(setting.key);
    SLUICE_CHECK(option != nullptr, "a parsed setting has an option");
    if (const Status status = option->set(*options, setting.value); !status.ok()) {
      return InvalidArgument("{}: {}: {}", setting.place.ToString(), setting.key, Message(status));
    }
  }
  return {};
}

Status CheckQueues(const Config& config, const core::TaskLimits& limits) {
  std::string mistakes;
  const auto check = [&](const QueueDeclaration& queue, const auto& value, std::string_view path,
                         auto max, std::string_view limit) {
    if (!value.has_value() || *value <= max) return;
    mistakes += fmt::format("{}{}: {} of {}: {} is above {} {}", mistakes.empty() ? "" : "\n",
                            queue.places.find(path)->second.ToString(), path, queue.name.ToString(),
                            *value, limit, max);
  };
  for (const QueueDeclaration& queue : config.queues) {
    check(queue, queue.settings.max_dispatches_per_second, "rate_limits.max_dispatches_per_second",
          limits.dispatches_per_second_max, "limits.dispatches_per_second_max");
    check(queue, queue.settings.max_concurrent_dispatches, "rate_limits.max_concurrent_dispatches",
          limits.concurrent_dispatches_max, "limits.concurrent_dispatches_max");
  }
  if (config.queues.size() > limits.queues_max) {
    mistakes += fmt::format("{}queues: {} declared, above limits.queues_max {}",
                            mistakes.empty() ? "" : "\n", config.queues.size(), limits.queues_max);
  }
  return mistakes.empty() ? Status() : InvalidArgument("{}", mistakes);
}

}  // namespace sluice::admin

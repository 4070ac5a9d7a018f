// SPDX-License-Identifier: Apache-2.0
#include "admin/option_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "admin/value_text.h"
#include "base/names.h"
#include "dispatch/app_engine.h"
#include "dispatch/tokens/key_ring.h"
#include "dispatch/url.h"

namespace sluice::admin {
namespace {

using Kind = Option::Kind;

/// The option that a member pointer names, of the options themselves or of their limits.
template <class T>
T& At(ServerOptions& options, T ServerOptions::*member) {
  return options.*member;
}
template <class T>
T& At(ServerOptions& options, T core::TaskLimits::*member) {
  return options.limits.*member;
}

template <class Member>
Option TextOption(std::string_view key, std::string_view form, std::string_view help,
                  Member member) {
  return {key,
          Kind::kValue,
          form,
          help,
          true,
          [member](ServerOptions& o, std::string_view text) {
            At(o, member) = std::string(text);
            return Status();
          },
          [member](ServerOptions o) { return At(o, member); }};
}

template <class Member>
Option SwitchOption(std::string_view key, std::string_view help, Member member) {
  return {key,
          Kind::kSwitch,
          "true|false",
          help,
          true,
          [member](ServerOptions& o, std::string_view text) -> Status {
            SLUICE_ASSIGN_OR_RETURN(At(o, member), ParseBool(text));
            return {};
          },
          [member](ServerOptions o) { return std::string(At(o, member) ? "true" : "false"); }};
}

/// For integers of any width that holds `min` to `max`.
template <class Member>
Option IntegerOption(std::string_view key, std::int64_t min, std::int64_t max,
                     std::string_view help, Member member) {
  return {key,
          Kind::kValue,
          "N",
          help,
          true,
          [=](ServerOptions& o, std::string_view text) -> Status {
            SLUICE_ASSIGN_OR_RETURN(const std::int64_t value, ParseInteger(text, min, max));
            auto& target = At(o, member);
            target = static_cast<std::remove_reference_t<decltype(target)>>(value);
            return {};
          },
          [member](ServerOptions o) { return fmt::format("{}", At(o, member)); }};
}

template <class Member>
Option NumberOption(std::string_view key, double min, double max, std::string_view help,
                    Member member) {
  return {key,
          Kind::kValue,
          "NUMBER",
          help,
          true,
          [=](ServerOptions& o, std::string_view text) -> Status {
            SLUICE_ASSIGN_OR_RETURN(At(o, member), ParseReal(text, min, max));
            return {};
          },
          [member](ServerOptions o) { return fmt::format("{}", At(o, member)); }};
}

template <class Member>
Option SpanOption(std::string_view key, Duration min, Duration max, std::string_view help,
                  Member member) {
  return {key,
          Kind::kValue,
          "DURATION",
          help,
          true,
          [=](ServerOptions& o, std::string_view text) -> Status {
            SLUICE_ASSIGN_OR_RETURN(At(o, member), ParseSpan(text, min, max));
            return {};
          },
          [member](ServerOptions o) { return SpanText(At(o, member)); }};
}

/// `names` are in the order of the enumeration's values; `form` joins them with |.
template <class Member>
Option ChoiceOption(std::string_view key, std::string_view form,
                    std::vector<std::string_view> names, std::string_view help, Member member) {
  return {
      key,
      Kind::kValue,
      form,
      help,
      true,
      [=](ServerOptions& o, std::string_view text) -> Status {
        const auto found = std::find(names.begin(), names.end(), text);
        if (found == names.end()) {
          return InvalidArgument("\"{}\" is not one of {}", text, form);
        }
        auto& target = At(o, member);
        target = static_cast<std::remove_reference_t<decltype(target)>>(found - names.begin());
        return {};
      },
      [=](ServerOptions o) { return std::string(names[static_cast<std::size_t>(At(o, member))]); }};
}

/// Calls `take` with each part of a list with commas; an empty text is an empty list.
template <class Take>
Status ForEachPart(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    SLUICE_RETURN_IF_ERROR(take(text.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return {};
}

Status SetListen(ServerOptions& options, std::string_view text) {
  std::vector<ListenAddress> addresses;
  SLUICE_RETURN_IF_ERROR(ForEachPart(text, [&](std::string_view part) -> Status {
    SLUICE_ASSIGN_OR_RETURN(ListenAddress address, ListenAddress::Parse(part));
    addresses.push_back(std::move(address));
    return {};
  }));
  if (addresses.empty()) return InvalidArgument("name at least one address, as HOST:PORT");
  options.listen = std::move(addresses);
  return {};
}

std::string ShowListen(const ServerOptions& options) {
  std::string text;
  for (const ListenAddress& address : options.listen) {
    if (!text.empty()) text += ',';
    text += address.ToString();
  }
  return text;
}

Status SetLocations(ServerOptions& options, std::string_view text) {
  std::vector<std::string> ids;
  const Status status = ForEachPart(text, [&](std::string_view part) -> Status {
    ids.emplace_back(part);
    return LocationName::Parse(fmt::format("projects/p/locations/{}", part)).status();
  });
  if (!status.ok()) return status;
  if (ids.empty()) return InvalidArgument("name at least one location");
  options.locations = std::move(ids);
  return {};
}

std::string ShowLocations(const ServerOptions& options) {
  return fmt::format("{}", fmt::join(options.locations, ","));
}

Status SetAppEngineTargets(ServerOptions& options, std::string_view text) {
  std::vector<std::string> entries;
  SLUICE_RETURN_IF_ERROR(ForEachPart(text, [&](std::string_view part) -> Status {
    entries.emplace_back(part);
    return {};
  }));
  SLUICE_RETURN_IF_ERROR(dispatch::MakeAppEngineTable(entries).status());
  options.app_engine_targets = std::move(entries);
  return {};
}

std::string ShowAppEngineTargets(const ServerOptions& options) {
  return fmt::format("{}", fmt::join(options.app_engine_targets, ","));
}

Status SetTokensIssuer(ServerOptions& options, std::string_view text) {
  const bool is_url =
      text.empty() || (dispatch::UrlForRequest(text).ok() &&
                       text.find_first_of("?#") == std::string_view::npos && !text.ends_with('/'));
  if (!is_url) {
    return InvalidArgument(
        "\"{}\" is not an issuer: write http:// or https:// and a host, "
        "without query, fragment and a slash at the end",
        text);
  }
  options.tokens_issuer = text;
  return {};
}

Status SetAcceptLogLoss(ServerOptions& options, std::string_view text) {
  std::vector<log::Position> positions;
  SLUICE_RETURN_IF_ERROR(ForEachPart(text, [&](std::string_view part) -> Status {
    SLUICE_ASSIGN_OR_RETURN(const std::int64_t position,
                            ParseInteger(part, 0, std::numeric_limits<std::int64_t>::max()));
    positions.push_back(static_cast<log::Position>(position));
    return {};
  }));
  options.accept_log_loss = std::move(positions);
  return {};
}

std::string ShowAcceptLogLoss(const ServerOptions& options) {
  return fmt::format("{}", fmt::join(options.accept_log_loss, ","));
}

Option FlagOnly(Option option) {
  option.is_in_file = false;
  return option;
}

constexpr std::int64_t kMebibyte = 1 << 20;

std::vector<Option> BuildTable() {
  using O = ServerOptions;
  using L = core::TaskLimits;
  std::vector<Option> table;
  const auto add = [&](Option option) { table.push_back(std::move(option)); };

  add(FlagOnly(TextOption("config", "FILE", "Configuration file (YAML); read again on SIGHUP.",
                          &O::config)));
  add({"listen", Kind::kList, "HOST:PORT", "Where to listen; port 0 takes any free port.", true,
       SetListen, ShowListen});
  add(SwitchOption("allow_plaintext_remote",
                   "Serve without TLS on an address that other machines reach.",
                   &O::allow_plaintext_remote));
  add(TextOption("tls.cert", "FILE", "Certificate chain (PEM); needs tls.key.", &O::tls_cert));
  add(TextOption("tls.key", "FILE", "Private key (PEM); needs tls.cert.", &O::tls_key));
  add(FlagOnly(TextOption("port_file", "FILE",
                          "Write the first listener's port here once ready, atomically.",
                          &O::port_file)));
  add({"locations", Kind::kList, "ID",
       "Locations told to clients that list them, beside those that have a queue.", true,
       SetLocations, ShowLocations});
  add(TextOption("data_dir", "DIR", "Where queues and tasks are kept; created when missing.",
                 &O::data_dir));
  add(SwitchOption("in_memory", "Keep everything in memory: nothing survives the process.",
                   &O::in_memory));
  add(ChoiceOption("durability", "sync|os", {"sync", "os"},
                   "sync: a power cut loses nothing acknowledged. os: a killed process loses "
                   "nothing, a power cut up to a second.",
                   &O::durability));
  add(FlagOnly({"accept_log_loss", Kind::kList, "POSITION",
                "Give up the damaged part of the log that a message about damage names.", true,
                SetAcceptLogLoss, ShowAcceptLogLoss}));
  add(SpanOption("shutdown_grace", absl::ZeroDuration(), absl::Hours(1),
                 "How long a stop waits for calls and attempts that are under way.",
                 &O::shutdown_grace));
  add(SwitchOption("virtual_time", "Time stands still and moves only by /admin/v1/time:advance.",
                   &O::virtual_time));
  add(SwitchOption("enable_fault_injection", "Allow faults to be set by /admin/v1/faults.",
                   &O::enable_fault_injection));
  add(IntegerOption("fault_seed", 0, std::numeric_limits<std::int64_t>::max(),
                    "Start of the random sequence that decides faults with a probability.",
                    &O::fault_seed));
  add(ChoiceOption("log.level", "debug|info|warn|error|off",
                   {"debug", "info", "warn", "error", "off"}, "The least severe line written.",
                   &O::log_level));
  add(ChoiceOption("log.format", "text|json", {"text", "json"},
                   "One line an event: key=value, or a JSON object.", &O::log_format));
  add(SwitchOption("dispatch.skip_tls_verification",
                   "Do not verify certificates of task targets. For test targets only.",
                   &O::dispatch_skip_tls_verification));
  add(SwitchOption("dispatch.follow_redirects",
                   "Follow redirects of task targets; otherwise a redirect is a failed attempt.",
                   &O::dispatch_follow_redirects));
  add(SwitchOption("dispatch.throttle",
                   "Slow a queue down whose target answers 429 or 503, and obey Retry-After.",
                   &L::throttles));
  add(SwitchOption("dispatch.empty_override_clears",
                   "An empty path or query in a queue's uri_override clears the tasks'; otherwise "
                   "it asks for nothing.",
                   &O::dispatch_empty_override_clears));
  add({"app_engine.targets", Kind::kList, "SERVICE[/VERSION[/INSTANCE]]=URL",
       "Where App Engine tasks go, by the part of the application they name; *=URL for all "
       "others. A task that names none is for the service default.",
       true, SetAppEngineTargets, ShowAppEngineTargets});
  add(SpanOption("app_engine.dispatch_deadline", absl::Seconds(15),
                 absl::Hours(24) + absl::Seconds(15), "Deadline of App Engine tasks that set none.",
                 &O::app_engine_dispatch_deadline));
  add({"tokens.issuer", Kind::kValue, "URL",
       "The issuer of the tokens that tasks carry: a URL at which handlers reach this server. "
       "The first address it listens on when empty.",
       true, SetTokensIssuer, [](const O& options) { return options.tokens_issuer; }});
  add(SpanOption("tokens.key_lifetime", absl::Hours(24), absl::Hours(24 * 3650),
                 "How long one key signs tokens before the next one does.",
                 &O::tokens_key_lifetime));

  add(NumberOption("limits.dispatches_per_second_max", 0.001, 1e9,
                   "Highest rate a queue may ask for.", &L::dispatches_per_second_max));
  add(IntegerOption("limits.concurrent_dispatches_max", 1, 1'000'000,
                    "Highest concurrency a queue may ask for.", &L::concurrent_dispatches_max));
  add(SpanOption("limits.schedule_ahead_max", absl::Seconds(1), absl::Hours(24 * 3650),
                 "How far ahead a task may be scheduled.", &L::schedule_ahead_max));
  add(SpanOption("limits.queue_name_reservation", absl::ZeroDuration(), absl::Hours(24 * 365),
                 "How long the name of a deleted queue cannot be used again.",
                 &L::queue_name_reservation));
  add(SpanOption("limits.tombstone_ttl_default", absl::Hours(1), absl::Hours(24 * 9),
                 "How long the name of an ended task stays taken, where a queue does not say.",
                 &L::tombstone_ttl_default));
  add(SpanOption("limits.derived_burst_span", absl::ZeroDuration(), absl::Seconds(10),
                 "A queue's burst is what its rate gives in this time, at least 10.",
                 &L::derived_burst_span));
  add(IntegerOption("limits.queues_max", 1, 10'000'000, "Queues of all locations together.",
                    &L::queues_max));
  add(IntegerOption("limits.in_flight_max", 1, 1'000'000,
                    "Attempts of all queues under way at once.", &L::in_flight_max));
  add(IntegerOption("limits.in_flight_bytes_max", kMebibyte, std::int64_t{1} << 40,
                    "Bytes of task bodies of those attempts.", &L::in_flight_bytes_max));
  add(IntegerOption("limits.window_rows_max", 1, 1'000'000,
                    "Schedule entries kept in memory for each queue.", &L::window_rows_max));
  add(IntegerOption("limits.window_rows_low", 0, 1'000'000,
                    "Below this many the next part of a schedule is read.", &L::window_rows_low));
  add(IntegerOption("limits.prefetch_rows_max", 1, 100'000,
                    "Task bodies read ahead for each queue.", &L::prefetch_rows_max));
  add(IntegerOption("limits.dead_letters_max", 0, 10'000'000,
                    "Tasks that used up their attempts, kept in each queue; 0 keeps none.",
                    &L::dead_letters_max));
  add(IntegerOption("limits.dead_letter_bytes_max", 0, std::int64_t{1} << 40,
                    "The same in bytes of requests; the oldest go first.",
                    &L::dead_letter_bytes_max));
  add(SpanOption("limits.dead_letter_ttl", absl::Seconds(1), absl::Hours(24 * 3650),
                 "How long such a task is kept.", &L::dead_letter_ttl));
  add(IntegerOption("limits.purge_rows_max", 1, 100'000,
                    "Purged or expired tasks removed in one step.", &L::purge_rows_max));
  return table;
}

std::string Replaced(std::string_view key, char separator) {
  std::string name(key);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '.' || c == '_'; }, separator);
  return name;
}

}  // namespace

const std::vector<Option>& Options() {
  static const std::vector<Option> table = BuildTable();
  return table;
}

const Option* FindOption(std::string_view key) {
  for (const Option& option : Options()) {
    if (option.key == key) return &option;
  }
  return nullptr;
}

std::string FlagName(const Option& option) { return "--" + Replaced(option.key, '-'); }

std::string EnvironmentName(const Option& option) {
  std::string name = "SLUICE_" + Replaced(option.key, '_');
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return name;
}

Status ApplyEnvironment(const std::function<const char*(const char*)>& read,
                        ServerOptions* options) {
  for (const Option& option : Options()) {
    const std::string name = EnvironmentName(option);
    const char* value = read(name.c_str());
    if (value == nullptr || *value == '\0') continue;
    if (const Status status = option.set(*options, value); !status.ok()) {
      return InvalidArgument("environment variable {}: {}", name, Message(status));
    }
  }
  return {};
}

}  // namespace sluice::admin

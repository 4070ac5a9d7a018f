// SPDX-License-Identifier: Apache-2.0
#include "admin/option_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "admin/value_text.h"

namespace sluice::admin {
namespace {

using Kind = Option::Kind;

template <class Access>
Option TextOption(std::string_view key, std::string_view form, std::string_view help,
                  Access access) {
  return {key,
          Kind::kValue,
          form,
          help,
          true,
          [access](ServerOptions& o, std::string_view text) {
            access(o) = std::string(text);
            return Status();
          },
          [access](ServerOptions o) { return access(o); }};
}

template <class Access>
Option SwitchOption(std::string_view key, std::string_view help, Access access) {
  return {key,
          Kind::kSwitch,
          "true|false",
          help,
          true,
          [access](ServerOptions& o, std::string_view text) -> Status {
            SLUICE_ASSIGN_OR_RETURN(access(o), ParseBool(text));
            return {};
          },
          [access](ServerOptions o) { return std::string(access(o) ? "true" : "false"); }};
}

/// For integers of any width that holds `min` to `max`.
template <class Access>
Option IntegerOption(std::string_view key, std::int64_t min, std::int64_t max,
                     std::string_view help, Access access) {
  return {key,
          Kind::kValue,
          "N",
          help,
          true,
          [=](ServerOptions& o, std::string_view text) -> Status {
            SLUICE_ASSIGN_OR_RETURN(const std::int64_t value, ParseInteger(text, min, max));
            auto& target = access(o);
            target = static_cast<std::remove_reference_t<decltype(target)>>(value);
            return {};
          },
          [access](ServerOptions o) { return fmt::format("{}", access(o)); }};
}

template <class Access>
Option NumberOption(std::string_view key, double min, double max, std::string_view help,
                    Access access) {
  return {key,
          Kind::kValue,
          "NUMBER",
          help,
          true,
          [=](ServerOptions& o, std::string_view text) -> Status {
            SLUICE_ASSIGN_OR_RETURN(access(o), ParseNumber(text, min, max));
            return {};
          },
          [access](ServerOptions o) { return fmt::format("{}", access(o)); }};
}

template <class Access>
Option SpanOption(std::string_view key, Duration min, Duration max, std::string_view help,
                  Access access) {
  return {key,
          Kind::kValue,
          "DURATION",
          help,
          true,
          [=](ServerOptions& o, std::string_view text) -> Status {
            SLUICE_ASSIGN_OR_RETURN(access(o), ParseSpan(text, min, max));
            return {};
          },
          [access](ServerOptions o) { return SpanText(access(o)); }};
}

/// `names` are in the order of the enumeration's values; `form` joins them with |.
template <class Access>
Option ChoiceOption(std::string_view key, std::string_view form,
                    std::vector<std::string_view> names, std::string_view help, Access access) {
  return {key,
          Kind::kValue,
          form,
          help,
          true,
          [=](ServerOptions& o, std::string_view text) -> Status {
            const auto found = std::find(names.begin(), names.end(), text);
            if (found == names.end()) {
              return InvalidArgument("\"{}\" is not one of {}", text, form);
            }
            auto& target = access(o);
            target = static_cast<std::remove_reference_t<decltype(target)>>(found - names.begin());
            return {};
          },
          [=](ServerOptions o) { return std::string(names[static_cast<std::size_t>(access(o))]); }};
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
  std::vector<Option> table;
  const auto add = [&](Option option) { table.push_back(std::move(option)); };

  add(FlagOnly(TextOption(
      "config", "FILE", "Configuration file (YAML); read again on SIGHUP.",
      [](O & o) -> auto& { return o.config; })));
  add({"listen", Kind::kList, "HOST:PORT", "Where to listen; port 0 takes any free port.", true,
       SetListen, ShowListen});
  add(SwitchOption(
      "allow_plaintext_remote", "Serve without TLS on an address that other machines reach.",
      [](O & o) -> auto& { return o.allow_plaintext_remote; }));
  add(TextOption(
      "tls.cert", "FILE", "Certificate chain (PEM); needs tls.key.",
      [](O & o) -> auto& { return o.tls_cert; }));
  add(TextOption(
      "tls.key", "FILE", "Private key (PEM); needs tls.cert.",
      [](O & o) -> auto& { return o.tls_key; }));
  add(FlagOnly(TextOption(
      "port_file", "FILE", "Write the first listener's port here once ready, atomically.",
      [](O & o) -> auto& { return o.port_file; })));
  add(TextOption(
      "data_dir", "DIR", "Where queues and tasks are kept; created when missing.",
      [](O & o) -> auto& { return o.data_dir; }));
  add(SwitchOption(
      "in_memory", "Keep everything in memory: nothing survives the process.",
      [](O & o) -> auto& { return o.in_memory; }));
  add(ChoiceOption(
      "durability", "sync|os", {"sync", "os"},
      "sync: a power cut loses nothing acknowledged. os: a killed process loses "
      "nothing, a power cut up to a second.",
      [](O & o) -> auto& { return o.durability; }));
  add(SpanOption(
      "shutdown_grace", absl::ZeroDuration(), absl::Hours(1),
      "How long a stop waits for calls and attempts that are under way.",
      [](O & o) -> auto& { return o.shutdown_grace; }));
  add(SwitchOption(
      "virtual_time", "Time stands still and moves only by /admin/v1/time:advance.",
      [](O & o) -> auto& { return o.virtual_time; }));
  add(SwitchOption(
      "enable_fault_injection", "Allow faults to be set by /admin/v1/faults.",
      [](O & o) -> auto& { return o.enable_fault_injection; }));
  add(IntegerOption(
      "fault_seed", 0, std::numeric_limits<std::int64_t>::max(),
      "Start of the random sequence that decides faults with a probability.",
      [](O & o) -> auto& { return o.fault_seed; }));
  add(ChoiceOption(
      "log.level", "debug|info|warn|error|off", {"debug", "info", "warn", "error", "off"},
      "The least severe line written.", [](O & o) -> auto& { return o.log_level; }));
  add(ChoiceOption(
      "log.format", "text|json", {"text", "json"},
      "One line an event: key=value, or a JSON object.",
      [](O & o) -> auto& { return o.log_format; }));
  add(SwitchOption(
      "dispatch.skip_tls_verification",
      "Do not verify certificates of task targets. For test targets only.",
      [](O & o) -> auto& { return o.dispatch_skip_tls_verification; }));
  add(SwitchOption(
      "dispatch.follow_redirects",
      "Follow redirects of task targets; otherwise a redirect is a failed attempt.",
      [](O & o) -> auto& { return o.dispatch_follow_redirects; }));

  add(NumberOption(
      "limits.dispatches_per_second_max", 0.001, 1e9, "Highest rate a queue may ask for.",
      [](O & o) -> auto& { return o.limits.dispatches_per_second_max; }));
  add(IntegerOption(
      "limits.concurrent_dispatches_max", 1, 1'000'000, "Highest concurrency a queue may ask for.",
      [](O & o) -> auto& { return o.limits.concurrent_dispatches_max; }));
  add(SpanOption(
      "limits.schedule_ahead_max", absl::Seconds(1), absl::Hours(24 * 3650),
      "How far ahead a task may be scheduled.",
      [](O & o) -> auto& { return o.limits.schedule_ahead_max; }));
  add(SpanOption(
      "limits.queue_name_reservation", absl::ZeroDuration(), absl::Hours(24 * 365),
      "How long the name of a deleted queue cannot be used again.",
      [](O & o) -> auto& { return o.limits.queue_name_reservation; }));
  add(IntegerOption(
      "limits.queues_max", 1, 10'000'000, "Queues of all locations together.",
      [](O & o) -> auto& { return o.limits.queues_max; }));
  add(IntegerOption(
      "limits.in_flight_max", 1, 1'000'000, "Attempts of all queues under way at once.",
      [](O & o) -> auto& { return o.limits.in_flight_max; }));
  add(IntegerOption(
      "limits.in_flight_bytes_max", kMebibyte, std::int64_t{1} << 40,
      "Bytes of task bodies of those attempts.",
      [](O & o) -> auto& { return o.limits.in_flight_bytes_max; }));
  add(IntegerOption(
      "limits.window_rows_max", 1, 1'000'000, "Schedule entries kept in memory for each queue.",
      [](O & o) -> auto& { return o.limits.window_rows_max; }));
  add(IntegerOption(
      "limits.window_rows_low", 0, 1'000'000,
      "Below this many the next part of a schedule is read.",
      [](O & o) -> auto& { return o.limits.window_rows_low; }));
  add(IntegerOption(
      "limits.prefetch_rows_max", 1, 100'000, "Task bodies read ahead for each queue.",
      [](O & o) -> auto& { return o.limits.prefetch_rows_max; }));
  add(IntegerOption(
      "limits.purge_rows_max", 1, 100'000, "Purged or expired tasks removed in one step.",
      [](O & o) -> auto& { return o.limits.purge_rows_max; }));
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

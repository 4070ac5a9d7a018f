// SPDX-License-Identifier: Apache-2.0
#include "runner/options.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <functional>

#include "base/http_headers.h"
#include "base/names.h"
#include "base/text.h"
#include "sluice/sink/endpoint.h"

namespace sluice::runner {
namespace {

using Setter = std::function<Status(RunnerOptions&, const std::string&)>;
struct Entry {
  OptionInfo info;
  Setter set;
};

template <typename T>
Setter Text(T RunnerOptions::*part, std::string T::*field) {
  return [=](RunnerOptions& o, const std::string& value) {
    (o.*part).*field = value;
    return Status();
  };
}

Setter Text(std::string RunnerOptions::*field) {
  return [=](RunnerOptions& o, const std::string& value) {
    o.*field = value;
    return Status();
  };
}

/// Of the HTTP and of the App Engine family alike.
Setter Mapped(std::string MappingOptions::*field) { return Text(&RunnerOptions::mapping, field); }

Setter Count(std::optional<int> SinkOptions::*field) {
  return [=](RunnerOptions& o, const std::string& value) {
    const auto number = ParseNumber<int>(value);
    if (!number || *number < 1) {
      return InvalidArgument("\"{}\" is not a whole number from 1 to 2147483647", value);
    }
    o.sink.*field = number;
    return Status();
  };
}

Setter Span(std::optional<Duration> SinkOptions::*field, Duration least) {
  return [=](RunnerOptions& o, const std::string& value) {
    SLUICE_ASSIGN_OR_RETURN(const Duration span, ParseDuration(value));
    if (span < least) {
      return InvalidArgument("\"{}\" is below the least of {}", value, absl::FormatDuration(least));
    }
    o.sink.*field = span;
    return Status();
  };
}

StatusOr<bool> ParseBool(const std::string& value) {
  if (value.empty() || value == "true") return true;
  if (value == "false") return false;
  return InvalidArgument("\"{}\" is neither true nor false", value);
}

Setter Switch(std::optional<bool> SinkOptions::*field) {
  return [=](RunnerOptions& o, const std::string& value) {
    SLUICE_ASSIGN_OR_RETURN(o.sink.*field, ParseBool(value));
    return Status();
  };
}

Setter OneOf(std::vector<std::string> allowed, Setter then) {
  return [allowed = std::move(allowed), then = std::move(then)](RunnerOptions& o,
                                                                const std::string& value) {
    if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
      return InvalidArgument("\"{}\" is none of {}", value, fmt::join(allowed, ", "));
    }
    return then(o, value);
  };
}

const std::vector<std::string>& Methods() {
  static const std::vector<std::string> kMethods = {"POST",   "GET",   "HEAD",   "PUT",
                                                    "DELETE", "PATCH", "OPTIONS"};
  return kMethods;
}

Status SetFrom(RunnerOptions& o, const std::string& value) {
  o.from.push_back(value);
  return {};
}

Status SetInterval(RunnerOptions& o, const std::string& value) {
  SLUICE_ASSIGN_OR_RETURN(o.checkpoint_interval, ParseDuration(value));
  if (o.checkpoint_interval < absl::Milliseconds(10)) {
    return InvalidArgument("\"{}\" is below the least of 10ms", value);
  }
  return {};
}

Status AddHeader(std::string_view name, const std::string& value, RunnerOptions* options) {
  if (!IsValidHeaderName(name)) return InvalidArgument("\"{}\" is not a header's name", name);
  for (const auto& [known, ignored] : options->mapping.headers) {
    if (IsSameHeader(known, name)) return InvalidArgument("the header {} is given twice", name);
  }
  options->mapping.headers.emplace_back(std::string(name), value);
  return {};
}

Status SetHeaders(RunnerOptions& o, const std::string& value) {
  SLUICE_ASSIGN_OR_RETURN(const HeaderList headers, ParseHeaderList(value));
  for (const auto& [name, text] : headers) SLUICE_RETURN_IF_ERROR(AddHeader(name, text, &o));
  return {};
}

std::vector<Entry> MakeTable() {
  using M = MappingOptions;
  using S = SinkOptions;
  using R = RunnerOptions;
  const Duration ms = absl::Milliseconds(1);
  return {
      {{"from", "FILE|-", "Newline-delimited JSON to read; may repeat"}, SetFrom},
      {{"queue", "NAME", "projects/P/locations/L/queues/Q"}, Text(&R::queue)},
      {{"endpoint", "HOST:PORT", "A Sluice server; plaintext unless --tls. Without it: Google"},
       Text(&R::endpoint)},
      {{"emulator-endpoint", "HOST:PORT", "An emulator: plaintext, one channel, no credentials"},
       Text(&R::emulator_endpoint)},
      {{"tls", "", "Use TLS to --endpoint"},
       [](R& o, const std::string& v) {
         SLUICE_ASSIGN_OR_RETURN(o.is_tls, ParseBool(v));
         return Status();
       }},
      {{"tls-root-file", "FILE", "Certificates to trust, PEM; the system's without it"},
       Text(&R::tls_root_file)},
      {{"service-account-key-file", "FILE", "Key to call Google with; read once at the start"},
       Text(&R::key_file)},
      {{"checkpoint-dir", "DIR", "Where progress is kept; needed for exactly-once"},
       Text(&R::checkpoint_dir)},
      {{"checkpoint-interval", "TIME", "Time between checkpoints (10s)"}, SetInterval},
      {{"on-failure", "POLICY", "fail, drop, or dead-letter-file (at-least-once only)"},
       OneOf({"fail", "drop", "dead-letter-file"}, Text(&R::failure_policy))},
      {{"dead-letter-file", "FILE", "Where records go that cannot become tasks"},
       Text(&R::dead_letter_file)},
      {{"target.type", "TYPE", "http or app-engine"},
       OneOf({"http", "app-engine"},
             [](R& o, const std::string& v) {
               o.mapping.is_app_engine = v == "app-engine";
               return Status();
             })},
      {{"http.url", "TEMPLATE", "Where the task's request goes"}, Mapped(&M::url)},
      {{"http.method", "METHOD", "POST, GET, HEAD, PUT, DELETE, PATCH or OPTIONS"},
       OneOf(Methods(), Mapped(&M::method))},
      {{"http.headers", "K:V,...", "Headers in one text, values TEMPLATEs; or one by one"},
       SetHeaders},
      {{"http.oidc.service-account-email", "EMAIL", "Send an OIDC token of this account"},
       Mapped(&M::oidc_email)},
      {{"http.oidc.audience", "TEXT", "Audience of the OIDC token"}, Mapped(&M::oidc_audience)},
      {{"http.oauth.service-account-email", "EMAIL", "Send an OAuth token of this account"},
       Mapped(&M::oauth_email)},
      {{"http.oauth.scope", "TEXT", "Scope of the OAuth token"}, Mapped(&M::oauth_scope)},
      {{"app-engine.relative-uri", "TEMPLATE", "Path and query of the request"}, Mapped(&M::url)},
      {{"app-engine.method", "METHOD", "As http.method"}, OneOf(Methods(), Mapped(&M::method))},
      {{"app-engine.headers", "K:V,...", "As http.headers"}, SetHeaders},
      {{"app-engine.service", "NAME", "Routing"}, Mapped(&M::service)},
      {{"app-engine.version", "NAME", "Routing"}, Mapped(&M::version)},
      {{"app-engine.instance", "NAME", "Routing"}, Mapped(&M::instance)},
      {{"schedule-time", "TEMPLATE", "RFC 3339, or seconds since 1970"}, Mapped(&M::schedule_time)},
      {{"task-id", "TEMPLATE", "Key of the logical task; its digest is the task's name"},
       Mapped(&M::task_id)},
      {{"body.format", "FORMAT", "record, template, form-urlencoded or raw"},
       OneOf({"record", "template", "form-urlencoded", "raw"}, Mapped(&M::body_format))},
      {{"body.template", "TEMPLATE", "The body, with body.format template"},
       Mapped(&M::body_template)},
      {{"body.field", "FIELD", "The field that is the body, with body.format raw"},
       Mapped(&M::body_field)},
      {{"sink.delivery-guarantee", "GUARANTEE", "at-least-once or exactly-once"},
       OneOf({"at-least-once", "exactly-once"},
             [](R& o, const std::string& v) {
               o.sink.is_exactly_once = v == "exactly-once";
               return Status();
             })},
      {{"sink.in-flight.max-tasks", "N", "Creates under way at once (1000)"},
       Count(&S::max_in_flight)},
      {{"sink.channel-pool-size", "N", "Connections (1)"}, Count(&S::channels)},
      {{"sink.recovery.initial-backoff", "TIME", "First wait before a retry (100ms)"},
       Span(&S::initial_backoff, ms)},
      {{"sink.recovery.max-backoff", "TIME", "Longest wait (10s)"}, Span(&S::max_backoff, ms)},
      {{"sink.recovery.max-attempts", "N", "Attempts of one create (8)"}, Count(&S::max_attempts)},
      {{"sink.recovery.not-found.initial-backoff", "TIME", "The same for NOT_FOUND (500ms)"},
       Span(&S::not_found_initial_backoff, ms)},
      {{"sink.recovery.not-found.max-backoff", "TIME", "The same for NOT_FOUND (2s)"},
       Span(&S::not_found_max_backoff, ms)},
      {{"sink.recovery.not-found.max-attempts", "N", "The same for NOT_FOUND (3)"},
       Count(&S::not_found_max_attempts)},
      {{"sink.metrics.per-destination", "BOOL", "Count for each queue (false)"},
       Switch(&S::per_destination_metrics)},
      {{"sink.staged.name-retention", "TIME", "How long the queue keeps names (1h)"},
       Span(&S::name_retention, absl::Nanoseconds(1))},
      {{"sink.staged.clock-skew-allowance", "TIME", "How far clocks may differ (5 min)"},
       Span(&S::clock_skew_allowance, absl::ZeroDuration())},
      {{"sink.staged.request-timeout", "TIME", "Deadline of one create (20s)"},
       Span(&S::request_timeout, absl::Nanoseconds(1))},
      {{"sink.staged.max-tasks", "N", "Tasks in one batch (100000)"}, Count(&S::max_staged_tasks)},
      {{"sink.staged.max-bytes", "SIZE", "Bytes in one batch (64mb)"},
       [](R& o, const std::string& v) {
         SLUICE_ASSIGN_OR_RETURN(const std::int64_t bytes, ParseMemorySize(v));
         if (bytes < 1) return InvalidArgument("\"{}\" is below the least of 1 byte", v);
         o.sink.max_staged_bytes = bytes;
         return Status();
       }},
      {{"sink.staged.verify-queue-retention", "BOOL",
        "Ask the queue how long it keeps names (true)"},
       Switch(&S::verify_queue_retention)},
      {{"sink.staged.expired-envelope-policy", "POLICY",
        "fail, assume-committed, create-anyway or drop"},
       OneOf({"fail", "assume-committed", "create-anyway", "drop"},
             [](R& o, const std::string& v) {
               o.sink.expired_envelope_policy = v;
               return Status();
             })},
  };
}

const std::vector<Entry>& Table() {
  static const std::vector<Entry> kTable = MakeTable();
  return kTable;
}

constexpr std::string_view kHttpHeaders = "http.headers.";
constexpr std::string_view kAppEngineHeaders = "app-engine.headers.";

Status SetOne(const std::string& key, const std::string& value, RunnerOptions* options) {
  for (const std::string_view prefix : {kHttpHeaders, kAppEngineHeaders}) {
    if (std::string_view(key).starts_with(prefix)) {
      return AddHeader(std::string_view(key).substr(prefix.size()), value, options);
    }
  }
  const auto& table = Table();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Entry& entry) { return entry.info.key == key; });
  if (found == table.end()) return InvalidArgument("there is no such option");
  if (value.empty() && !found->info.value_form.empty()) return InvalidArgument("it has no value");
  return found->set(*options, value);
}

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

class Checker {
 public:
  Checker(const GivenOptions& given, const RunnerOptions& options)
      : given_(given), options_(options) {}

  Status Check() const {
    SLUICE_RETURN_IF_ERROR(CheckHeaderForms());
    SLUICE_RETURN_IF_ERROR(CheckPlaces());
    SLUICE_RETURN_IF_ERROR(CheckEndpoints());
    SLUICE_RETURN_IF_ERROR(CheckTarget());
    SLUICE_RETURN_IF_ERROR(CheckBody());
    return CheckSink();
  }

 private:
  [[nodiscard]] bool Has(std::string_view prefix) const { return !FirstWith(prefix).empty(); }
  [[nodiscard]] std::string FirstWith(std::string_view prefix) const {
    for (const auto& [key, value] : given_) {
      if (key.starts_with(prefix)) return key;
    }
    return {};
  }

  /// In one text or one by one, so that nobody asks which of the two counts.
  Status CheckHeaderForms() const {
    for (const std::string_view each : {kHttpHeaders, kAppEngineHeaders}) {
      const std::string_view packed = each.substr(0, each.size() - 1);
      if (!Has(each) || std::none_of(given_.begin(), given_.end(),
                                     [&](const auto& option) { return option.first == packed; })) {
        continue;
      }
      return InvalidArgument("{} and {} exclude each other: use one way to give headers", packed,
                             FirstWith(each));
    }
    return {};
  }

  Status CheckPlaces() const {
    if (options_.from.empty()) return InvalidArgument("--from is needed: the records to read");
    if (options_.queue.empty()) return InvalidArgument("--queue is needed: where the tasks go");
    return QueueName::Parse(options_.queue).status();
  }

  Status CheckEndpoints() const {
    const bool is_emulator = !options_.emulator_endpoint.empty();
    if (Has("service-account-key-file") && IsBlank(options_.key_file)) {
      return InvalidArgument("service-account-key-file is blank");
    }
    if (is_emulator && !options_.key_file.empty()) {
      return InvalidArgument(
          "service-account-key-file does not go with emulator-endpoint: an emulator takes no "
          "credentials");
    }
    if (is_emulator && options_.sink.channels) {
      return InvalidArgument(
          "sink.channel-pool-size does not go with emulator-endpoint: an emulator has one channel");
    }
    if (is_emulator && !options_.endpoint.empty()) {
      return InvalidArgument("endpoint and emulator-endpoint exclude each other");
    }
    if (!options_.endpoint.empty() && !options_.is_tls && !options_.key_file.empty()) {
      return InvalidArgument("service-account-key-file needs --tls with endpoint");
    }
    if (!options_.tls_root_file.empty() && !options_.is_tls) {
      return InvalidArgument("tls-root-file needs --tls");
    }
    if (!options_.tls_root_file.empty() && !options_.key_file.empty()) {
      return InvalidArgument(
          "tls-root-file does not go with service-account-key-file: calls with a key trust the "
          "system's certificates");
    }
    if (options_.is_tls && options_.endpoint.empty()) return InvalidArgument("tls needs endpoint");
    const std::pair<std::string_view, std::string_view> places[] = {
        {"endpoint", options_.endpoint}, {"emulator-endpoint", options_.emulator_endpoint}};
    for (const auto& [key, value] : places) {
      if (!value.empty()) SLUICE_RETURN_IF_ERROR(sink::Endpoint::Parse(key, value).status());
    }
    return {};
  }

  Status CheckTarget() const {
    const MappingOptions& m = options_.mapping;
    const std::string other = FirstWith(m.is_app_engine ? "http." : "app-engine.");
    if (!other.empty()) {
      return InvalidArgument("{} does not belong to target.type {}", other,
                             m.is_app_engine ? "app-engine" : "http");
    }
    if (m.url.empty()) {
      return InvalidArgument("--{} is needed",
                             m.is_app_engine ? "app-engine.relative-uri" : "http.url");
    }
    if (!m.oidc_email.empty() && !m.oauth_email.empty()) {
      return InvalidArgument(
          "http.oidc.service-account-email and http.oauth.service-account-email exclude each "
          "other");
    }
    if (!m.oidc_audience.empty() && m.oidc_email.empty()) {
      return InvalidArgument("http.oidc.audience needs http.oidc.service-account-email");
    }
    if (!m.oauth_scope.empty() && m.oauth_email.empty()) {
      return InvalidArgument("http.oauth.scope needs http.oauth.service-account-email");
    }
    for (const auto& [key, value] : given_) {
      if ((key.starts_with("http.o")) && IsBlank(value)) return InvalidArgument("{} is blank", key);
    }
    return {};
  }

  Status CheckBody() const {
    const MappingOptions& m = options_.mapping;
    if ((m.body_format == "template") != Has("body.template")) {
      return InvalidArgument("body.template and body.format template need each other");
    }
    if ((m.body_format == "raw") != Has("body.field")) {
      return InvalidArgument("body.field and body.format raw need each other");
    }
    return {};
  }

  Status CheckSink() const {
    const bool is_staged = options_.sink.is_exactly_once;
    const std::string staged_key = FirstWith("sink.staged.");
    if (!is_staged && !staged_key.empty()) {
      return InvalidArgument("{} needs sink.delivery-guarantee exactly-once", staged_key);
    }
    if (Has("checkpoint-interval") && options_.checkpoint_dir.empty()) {
      return InvalidArgument(
          "checkpoint-interval needs --checkpoint-dir: without it there are no checkpoints");
    }
    if (is_staged && options_.checkpoint_dir.empty()) {
      return InvalidArgument("sink.delivery-guarantee exactly-once needs --checkpoint-dir");
    }
    if (is_staged && options_.failure_policy != "fail") {
      return InvalidArgument("on-failure {} does not go with exactly-once, which takes fail only",
                             options_.failure_policy);
    }
    if ((options_.failure_policy == "dead-letter-file") != !options_.dead_letter_file.empty()) {
      return InvalidArgument("dead-letter-file and on-failure dead-letter-file need each other");
    }
    return {};
  }

  const GivenOptions& given_;
  const RunnerOptions& options_;
};

void Flatten(const YAML::Node& node, const std::string& key, GivenOptions* out) {
  if (node.IsMap()) {
    for (const auto& entry : node) {
      const auto name = entry.first.as<std::string>();
      Flatten(entry.second, key.empty() ? name : key + "." + name, out);
    }
  } else if (node.IsSequence()) {
    for (const auto& entry : node) Flatten(entry, key, out);
  } else {
    out->emplace_back(key, node.IsNull() ? "" : node.as<std::string>());
  }
}

}  // namespace

const std::vector<OptionInfo>& KnownOptions() {
  static const std::vector<OptionInfo> kKnown = [] {
    std::vector<OptionInfo> known;
    for (const Entry& entry : Table()) known.push_back(entry.info);
    return known;
  }();
  return kKnown;
}

StatusOr<GivenOptions> ReadOptionsFile(const std::string& text) {
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) return InvalidArgument("the file is not a map of options");
    GivenOptions given;
    Flatten(root, "", &given);
    return given;
  } catch (const YAML::Exception& error) {
    return InvalidArgument("line {}: {}", error.mark.line + 1, error.msg);
  }
}

StatusOr<RunnerOptions> ParseOptions(const GivenOptions& given) {
  RunnerOptions options;
  for (const auto& [key, value] : given) {
    const Status status = SetOne(key, value, &options);
    if (!status.ok()) return InvalidArgument("option {}: {}", key, Message(status));
  }
  SLUICE_RETURN_IF_ERROR(Checker(given, options).Check());
  return options;
}

}  // namespace sluice::runner

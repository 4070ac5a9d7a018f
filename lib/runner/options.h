// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything `sluice sink` can be told. A key is written the same as a flag
// (`--http.url X`) and in a file (`http.url: X`, or nested); flags win. The keys of
// mapping and sink are those of the SQL connector.
// (docs/reference/sink.md lists them; a test compares the two.)
//
// Threading: pure. Failure: INVALID_ARGUMENT naming the key and the value.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace sluice::runner {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

/// How a record becomes a task. Texts marked T are templates (template_text.h).
struct MappingOptions {
  bool is_app_engine = false;
  std::string url;  // T; the relative URI with app-engine
  std::string method = "POST";
  HeaderList headers;  // values T
  std::string oidc_email;
  std::string oidc_audience;
  std::string oauth_email;
  std::string oauth_scope;
  std::string service;  // app-engine routing
  std::string version;
  std::string instance;
  std::string schedule_time;  // T; RFC 3339 or seconds since the epoch; empty: at once
  std::string task_id;  // T; the key whose digest names the task; empty: no name of the user's
  std::string body_format = "record";  // record, template, form-urlencoded, raw
  std::string body_template;           // T
  std::string body_field;              // raw
};

/// Keys `sink.*` that were given; empty ones leave the library's default.
struct SinkOptions {
  bool is_exactly_once = false;
  std::optional<int> max_in_flight;
  std::optional<int> channels;
  std::optional<Duration> initial_backoff, max_backoff;
  std::optional<int> max_attempts;
  std::optional<Duration> not_found_initial_backoff, not_found_max_backoff;
  std::optional<int> not_found_max_attempts;
  std::optional<bool> per_destination_metrics;
  std::optional<Duration> name_retention, clock_skew_allowance, request_timeout;
  std::optional<int> max_staged_tasks;
  std::optional<std::int64_t> max_staged_bytes;
  std::optional<bool> verify_queue_retention;
  std::optional<std::string> expired_envelope_policy;
};

struct RunnerOptions {
  std::vector<std::string> from;
  std::string queue;
  std::string endpoint;           // host:port in plaintext, or with --tls
  std::string emulator_endpoint;  // host:port
  bool is_tls = false;
  std::string tls_root_file;
  std::string key_file;
  std::string checkpoint_dir;
  Duration checkpoint_interval = absl::Seconds(10);
  std::string failure_policy = "fail";  // fail, drop, dead-letter-file
  std::string dead_letter_file;
  MappingOptions mapping;
  SinkOptions sink;
};

/// Values by key, as written; a key may repeat (`from`).
using GivenOptions = std::vector<std::pair<std::string, std::string>>;

/// What one key is, for help and for the reference page.
struct OptionInfo {
  std::string_view key;
  std::string_view value_form;  // empty: a switch, which may stand alone
  std::string_view help;
};
[[nodiscard]] const std::vector<OptionInfo>& KnownOptions();

/// Reads a YAML file: nested maps are keys with dots between, lists repeat a key.
StatusOr<GivenOptions> ReadOptionsFile(const std::string& text);

/// Checks single values and the rules between keys.
StatusOr<RunnerOptions> ParseOptions(const GivenOptions& given);

/// `1s`, `250 ms`, `5 min`, `1h`, `2 d`: one number, one unit.
StatusOr<Duration> ParseDuration(std::string_view text);
/// `X-A: 1, X-B: '2, with a comma'`: pairs with commas between, names and values trimmed. A
/// value in quotes ('...' or "...") is taken as it is, the quote itself doubled.
StatusOr<HeaderList> ParseHeaderList(std::string_view text);
/// `64mb`, `1 gb`, `4096`: powers of 1024.
StatusOr<std::int64_t> ParseMemorySize(std::string_view text);

}  // namespace sluice::runner

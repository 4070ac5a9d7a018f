// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where a task is sent and who it is sent as: the parts that a task and its queue
// share. What a queue sets wins over its tasks when an attempt leaves (spec 2.8,
// 2.9); the stored task never changes.
//
// Values only; any thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/names.h"

namespace sluice::core {

enum class HttpMethod : std::uint8_t {
  kPost = 1,
  kGet = 2,
  kHead = 3,
  kPut = 4,
  kDelete = 5,
  kPatch = 6,
  kOptions = 7,
};
/// As it stands in a request line; ends with a NUL.
[[nodiscard]] const char* MethodName(HttpMethod method);

struct Header {
  std::string name;  // case kept as given
  std::string value;
  friend bool operator==(const Header&, const Header&) = default;
};

/// An access token for an account (spec 4.9).
struct OAuthToken {
  std::string service_account_email;
  std::string scope;  // empty: the default one
  friend bool operator==(const OAuthToken&, const OAuthToken&) = default;
};

/// An identity token of an account (spec 4.8).
struct OidcToken {
  std::string service_account_email;
  std::string audience;  // empty: the URL that is called
  friend bool operator==(const OidcToken&, const OidcToken&) = default;
};

using Token = std::variant<std::monostate, OAuthToken, OidcToken>;

/// Which part of an App Engine application; empty: its default (spec 4.1).
struct AppEngineRouting {
  std::string service;
  std::string version;
  std::string instance;
  std::string host;  // what clients are shown; follows from the rest and the queue's location
  friend bool operator==(const AppEngineRouting&, const AppEngineRouting&) = default;

  [[nodiscard]] bool names_nothing() const {
    return service.empty() && version.empty() && instance.empty();
  }
};

/// The host by which Google would reach that part of the location's application.
[[nodiscard]] std::string AppEngineHost(const LocationName& location,
                                        const AppEngineRouting& routing);

/// Numbered as the API's; the first member of each means what its comment says.
enum class UriScheme : std::uint8_t { kUnspecified = 0 /* HTTPS */, kHttp = 1, kHttps = 2 };
enum class UriEnforceMode : std::uint8_t {
  kUnspecified = 0,  // as kAlways
  kIfNotExists = 1,
  kAlways = 2,
};

/// Replaces parts of the tasks' URLs (spec 2.8). Parts that are not set are the task's.
struct UriOverride {
  std::optional<UriScheme> scheme;
  std::optional<std::string> host;   // never empty
  std::optional<std::int64_t> port;  // zero: no explicit port
  std::optional<std::string> path;   // empty: see DispatchOptions
  std::optional<std::string> query;  // empty: as above
  UriEnforceMode mode = UriEnforceMode::kUnspecified;
  friend bool operator==(const UriOverride&, const UriOverride&) = default;
};

/// For every HTTP task of a queue.
struct HttpTarget {
  UriOverride uri;
  std::optional<HttpMethod> method;
  std::vector<Header> headers;  // in the order given
  Token token;
  friend bool operator==(const HttpTarget&, const HttpTarget&) = default;
};

/// What a queue says about the targets of its tasks. Most queues say nothing and pay
/// for a pointer.
class QueueTargets {
 public:
  struct Settings {
    HttpTarget http;
    AppEngineRouting app_engine;
    friend bool operator==(const Settings&, const Settings&) = default;
  };

  QueueTargets() = default;
  explicit QueueTargets(Settings settings) {
    if (settings == Settings{}) return;
    settings_ = std::make_shared<const Settings>(std::move(settings));
  }

  [[nodiscard]] bool empty() const { return settings_ == nullptr; }
  [[nodiscard]] const HttpTarget& http() const { return get().http; }
  /// Names nothing: the tasks' own routing counts.
  [[nodiscard]] const AppEngineRouting& app_engine() const { return get().app_engine; }
  [[nodiscard]] const Settings& get() const;

  friend bool operator==(const QueueTargets& a, const QueueTargets& b) {
    return a.settings_ == b.settings_ || a.get() == b.get();
  }

 private:
  std::shared_ptr<const Settings> settings_;  // null: nothing set
};

/// Changes to QueueTargets. An outer level that is unset leaves a part as it is; an
/// inner one that is unset clears it.
struct TargetPatch {
  template <typename T>
  using Change = std::optional<std::optional<T>>;

  Change<UriScheme> scheme;
  Change<std::string> host;
  Change<std::int64_t> port;
  Change<std::string> path;
  Change<std::string> query;
  std::optional<UriEnforceMode> mode;
  Change<HttpMethod> method;
  std::optional<std::vector<Header>> headers;
  // An empty text clears the part; a token without parts is gone. Setting a part of one
  // kind of token ends one of the other kind.
  std::optional<std::string> oauth_email;
  std::optional<std::string> oauth_scope;
  std::optional<std::string> oidc_email;
  std::optional<std::string> oidc_audience;
  // As above: empty clears.
  std::optional<std::string> service;
  std::optional<std::string> version;
  std::optional<std::string> instance;
};

}  // namespace sluice::core

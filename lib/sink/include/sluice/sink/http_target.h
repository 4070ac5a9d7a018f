// SPDX-License-Identifier: Apache-2.0
#pragma once

// Records as HTTP tasks. `HttpTarget::To(url)` knows no record type; `WithBody` binds
// one and gives the schema, whose further `With...` each return a new schema and leave
// the old one as it is.
//
//   auto schema = HttpTarget::To("https://worker.example/orders").WithBody(body)
//                     .WithMethod(cloudtasks::HttpMethod::PUT);
//
// A refused setting is kept: the schema says it in `status()`, and the opening of a writer
// returns it. What a function of the record gives is checked for each record, and
// refused values go to the failed-task handler.
//
// Headers pass as they are: no reserved names, no change of case.
//
// Threading: schemas are values sharing the functions given to them; those run on the
// task thread.

#include <google/cloud/tasks/v2/target.pb.h>
#include <google/cloud/tasks/v2/task.pb.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "sluice/sink/serializer.h"

namespace sluice::sink {

/// The part of an HTTP request that no record changes.
class HttpTarget {
 public:
  template <typename T>
  class Schema;

  /// `url` must begin with http:// or https://, in lower case.
  [[nodiscard]] static HttpTarget To(std::string_view url);

  template <typename T>
  [[nodiscard]] Schema<T> WithBody(std::shared_ptr<ByteSerializer<T>> body) const {
    return Schema<T>(*this, std::move(body));
  }

  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] const cloudtasks::HttpRequest& request() const { return request_; }

  void SetMethod(cloudtasks::HttpMethod method);
  void SetOidcToken(std::string_view email, std::optional<std::string> audience);
  void SetOAuthToken(std::string_view email, std::optional<std::string> scope);
  void Refuse(Status status);

  /// POST, PUT and PATCH.
  [[nodiscard]] bool has_body() const;
  [[nodiscard]] static Status CheckUrl(std::string_view url);

 private:
  Status status_;
  cloudtasks::HttpRequest request_;
};

template <typename T>
class HttpTarget::Schema final : public TaskSerializer<T> {
 public:
  using UrlFunction = std::function<StatusOr<std::string>(const T&)>;
  using HeadersFunction = std::function<StatusOr<Headers>(const T&)>;

  Schema(HttpTarget target, std::shared_ptr<ByteSerializer<T>> body)
      : target_(std::move(target)), body_(std::move(body)) {
    if (body_ == nullptr) target_.Refuse(InvalidArgument("the body serializer must not be null"));
  }

  /// Default POST; must be a concrete verb.
  [[nodiscard]] Schema WithMethod(cloudtasks::HttpMethod method) const {
    return Changed([&](Schema& schema) { schema.target_.SetMethod(method); });
  }
  /// The URL of each record, in place of the fixed one.
  [[nodiscard]] Schema WithUrl(UrlFunction url) const {
    return Changed([&](Schema& schema) {
      if (!url) schema.target_.Refuse(InvalidArgument("the URL function must not be empty"));
      schema.url_ = std::move(url);
    });
  }
  [[nodiscard]] Schema WithHeaders(HeadersFunction headers) const {
    return Changed([&](Schema& schema) {
      if (!headers) schema.target_.Refuse(InvalidArgument("the header function must not be empty"));
      schema.headers_ = std::move(headers);
    });
  }
  /// Without an audience the service uses the target URL. Excludes an OAuth token.
  [[nodiscard]] Schema WithOidcToken(std::string_view email,
                                     std::optional<std::string> audience = std::nullopt) const {
    return Changed([&](Schema& schema) { schema.target_.SetOidcToken(email, audience); });
  }
  /// Only for *.googleapis.com. Excludes an OIDC token.
  [[nodiscard]] Schema WithOAuthToken(std::string_view email,
                                      std::optional<std::string> scope = std::nullopt) const {
    return Changed([&](Schema& schema) { schema.target_.SetOAuthToken(email, scope); });
  }

  /// The first refused setting.
  [[nodiscard]] const Status& status() const { return target_.status(); }

  [[nodiscard]] Status Open(const HandlerContext& context) override {
    SLUICE_RETURN_IF_ERROR(status());
    return body_->Open(context);
  }

  [[nodiscard]] StatusOr<bool> Serialize(const T& record, cloudtasks::Task& task) override {
    cloudtasks::HttpRequest& request = *task.mutable_http_request();
    request = target_.request();
    if (url_) {
      SLUICE_ASSIGN_OR_RETURN(std::string url, url_(record));
      SLUICE_RETURN_IF_ERROR(CheckUrl(url));
      request.set_url(std::move(url));
    }
    if (headers_) {
      SLUICE_ASSIGN_OR_RETURN(const Headers headers, headers_(record));
      for (const auto& [name, value] : headers) (*request.mutable_headers())[name] = value;
    }
    if (target_.has_body()) {
      SLUICE_ASSIGN_OR_RETURN(*request.mutable_body(), BodyOf(*body_, record));
    }
    return true;
  }

 private:
  template <typename Change>
  Schema Changed(Change change) const {
    Schema copy = *this;
    change(copy);
    return copy;
  }

  HttpTarget target_;
  std::shared_ptr<ByteSerializer<T>> body_;
  UrlFunction url_;
  HeadersFunction headers_;
};

}  // namespace sluice::sink

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Records as App Engine tasks. `AppEngineTarget::To(uri)` knows no record type and takes
// what no record changes; `WithBody` binds a type and carries that over. Both are
// builders that change in place; `Build` takes a picture, which later changes leave alone.
//
//   auto schema = AppEngineTarget::To("/tasks/orders")
//                     .WithMethod(cloudtasks::HttpMethod::PUT)
//                     .WithBody(body)
//                     .WithRouting([](const Order& order) { return RouteOf(order); })
//                     .Build();
//
// What needs a record is there only once a body is bound, and a body is bound once: the
// types see to both. Of the two forms of routing the last one given counts; routing
// without any selector is none. A refused setting is kept and returned by `Build`, the
// first of several. What a function of the record gives is checked for each record, and
// refused values go to the failed-task handler (spec of the sink, 1.6 and 1.7).
//
// Threading: values sharing the functions given to them; those run on the task thread.

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

class AppEngineTarget {
 public:
  template <typename T>
  class Builder;
  template <typename T>
  class Schema;

  /// Empty is the application's root.
  [[nodiscard]] static AppEngineTarget To(std::string_view relative_uri);

  /// Default POST; must be a concrete verb.
  AppEngineTarget& WithMethod(cloudtasks::HttpMethod method);
  /// Service, version and instance; the host is the service's to say and refused.
  AppEngineTarget& WithRouting(const cloudtasks::AppEngineRouting& routing);

  template <typename T>
  [[nodiscard]] Builder<T> WithBody(std::shared_ptr<ByteSerializer<T>> body) const {
    return Builder<T>(*this, std::move(body));
  }

  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] const cloudtasks::AppEngineHttpRequest& request() const { return request_; }

 private:
  template <typename T>
  friend class Builder;
  template <typename T>
  friend class Schema;

  void Refuse(Status status);
  /// POST and PUT.
  [[nodiscard]] bool has_body() const;
  // Of one record; `request` is its own.
  static Status SetUri(std::string uri, cloudtasks::AppEngineHttpRequest& request);
  static Status SetHeaders(const Headers& headers, cloudtasks::AppEngineHttpRequest& request);
  static Status SetRouting(const std::optional<cloudtasks::AppEngineRouting>& routing,
                           cloudtasks::AppEngineHttpRequest& request);

  Status status_;
  cloudtasks::AppEngineHttpRequest request_;
};

/// What `Build` gives: no settings any more.
template <typename T>
class AppEngineTarget::Schema final : public TaskSerializer<T> {
 public:
  [[nodiscard]] Status Open(const HandlerContext& context) override { return body_->Open(context); }

  [[nodiscard]] StatusOr<bool> Serialize(const T& record, cloudtasks::Task& task) override {
    cloudtasks::AppEngineHttpRequest& request = *task.mutable_app_engine_http_request();
    request = target_.request();
    if (uri_) {
      SLUICE_ASSIGN_OR_RETURN(std::string uri, uri_(record));
      SLUICE_RETURN_IF_ERROR(SetUri(std::move(uri), request));
    }
    if (headers_) {
      SLUICE_ASSIGN_OR_RETURN(const Headers headers, headers_(record));
      SLUICE_RETURN_IF_ERROR(SetHeaders(headers, request));
    }
    if (routing_) {
      SLUICE_ASSIGN_OR_RETURN(const std::optional<cloudtasks::AppEngineRouting> routing,
                              routing_(record));
      SLUICE_RETURN_IF_ERROR(SetRouting(routing, request));
    }
    if (target_.has_body()) {
      SLUICE_ASSIGN_OR_RETURN(*request.mutable_body(), BodyOf(*body_, record));
    }
    return true;
  }

 private:
  friend class Builder<T>;
  using UriFunction = std::function<StatusOr<std::string>(const T&)>;
  using HeadersFunction = std::function<StatusOr<Headers>(const T&)>;
  using RoutingFunction =
      std::function<StatusOr<std::optional<cloudtasks::AppEngineRouting>>(const T&)>;

  Schema(AppEngineTarget target, std::shared_ptr<ByteSerializer<T>> body)
      : target_(std::move(target)), body_(std::move(body)) {}

  AppEngineTarget target_;
  std::shared_ptr<ByteSerializer<T>> body_;
  UriFunction uri_;
  HeadersFunction headers_;
  RoutingFunction routing_;
};

template <typename T>
class AppEngineTarget::Builder {
 public:
  using UriFunction = typename Schema<T>::UriFunction;
  using HeadersFunction = typename Schema<T>::HeadersFunction;
  /// Nothing, or routing without a selector, leaves the task without routing.
  using RoutingFunction = typename Schema<T>::RoutingFunction;

  Builder& WithMethod(cloudtasks::HttpMethod method) {
    schema_.target_.WithMethod(method);
    return *this;
  }
  Builder& WithRouting(const cloudtasks::AppEngineRouting& routing) {
    schema_.target_.WithRouting(routing);
    schema_.routing_ = nullptr;
    return *this;
  }
  Builder& WithRouting(RoutingFunction routing) {
    Require(routing != nullptr, "routing");
    schema_.target_.request_.clear_app_engine_routing();
    schema_.routing_ = std::move(routing);
    return *this;
  }
  /// The URI of each record, in place of the fixed one.
  Builder& WithRelativeUri(UriFunction uri) {
    Require(uri != nullptr, "relative URI");
    schema_.uri_ = std::move(uri);
    return *this;
  }
  /// Names that App Engine sets itself fail the record.
  Builder& WithHeaders(HeadersFunction headers) {
    Require(headers != nullptr, "header");
    schema_.headers_ = std::move(headers);
    return *this;
  }

  [[nodiscard]] StatusOr<std::shared_ptr<TaskSerializer<T>>> Build() const {
    SLUICE_RETURN_IF_ERROR(schema_.target_.status());
    return std::shared_ptr<TaskSerializer<T>>(new Schema<T>(schema_));
  }

 private:
  friend class AppEngineTarget;
  Builder(AppEngineTarget target, std::shared_ptr<ByteSerializer<T>> body)
      : schema_(std::move(target), std::move(body)) {
    if (schema_.body_ == nullptr) {
      schema_.target_.Refuse(InvalidArgument("the body serializer must not be null"));
    }
  }
  void Require(bool is_set, std::string_view what) {
    if (!is_set) schema_.target_.Refuse(InvalidArgument("the {} function must not be empty", what));
  }

  Schema<T> schema_;
};

}  // namespace sluice::sink

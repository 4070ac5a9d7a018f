// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/target_codec.h"

#include <string>
#include <utility>
#include <vector>

#include "core/tasks/target_config.h"
#include "front/errors.h"
#include "front/tasks/http_rules.h"

namespace sluice::front {
namespace {

// Ours are numbered as the API's, of which both versions have the same.
StatusOr<std::optional<core::HttpMethod>> ReadMethod(int method, std::string_view field) {
  if (method == tasks_v2::HTTP_METHOD_UNSPECIFIED) return std::optional<core::HttpMethod>();
  if (!tasks_v2::HttpMethod_IsValid(method)) {
    return AtField(field, InvalidArgument("{}: {} names no method", field, method));
  }
  return static_cast<core::HttpMethod>(method);
}

StatusOr<core::HttpMethod> MethodOrPost(int method, std::string_view field) {
  SLUICE_ASSIGN_OR_RETURN(const std::optional<core::HttpMethod> given, ReadMethod(method, field));
  return given.value_or(core::HttpMethod::kPost);
}

// --- A queue's HTTP target ---

template <typename Uri>
Status DecodeUri(const Uri& uri, const FieldSelection& selection, core::TargetPatch* patch) {
  const auto includes = [&selection](std::string_view leaf) {
    return selection.Includes(fmt::format("http_target.uri_override.{}", leaf));
  };
  if (includes("scheme")) {
    patch->scheme.emplace();
    if (uri.has_scheme()) {
      if (!Uri::Scheme_IsValid(uri.scheme())) {
        constexpr std::string_view kField = "queue.http_target.uri_override.scheme";
        return AtField(kField, InvalidArgument("{}: {} names no scheme", kField,
                                               static_cast<int>(uri.scheme())));
      }
      patch->scheme->emplace(static_cast<core::UriScheme>(uri.scheme()));
    }
  }
  if (includes("host")) {
    patch->host.emplace();
    if (uri.has_host()) patch->host->emplace(uri.host());
  }
  if (includes("port")) {
    patch->port.emplace();
    if (uri.has_port()) patch->port->emplace(uri.port());
  }
  if (selection.Touches("http_target.uri_override.path_override")) {
    patch->path.emplace();
    if (uri.has_path_override()) patch->path->emplace(uri.path_override().path());
  }
  if (selection.Touches("http_target.uri_override.query_override")) {
    patch->query.emplace();
    if (uri.has_query_override()) patch->query->emplace(uri.query_override().query_params());
  }
  if (includes("uri_override_enforce_mode")) {
    const auto mode = uri.uri_override_enforce_mode();
    if (!Uri::UriOverrideEnforceMode_IsValid(mode)) {
      constexpr std::string_view kField =
          "queue.http_target.uri_override.uri_override_enforce_mode";
      return AtField(kField,
                     InvalidArgument("{}: {} names no mode", kField, static_cast<int>(mode)));
    }
    patch->mode = static_cast<core::UriEnforceMode>(mode);
  }
  return absl::OkStatus();
}

// Without a part it asks for nothing, which is right only for whoever names the parts to
// clear them.
Status CheckTokenHasParts(bool is_set, bool has_parts, const FieldSelection& selection,
                          std::string_view path) {
  if (!is_set || has_parts || !selection.Includes(path)) return absl::OkStatus();
  const std::string field = fmt::format("queue.{}.service_account_email", path);
  return AtField(field, InvalidArgument("{} is required", field));
}

template <typename Target>
Status DecodeQueueTokens(const Target& target, const FieldSelection& selection,
                         core::TargetPatch* patch) {
  const auto& oauth = target.oauth_token();
  const auto& oidc = target.oidc_token();
  SLUICE_RETURN_IF_ERROR(CheckTokenHasParts(target.has_oauth_token(), oauth.ByteSizeLong() > 0,
                                            selection, "http_target.oauth_token"));
  SLUICE_RETURN_IF_ERROR(CheckTokenHasParts(target.has_oidc_token(), oidc.ByteSizeLong() > 0,
                                            selection, "http_target.oidc_token"));
  const auto take = [&selection](std::string_view path, const std::string& value,
                                 std::optional<std::string>* change) {
    if (selection.Includes(path)) *change = value;
  };
  take("http_target.oauth_token.service_account_email", oauth.service_account_email(),
       &patch->oauth_email);
  take("http_target.oauth_token.scope", oauth.scope(), &patch->oauth_scope);
  take("http_target.oidc_token.service_account_email", oidc.service_account_email(),
       &patch->oidc_email);
  take("http_target.oidc_token.audience", oidc.audience(), &patch->oidc_audience);
  return absl::OkStatus();
}

template <typename Target>
Status DecodeHttpTarget(const Target& target, const FieldSelection& selection,
                        core::TargetPatch* patch) {
  SLUICE_RETURN_IF_ERROR(DecodeUri(target.uri_override(), selection, patch));
  if (selection.Includes("http_target.http_method")) {
    SLUICE_ASSIGN_OR_RETURN(patch->method,
                            ReadMethod(target.http_method(), "queue.http_target.http_method"));
  }
  if (selection.Includes("http_target.header_overrides")) {
    patch->headers.emplace();
    for (const auto& header : target.header_overrides()) {
      patch->headers->push_back({header.header().key(), header.header().value()});
    }
  }
  return DecodeQueueTokens(target, selection, patch);
}

template <typename Uri>
void EncodeUri(const core::UriOverride& uri, Uri* out) {
  if (uri.scheme) out->set_scheme(static_cast<typename Uri::Scheme>(*uri.scheme));
  if (uri.host) out->set_host(*uri.host);
  if (uri.port) out->set_port(*uri.port);
  if (uri.path) out->mutable_path_override()->set_path(*uri.path);
  if (uri.query) out->mutable_query_override()->set_query_params(*uri.query);
  out->set_uri_override_enforce_mode(static_cast<typename Uri::UriOverrideEnforceMode>(uri.mode));
}

// For every message with the API's two kinds of tokens.
template <typename Message>
void EncodeToken(const core::Token& token, Message* out) {
  if (const auto* oauth = std::get_if<core::OAuthToken>(&token)) {
    out->mutable_oauth_token()->set_service_account_email(oauth->service_account_email);
    out->mutable_oauth_token()->set_scope(oauth->scope);
  } else if (const auto* oidc = std::get_if<core::OidcToken>(&token)) {
    out->mutable_oidc_token()->set_service_account_email(oidc->service_account_email);
    out->mutable_oidc_token()->set_audience(oidc->audience);
  }
}

template <typename Target>
void EncodeHttpTarget(const core::HttpTarget& http, Target* out) {
  if (http.uri != core::UriOverride{}) EncodeUri(http.uri, out->mutable_uri_override());
  if (http.method) out->set_http_method(static_cast<decltype(out->http_method())>(*http.method));
  for (const core::Header& header : http.headers) {
    auto* shown = out->add_header_overrides()->mutable_header();
    shown->set_key(header.name);
    shown->set_value(header.value);
  }
  EncodeToken(http.token, out);
}

// --- App Engine routing ---

template <typename Routing>
void EncodeRouting(const core::AppEngineRouting& routing, Routing* out) {
  out->set_service(routing.service);
  out->set_version(routing.version);
  out->set_instance(routing.instance);
  out->set_host(routing.host);
}

// --- A task's target ---

Status CheckTokenEmail(std::string_view email, std::string_view field) {
  if (!email.empty()) return absl::OkStatus();
  return AtField(field, InvalidArgument("{} is required", field));
}

template <typename HttpRequest>
StatusOr<core::Token> DecodeTaskToken(const HttpRequest& in) {
  if (in.has_oauth_token()) {
    const auto& token = in.oauth_token();
    SLUICE_RETURN_IF_ERROR(CheckTokenEmail(token.service_account_email(),
                                           "task.http_request.oauth_token.service_account_email"));
    return core::Token(core::OAuthToken{token.service_account_email(), token.scope()});
  }
  if (in.has_oidc_token()) {
    const auto& token = in.oidc_token();
    SLUICE_RETURN_IF_ERROR(CheckTokenEmail(token.service_account_email(),
                                           "task.http_request.oidc_token.service_account_email"));
    return core::Token(core::OidcToken{token.service_account_email(), token.audience()});
  }
  return core::Token();
}

template <typename HttpRequest>
StatusOr<core::HttpRequest> DecodeHttp(HttpRequest& in) {
  core::HttpRequest out;
  SLUICE_RETURN_IF_ERROR(CheckUrl(in.url(), "task.http_request.url"));
  SLUICE_ASSIGN_OR_RETURN(out.method,
                          MethodOrPost(in.http_method(), "task.http_request.http_method"));
  SLUICE_RETURN_IF_ERROR(CheckBody(out.method, in.body().size(), "task.http_request.body"));
  SLUICE_ASSIGN_OR_RETURN(out.headers,
                          StoredHeaders(*in.mutable_headers(), "task.http_request.headers"));
  SLUICE_ASSIGN_OR_RETURN(out.token, DecodeTaskToken(in));
  out.url = std::move(*in.mutable_url());
  out.body = std::move(*in.mutable_body());
  return out;
}

template <typename AppEngineRequest>
StatusOr<core::HttpRequest> DecodeAppEngine(AppEngineRequest& in, const LocationName& location) {
  core::HttpRequest out;
  constexpr std::string_view kUri = "task.app_engine_http_request.relative_uri";
  SLUICE_RETURN_IF_ERROR(CheckRelativeUri(in.relative_uri(), kUri));
  SLUICE_ASSIGN_OR_RETURN(
      out.method, MethodOrPost(in.http_method(), "task.app_engine_http_request.http_method"));
  SLUICE_RETURN_IF_ERROR(
      CheckAppEngineBody(out.method, in.body().size(), "task.app_engine_http_request.body"));
  SLUICE_ASSIGN_OR_RETURN(out.headers,
                          StoredAppEngineHeaders(*in.mutable_headers(), in.body().size(),
                                                 "task.app_engine_http_request.headers"));
  core::AppEngineRouting& routing = out.app_engine.emplace();
  routing.service = in.app_engine_routing().service();
  routing.version = in.app_engine_routing().version();
  routing.instance = in.app_engine_routing().instance();
  constexpr std::string_view kRouting = "task.app_engine_http_request.app_engine_routing";
  if (Status status = core::CheckRouting(kRouting, routing); !status.ok()) {
    return AtField(kRouting, std::move(status));
  }
  routing.host = core::AppEngineHost(location, routing);
  out.url = in.relative_uri().empty() ? "/" : std::move(*in.mutable_relative_uri());
  out.body = std::move(*in.mutable_body());
  return out;
}

// What both kinds of request have under the same names.
template <typename Message>
void EncodeRequest(const core::HttpRequest& request, TaskView view, Message* out) {
  out->set_http_method(static_cast<decltype(out->http_method())>(request.method));
  auto& headers = *out->mutable_headers();
  for (const core::Header& header : request.headers) headers[header.name] = header.value;
  if (view == TaskView::kFull) out->set_body(request.body);
}

}  // namespace

template <typename Queue>
StatusOr<std::shared_ptr<const core::TargetPatch>> DecodeQueueTargets(
    const Queue& queue, const FieldSelection& selection) {
  const std::string_view routing_path = AppEngineRoutingPath(queue);
  const bool has_http = selection.Touches("http_target");
  const bool has_routing = selection.Touches(routing_path);
  if (!has_http && !has_routing) return std::shared_ptr<const core::TargetPatch>();
  auto patch = std::make_shared<core::TargetPatch>();
  if (has_http) {
    SLUICE_RETURN_IF_ERROR(DecodeHttpTarget(queue.http_target(), selection, patch.get()));
  }
  if (has_routing) {
    const auto& routing = AppEngineRoutingOf(queue);
    const auto take = [&](std::string_view leaf, const std::string& value,
                          std::optional<std::string>* change) {
      if (selection.Includes(fmt::format("{}.{}", routing_path, leaf))) *change = value;
    };
    take("service", routing.service(), &patch->service);
    take("version", routing.version(), &patch->version);
    take("instance", routing.instance(), &patch->instance);
  }
  return std::shared_ptr<const core::TargetPatch>(std::move(patch));
}

template <typename Queue>
void EncodeQueueTargets(const core::QueueTargets& targets, Queue* out) {
  if (targets.empty()) return;
  if (targets.http() != core::HttpTarget{}) {
    EncodeHttpTarget(targets.http(), out->mutable_http_target());
  }
  if (!targets.app_engine().names_nothing()) {
    EncodeRouting(targets.app_engine(), MutableAppEngineRouting(out));
  }
}

template <typename Task>
StatusOr<core::HttpRequest> DecodeTarget(Task& task, const LocationName& location) {
  if (task.has_http_request()) return DecodeHttp(*task.mutable_http_request());
  if (task.has_app_engine_http_request()) {
    return DecodeAppEngine(*task.mutable_app_engine_http_request(), location);
  }
  return AtField("task.http_request",
                 InvalidArgument("task.{} is not set: a task needs an http_request or an "
                                 "app_engine_http_request",
                                 Task::descriptor()->oneof_decl(0)->name()));
}

template <typename Task>
void EncodeTarget(const core::HttpRequest& request, TaskView view, Task* out) {
  if (request.app_engine) {
    auto* shown = out->mutable_app_engine_http_request();
    shown->set_relative_uri(request.url);
    EncodeRouting(*request.app_engine, shown->mutable_app_engine_routing());
    EncodeRequest(request, view, shown);
    return;
  }
  auto* shown = out->mutable_http_request();
  shown->set_url(request.url);
  EncodeToken(request.token, shown);
  EncodeRequest(request, view, shown);
}

#define SLUICE_TARGET_CODEC(ns)                                                      \
  template StatusOr<std::shared_ptr<const core::TargetPatch>> DecodeQueueTargets(    \
      const ns::Queue&, const FieldSelection&);                                      \
  template void EncodeQueueTargets(const core::QueueTargets&, ns::Queue*);           \
  template StatusOr<core::HttpRequest> DecodeTarget(ns::Task&, const LocationName&); \
  template void EncodeTarget(const core::HttpRequest&, TaskView, ns::Task*)

SLUICE_TARGET_CODEC(tasks_v2);
SLUICE_TARGET_CODEC(tasks_v2beta3);

#undef SLUICE_TARGET_CODEC

}  // namespace sluice::front

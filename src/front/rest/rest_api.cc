// SPDX-License-Identifier: Apache-2.0
#include "front/rest/rest_api.h"

#include <google/api/annotations.pb.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/http_headers.h"
#include "front/errors.h"
#include "front/rest/json_text.h"
#include "front/rest/query_fields.h"

namespace sluice::front {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

Status CheckContentType(const net::HttpRequest& request) {
  const std::string* const coding = request.FindHeader("content-encoding");
  if (coding != nullptr && !IsSameHeader(*coding, "identity")) {
    return InvalidArgument("Content-Encoding {}: a body must come as it is", *coding);
  }
  const std::string* type = request.FindHeader("content-type");
  if (type != nullptr && IsMediaType(*type, "application/json")) return absl::OkStatus();
  if (!request.body.empty()) {
    return InvalidArgument("a body must come with Content-Type: application/json (got {})",
                           type == nullptr ? "none" : *type);
  }
  if (request.method != "GET" && request.FindHeader("origin") != nullptr) {
    return Status(absl::StatusCode::kPermissionDenied,
                  "a request from a web page must come with Content-Type: application/json");
  }
  return absl::OkStatus();
}

/// A call over REST: keeps the messages, turns the outcome into an answer.
class RestCall final : public Call {
 public:
  RestCall(env::Executor* worker, net::HttpResponder responder, const Message& request,
           const Message& response, JsonStyle style)
      : worker_(worker),
        responder_(std::move(responder)),
        request_(request.New()),
        response_(response.New()),
        style_(style) {}

  Message& request() { return *request_; }
  Message& response() { return *response_; }

  // The HTTP layer does not say that a client went away; the command is carried
  // out, and its answer finds nobody.
  [[nodiscard]] bool IsCancelled() const override { return false; }

  void Finish(Status status) override {
    if (IsDropCall(status)) status = Unavailable("the call was dropped by fault injection");
    // Rendering takes longer than what the lane has for a reply.
    worker_->Post([this, status = std::move(status)] {
      responder_.Send(status.ok() ? JsonResponse(*response_, style_) : JsonError(status, style_));
      delete this;
    });
  }

 private:
  env::Executor* const worker_;
  net::HttpResponder responder_;
  const std::unique_ptr<Message> request_;
  const std::unique_ptr<Message> response_;
  const JsonStyle style_;
};

/// Where the body of a route goes, `message` itself or a field of it.
Status ParseBody(const std::string& body_field, const std::string& body, Message* message) {
  if (body_field.empty()) {
    if (body.empty()) return absl::OkStatus();
    return InvalidArgument("this method takes no body (got {} bytes)", body.size());
  }
  if (body.empty()) return absl::OkStatus();
  if (body_field == "*") return ParseJson(body, message);
  const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(body_field);
  return ParseJson(body, message->GetReflection()->MutableMessage(message, field));
}

Status FillRequest(const net::HttpRequest& http, const std::string& body_field,
                   const std::vector<PathBinding>& bindings,
                   const std::vector<QueryParameter>& parameters, Message* message) {
  SLUICE_RETURN_IF_ERROR(ParseBody(body_field, http.body, message));
  for (const QueryParameter& parameter : parameters) {
    if (body_field == "*") {
      return AtField(parameter.name,
                     InvalidArgument("parameter {}: belongs into the body", parameter.name));
    }
    SLUICE_RETURN_IF_ERROR(SetFieldFromText(message, parameter.name, parameter.value));
  }
  // The path has the last word, as the resource that is meant.
  for (const PathBinding& binding : bindings) {
    SLUICE_RETURN_IF_ERROR(SetFieldFromText(message, binding.field, binding.value));
  }
  return absl::OkStatus();
}

/// Takes the parameters of every method out of `query`.
StatusOr<std::vector<QueryParameter>> TakeParameters(std::string_view query, JsonStyle* style) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<QueryParameter> all, ParseQuery(query));
  std::vector<QueryParameter> own;
  for (const QueryParameter& parameter : all) {
    SLUICE_ASSIGN_OR_RETURN(const bool is_taken, TakeStandardParameter(parameter, style));
    if (!is_taken) own.push_back(parameter);
  }
  return own;
}

/// The method that is meant: clients that cannot send PATCH (Google's for Java) send
/// POST and name it in a header, as Google's servers understand it.
StatusOr<std::string> MeantMethod(const net::HttpRequest& request) {
  static constexpr std::array kMethods = {"GET", "PUT", "POST", "DELETE", "PATCH"};
  const std::string* const meant = request.FindHeader("x-http-method-override");
  if (meant == nullptr || request.method != "POST") return request.method;
  if (std::find(kMethods.begin(), kMethods.end(), *meant) != kMethods.end()) return *meant;
  return InvalidArgument("X-HTTP-Method-Override {}: expected one of {}", *meant,
                         fmt::join(kMethods, ", "));
}

std::pair<std::string, std::string> VerbAndPath(const google::api::HttpRule& rule) {
  switch (rule.pattern_case()) {
    case google::api::HttpRule::kGet:
      return {"GET", rule.get()};
    case google::api::HttpRule::kPut:
      return {"PUT", rule.put()};
    case google::api::HttpRule::kPost:
      return {"POST", rule.post()};
    case google::api::HttpRule::kDelete:
      return {"DELETE", rule.delete_()};
    case google::api::HttpRule::kPatch:
      return {"PATCH", rule.patch()};
    default:
      return {};
  }
}

}  // namespace

void RestApi::AddRoutes(const google::protobuf::ServiceDescriptor& descriptor,
                        std::string_view name, Method method) {
  const auto* found = descriptor.FindMethodByName(std::string(name));
  SLUICE_CHECK(found != nullptr, "the service has the method");
  methods_.push_back(std::move(method));
  const google::api::HttpRule& rule = found->options().GetExtension(google::api::http);
  std::vector<const google::api::HttpRule*> rules = {&rule};
  for (const google::api::HttpRule& more : rule.additional_bindings()) rules.push_back(&more);
  for (const google::api::HttpRule* one : rules) {
    const auto [verb, path] = VerbAndPath(*one);
    AddRoute(verb, path, one->body());
  }
}

void RestApi::AddRoute(std::string_view verb, std::string_view path, std::string_view body) {
  StatusOr<PathTemplate> parsed = PathTemplate::Parse(path);
  SLUICE_CHECK(parsed.ok(), sluice::Message(parsed.status()));
  routes_.push_back(
      {std::string(verb), *std::move(parsed), std::string(body), methods_.size() - 1});
  const std::string version(path.substr(0, path.find('/', 1) + 1));
  if (!Owns(version)) versions_.push_back(version);
}

bool RestApi::Owns(std::string_view path) const {
  return std::any_of(versions_.begin(), versions_.end(), [path](const std::string& version) {
    return path.substr(0, version.size()) == version;
  });
}

void RestApi::Handle(net::HttpRequest request, net::HttpResponder responder) {
  JsonStyle style;
  const auto refuse = [&](const Status& status) { responder.Send(JsonError(status, style)); };
  const StatusOr<std::vector<QueryParameter>> parameters = TakeParameters(request.query, &style);
  const StatusOr<std::string> method_meant = MeantMethod(request);
  if (!method_meant.ok()) return refuse(method_meant.status());
  for (const Route& route : routes_) {
    if (route.verb != *method_meant) continue;
    const std::optional<std::vector<PathBinding>> bindings = route.path.Match(request.path);
    if (!bindings) continue;
    if (!parameters.ok()) return refuse(parameters.status());
    if (const Status status = CheckContentType(request); !status.ok()) return refuse(status);
    const Method& method = methods_[route.method];
    auto call = std::make_unique<RestCall>(worker_, std::move(responder), *method.request,
                                           *method.response, style);
    const Status status =
        FillRequest(request, route.body, *bindings, *parameters, &call->request());
    RestCall* const open = call.release();  // deletes itself when it is answered
    if (!status.ok()) return open->Finish(status);
    return method.run(open->request(), open->response(), *open);
  }
  refuse(NotFound("{} {} is no method of an API that is served here", *method_meant, request.path));
}

}  // namespace sluice::front

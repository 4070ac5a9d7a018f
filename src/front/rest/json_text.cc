// SPDX-License-Identifier: Apache-2.0
#include "front/rest/json_text.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <array>

#include "front/errors.h"
#include "nlohmann/json.hpp"

namespace sluice::front {
namespace {

namespace util = google::protobuf::util;

constexpr std::array<std::string_view, 8> kWithoutEffect = {
    "key",     "access_token", "oauth_token",     "quotaUser",
    "$.xgafv", "uploadType",   "upload_protocol", "userProject"};

util::JsonPrintOptions PrintOptions(const JsonStyle& style) {
  util::JsonPrintOptions options;
  options.add_whitespace = style.is_pretty;
  options.always_print_enums_as_ints = style.has_enum_numbers;
  return options;
}

}  // namespace

StatusOr<bool> TakeStandardParameter(const QueryParameter& parameter, JsonStyle* style) {
  const std::string& name = parameter.name;
  const std::string& value = parameter.value;
  if (name == "alt" || name == "$alt") {
    if (value == "json;enum-encoding=int") {
      style->has_enum_numbers = true;
    } else if (value != "json") {
      return InvalidArgument("parameter {}: only json is served (got \"{}\")", name, value);
    }
    return true;
  }
  if (name == "prettyPrint" || name == "$prettyPrint") {
    style->is_pretty = value != "false" && value != "0";
    return true;
  }
  if (name == "fields" || name == "$fields" || name == "callback") {
    return InvalidArgument("parameter {}: not served, leave it out", name);
  }
  return std::find(kWithoutEffect.begin(), kWithoutEffect.end(), name) != kWithoutEffect.end();
}

Status ParseJson(std::string_view json, google::protobuf::Message* message) {
  const auto status =
      util::JsonStringToMessage({json.data(), json.size()}, message, util::JsonParseOptions());
  if (status.ok()) return absl::OkStatus();
  return InvalidArgument("the JSON body is no {}: {}", message->GetDescriptor()->full_name(),
                         std::string(status.message()));
}

net::HttpResponse JsonResponse(const google::protobuf::Message& message, const JsonStyle& style) {
  net::HttpResponse response;
  const auto status = util::MessageToJsonString(message, &response.body, PrintOptions(style));
  if (!status.ok()) {
    return JsonError(Internal("a {} could not be written as JSON: {}",
                              message.GetDescriptor()->full_name(), std::string(status.message())),
                     style);
  }
  return response;
}

net::HttpResponse JsonError(const Status& status, const JsonStyle& style) {
  const google::rpc::Status rpc = ToRpcStatus(status);
  nlohmann::ordered_json error;
  error["code"] = HttpStatusOf(status.code());
  error["message"] = rpc.message();
  error["status"] = NameOf(status.code());
  for (const google::protobuf::Any& detail : rpc.details()) {
    std::string text;
    // A detail is one of google.rpc's messages, all linked in; one that is not is
    // worth less than the error it would hide.
    if (!util::MessageToJsonString(detail, &text, PrintOptions({.is_pretty = false})).ok())
      continue;
    error["details"].push_back(nlohmann::ordered_json::parse(text));
  }
  net::HttpResponse response;
  response.status = HttpStatusOf(status.code());
  nlohmann::ordered_json body;
  body["error"] = std::move(error);
  response.body = body.dump(style.is_pretty ? 2 : -1, ' ', false,
                            nlohmann::ordered_json::error_handler_t::replace) +
                  "\n";
  return response;
}

}  // namespace sluice::front

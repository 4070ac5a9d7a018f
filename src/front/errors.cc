// SPDX-License-Identifier: Apache-2.0
#include "front/errors.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "base/text.h"
#include "google/rpc/error_details.pb.h"

namespace sluice::front {
namespace {

constexpr std::string_view kTypeUrlPrefix = "type.googleapis.com/";

struct CodeMapping {
  std::string_view name;
  int http_status;
};

// In the order of the numbers of google.rpc.Code, which absl's codes share.
constexpr std::array<CodeMapping, 17> kCodes{{
    {"OK", 200},
    {"CANCELLED", 499},
    {"UNKNOWN", 500},
    {"INVALID_ARGUMENT", 400},
    {"DEADLINE_EXCEEDED", 504},
    {"NOT_FOUND", 404},
    {"ALREADY_EXISTS", 409},
    {"PERMISSION_DENIED", 403},
    {"RESOURCE_EXHAUSTED", 429},
    {"FAILED_PRECONDITION", 400},
    {"ABORTED", 409},
    {"OUT_OF_RANGE", 400},
    {"UNIMPLEMENTED", 501},
    {"INTERNAL", 500},
    {"UNAVAILABLE", 503},
    {"DATA_LOSS", 500},
    {"UNAUTHENTICATED", 401},
}};

const CodeMapping& MappingOf(absl::StatusCode code) {
  const auto number = static_cast<std::size_t>(code);
  return kCodes[number < kCodes.size() ? number : std::size_t{2}];
}

template <typename Detail>
std::string TypeUrl() {
  return std::string(kTypeUrlPrefix) + Detail::descriptor()->full_name();
}

template <typename Detail>
void SetDetail(Status* status, const Detail& detail) {
  if (status->ok()) return;
  status->SetPayload(TypeUrl<Detail>(), absl::Cord(detail.SerializeAsString()));
}

}  // namespace

int HttpStatusOf(absl::StatusCode code) { return MappingOf(code).http_status; }
std::string_view NameOf(absl::StatusCode code) { return MappingOf(code).name; }

std::string ShownMessage(const Status& status) {
  const std::string_view message = Message(status).substr(0, kErrorMessageBytesMax);
  std::string out;
  out.reserve(message.size());
  for (std::size_t i = 0; i < message.size();) {
    const std::size_t length = Utf8Length(message.substr(i));
    if (length == 0) {
      out += '?';
      ++i;
    } else {
      out += message.substr(i, length);
      i += length;
    }
  }
  return out;
}

google::rpc::Status ToRpcStatus(const Status& status) {
  google::rpc::Status out;
  out.set_code(static_cast<int>(status.code()));
  out.set_message(ShownMessage(status));
  std::vector<std::pair<std::string, std::string>> details;
  status.ForEachPayload([&details](const auto& type_url, const absl::Cord& payload) {
    details.emplace_back(std::string(type_url.data(), type_url.size()), std::string(payload));
  });
  std::sort(details.begin(), details.end());
  for (auto& [type_url, value] : details) {
    google::protobuf::Any* detail = out.add_details();
    detail->set_type_url(std::move(type_url));
    detail->set_value(std::move(value));
  }
  return out;
}

void AddHelp(Status* status, std::string_view description, std::string_view url) {
  google::rpc::Help help;
  google::rpc::Help::Link* link = help.add_links();
  link->set_description(std::string(description));
  link->set_url(std::string(url));
  SetDetail(status, help);
}

void AddErrorInfo(Status* status, std::string_view reason, std::string_view domain) {
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(reason));
  info.set_domain(std::string(domain));
  SetDetail(status, info);
}

void AddResourceInfo(Status* status, std::string_view type, std::string_view name) {
  google::rpc::ResourceInfo info;
  info.set_resource_type(std::string(type));
  info.set_resource_name(std::string(name));
  SetDetail(status, info);
}

void AddFieldViolation(Status* status, std::string_view field, std::string_view description) {
  google::rpc::BadRequest bad_request;
  if (const auto earlier = status->GetPayload(TypeUrl<google::rpc::BadRequest>())) {
    // A payload of another writer that does not parse is replaced.
    if (!bad_request.ParseFromString(std::string(*earlier))) bad_request.Clear();
  }
  google::rpc::BadRequest::FieldViolation* violation = bad_request.add_field_violations();
  violation->set_field(std::string(field));
  violation->set_description(std::string(description));
  SetDetail(status, bad_request);
}

Status AtField(std::string_view field, Status status) {
  AddFieldViolation(&status, field, ShownMessage(status));
  return status;
}

}  // namespace sluice::front

// SPDX-License-Identifier: Apache-2.0
#include "cli/admin_client.h"

#include <curl/curl.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

namespace sluice::cli {
namespace {

using Json = nlohmann::json;

constexpr long kConnectSecondsMax = 5;
constexpr long kAnswerSecondsMax = 30;
constexpr std::size_t kAnswerBytesMax = std::size_t{16} << 20;

std::size_t Collect(char* data, std::size_t size, std::size_t count, void* body) {
  auto* text = static_cast<std::string*>(body);
  if (text->size() + size * count > kAnswerBytesMax) return 0;
  text->append(data, size * count);
  return size * count;
}

std::string UrlOf(const AdminRequest& request) {
  const bool has_scheme = request.server.find("://") != std::string::npos;
  return fmt::format("{}{}{}", has_scheme ? "" : "http://", request.server, request.path);
}

/// The code of google.rpc.Code's name; only those the admin API answers with.
absl::StatusCode CodeOf(std::string_view name) {
  if (name == "INVALID_ARGUMENT") return absl::StatusCode::kInvalidArgument;
  if (name == "NOT_FOUND") return absl::StatusCode::kNotFound;
  if (name == "ALREADY_EXISTS") return absl::StatusCode::kAlreadyExists;
  if (name == "PERMISSION_DENIED") return absl::StatusCode::kPermissionDenied;
  if (name == "FAILED_PRECONDITION") return absl::StatusCode::kFailedPrecondition;
  if (name == "RESOURCE_EXHAUSTED") return absl::StatusCode::kResourceExhausted;
  if (name == "ABORTED") return absl::StatusCode::kAborted;
  if (name == "UNIMPLEMENTED") return absl::StatusCode::kUnimplemented;
  if (name == "UNAVAILABLE") return absl::StatusCode::kUnavailable;
  return absl::StatusCode::kInternal;
}

}  // namespace

StatusOr<RawAnswer> CallAdminRaw(const AdminRequest& request) {
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(::curl_easy_init(), &::curl_easy_cleanup);
  SLUICE_CHECK(curl != nullptr, "libcurl gives a handle");
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(
      ::curl_slist_append(nullptr, "Content-Type: application/json"), &::curl_slist_free_all);
  RawAnswer answer;
  const std::string url = UrlOf(request);
  ::curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  ::curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  ::curl_easy_setopt(curl.get(), CURLOPT_NOPROXY, "*");
  ::curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, kConnectSecondsMax);
  if (!request.is_patient) ::curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, kAnswerSecondsMax);
  ::curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &Collect);
  ::curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer.body);
  if (request.json_body.has_value()) {
    ::curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request.json_body->size()));
    ::curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, request.json_body->data());
    ::curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  }
  if (const CURLcode code = ::curl_easy_perform(curl.get()); code != CURLE_OK) {
    return Unavailable("no answer from a server at {}: {}", request.server,
                       ::curl_easy_strerror(code));
  }
  ::curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &answer.http_status);
  return answer;
}

StatusOr<Json> CallAdmin(const AdminRequest& request) {
  SLUICE_ASSIGN_OR_RETURN(const RawAnswer answer, CallAdminRaw(request));
  Json json = Json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return Internal("{} answered HTTP {} without JSON; is it a sluice server?", request.server,
                    answer.http_status);
  }
  if (answer.http_status == 200) return json;
  const Json error = json.value("error", Json::object());
  if (!error.is_object()) return Internal("HTTP {}", answer.http_status);
  return Status(CodeOf(error.value("status", "")),
                error.value("message", fmt::format("HTTP {}", answer.http_status)));
}

}  // namespace sluice::cli

// SPDX-License-Identifier: Apache-2.0
#include "runner/record_mapper.h"

#include <algorithm>

#include "base/http_headers.h"
#include "base/text.h"
#include "base/time.h"
#include "runner/form_body.h"
#include "sluice/sink/target_rules.h"

namespace sluice::runner {
namespace {

using Encoding = TemplateText::Encoding;
constexpr std::string_view kContentType = "Content-Type";

StatusOr<TemplateText> ParseTemplate(std::string_view key, std::string_view text,
                                     Encoding encoding) {
  auto parsed = TemplateText::Parse(text, encoding);
  if (!parsed.ok()) return InvalidArgument("option {}: {}", key, Message(parsed.status()));
  return parsed;
}

Status CheckUrl(std::string_view url) {
  std::string_view rest;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (url.starts_with(scheme)) rest = url.substr(scheme.size());
  }
  const bool has_host = !rest.empty() && rest.find_first_of("/?#") != 0;
  const bool is_clean =
      std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c != 127; });
  if (!has_host || !is_clean) {
    return InvalidArgument(
        "http.url does not give an absolute URL that begins http:// or https://");
  }
  return {};
}

StatusOr<Time> ParseScheduleTime(const std::string& text) {
  if (const auto seconds = ParseNumber<std::int64_t>(text)) return absl::FromUnixSeconds(*seconds);
  Time time;
  std::string why;
  if (absl::ParseTime(absl::RFC3339_full, text, &time, &why)) return FloorToMicros(time);
  return InvalidArgument("schedule-time gives neither RFC 3339 nor seconds since 1970");
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// Form bodies have one content type; another of the user's would be a lie.
Status AddFormType(MappingOptions* options) {
  for (auto& [name, value] : options->headers) {
    if (!IsSameHeader(name, kContentType)) continue;
    if (!IsSameHeader(Trimmed(value), kFormContentType)) {
      return InvalidArgument("body.format form-urlencoded has the Content-Type {}, not another",
                             kFormContentType);
    }
    value = kFormContentType;
    return {};
  }
  options->headers.emplace_back(kContentType, kFormContentType);
  return {};
}

}  // namespace

StatusOr<ParsedRecord> ParseRecord(Record record) {
  if (record.is_too_long) {
    return InvalidArgument("the record is longer than {} bytes", kRecordBytesMax);
  }
  ParsedRecord parsed{.record = std::move(record), .fields = {}};
  parsed.fields = nlohmann::json::parse(parsed.record.text, nullptr, false);
  if (parsed.fields.is_discarded()) return InvalidArgument("the record is not JSON");
  if (!parsed.fields.is_object()) return InvalidArgument("the record is not a JSON object");
  return parsed;
}

StatusOr<RecordMapper> RecordMapper::Make(const MappingOptions& options) {
  RecordMapper mapper(options);
  MappingOptions& own = mapper.options_;
  SLUICE_CHECK(google::cloud::tasks::v2::HttpMethod_Parse(own.method, &mapper.method_),
               "options check the method");
  const std::string family = own.is_app_engine ? "app-engine" : "http";
  const std::string url_key = own.is_app_engine ? "app-engine.relative-uri" : "http.url";
  SLUICE_ASSIGN_OR_RETURN(mapper.url_, ParseTemplate(url_key, own.url, Encoding::kUrl));
  if (mapper.url_.is_fixed()) {
    SLUICE_ASSIGN_OR_RETURN(const std::string url, mapper.url_.Fill({}));
    if (!own.is_app_engine) SLUICE_RETURN_IF_ERROR(CheckUrl(url));
    if (own.is_app_engine) {
      const Status status = sink::CheckRelativeUri(url);
      if (!status.ok()) return InvalidArgument("option {}: {}", url_key, Message(status));
    }
  }
  if (own.body_format == "form-urlencoded" && mapper.HasBody()) {
    SLUICE_RETURN_IF_ERROR(AddFormType(&own));
  }
  for (const auto& [name, value] : own.headers) {
    const std::string key = fmt::format("{}.headers.{}", family, name);
    if (own.is_app_engine && sink::IsReservedAppEngineHeader(name)) {
      return InvalidArgument("option {}: the service sets this header itself", key);
    }
    SLUICE_ASSIGN_OR_RETURN(TemplateText text, ParseTemplate(key, value, Encoding::kRaw));
    mapper.headers_.push_back({.name = name, .value = std::move(text)});
  }
  if (!own.schedule_time.empty()) {
    SLUICE_ASSIGN_OR_RETURN(mapper.schedule_time_,
                            ParseTemplate("schedule-time", own.schedule_time, Encoding::kRaw));
  }
  if (!own.task_id.empty()) {
    SLUICE_ASSIGN_OR_RETURN(mapper.task_id_, ParseTemplate("task-id", own.task_id, Encoding::kRaw));
  }
  if (own.body_format == "template") {
    SLUICE_ASSIGN_OR_RETURN(mapper.body_,
                            ParseTemplate("body.template", own.body_template, Encoding::kRaw));
  } else if (own.body_format == "raw") {
    SLUICE_ASSIGN_OR_RETURN(
        mapper.body_,
        ParseTemplate("body.field", fmt::format("${{{}}}", own.body_field), Encoding::kRaw));
  }
  return mapper;
}

bool RecordMapper::HasBody() const {
  return options_.is_app_engine ? sink::TakesAppEngineBody(method_) : sink::TakesHttpBody(method_);
}

StatusOr<std::string> RecordMapper::Body(const ParsedRecord& record) const {
  if (options_.body_format == "record") return record.record.text;
  if (options_.body_format == "form-urlencoded") return FormBody(record.record.text);
  return body_.Fill(record.fields);
}

template <typename Headers>
Status RecordMapper::FillHeaders(const ParsedRecord& record, Headers* out) const {
  for (const Header& header : headers_) {
    SLUICE_ASSIGN_OR_RETURN(const std::string value, header.value.Fill(record.fields));
    if (!IsValidHeaderValue(value)) {
      return InvalidArgument("the value of the header {} has control characters", header.name);
    }
    (*out)[header.name] = value;
  }
  return {};
}

Status RecordMapper::FillHttp(const ParsedRecord& record, Task* task) const {
  auto* request = task->mutable_http_request();
  SLUICE_ASSIGN_OR_RETURN(*request->mutable_url(), url_.Fill(record.fields));
  SLUICE_RETURN_IF_ERROR(CheckUrl(request->url()));
  request->set_http_method(method_);
  SLUICE_RETURN_IF_ERROR(FillHeaders(record, request->mutable_headers()));
  if (!options_.oidc_email.empty()) {
    request->mutable_oidc_token()->set_service_account_email(options_.oidc_email);
    request->mutable_oidc_token()->set_audience(options_.oidc_audience);
  }
  if (!options_.oauth_email.empty()) {
    request->mutable_oauth_token()->set_service_account_email(options_.oauth_email);
    request->mutable_oauth_token()->set_scope(options_.oauth_scope);
  }
  if (!HasBody()) return {};
  SLUICE_ASSIGN_OR_RETURN(*request->mutable_body(), Body(record));
  return {};
}

Status RecordMapper::FillAppEngine(const ParsedRecord& record, Task* task) const {
  auto* request = task->mutable_app_engine_http_request();
  SLUICE_ASSIGN_OR_RETURN(*request->mutable_relative_uri(), url_.Fill(record.fields));
  if (!sink::CheckRelativeUri(request->relative_uri()).ok()) {
    return InvalidArgument(
        "app-engine.relative-uri does not give a path and query that begin with a slash");
  }
  request->set_http_method(method_);
  SLUICE_RETURN_IF_ERROR(FillHeaders(record, request->mutable_headers()));
  if (!options_.service.empty() || !options_.version.empty() || !options_.instance.empty()) {
    auto* routing = request->mutable_app_engine_routing();
    routing->set_service(options_.service);
    routing->set_version(options_.version);
    routing->set_instance(options_.instance);
  }
  if (!HasBody()) return {};
  SLUICE_ASSIGN_OR_RETURN(*request->mutable_body(), Body(record));
  return {};
}

StatusOr<RecordMapper::Task> RecordMapper::ToTask(const ParsedRecord& record) const {
  Task task;
  SLUICE_RETURN_IF_ERROR(options_.is_app_engine ? FillAppEngine(record, &task)
                                                : FillHttp(record, &task));
  if (schedule_time_) {
    SLUICE_ASSIGN_OR_RETURN(const std::string text, schedule_time_->Fill(record.fields));
    SLUICE_ASSIGN_OR_RETURN(const Time time, ParseScheduleTime(text));
    const std::int64_t seconds = absl::ToUnixSeconds(time);
    task.mutable_schedule_time()->set_seconds(seconds);
    task.mutable_schedule_time()->set_nanos(
        static_cast<std::int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
  }
  return task;
}

StatusOr<std::string> RecordMapper::ToKey(const ParsedRecord& record) const {
  SLUICE_CHECK(task_id_.has_value(), "a key needs the option task-id");
  SLUICE_ASSIGN_OR_RETURN(std::string key, task_id_->Fill(record.fields));
  if (key.empty()) {
    return InvalidArgument("task-id gives an empty key: the task could not be deduplicated");
  }
  return key;
}

}  // namespace sluice::runner

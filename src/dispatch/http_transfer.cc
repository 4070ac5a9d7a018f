// SPDX-License-Identifier: Apache-2.0
#include "dispatch/http_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "dispatch/redirect.h"
#include "dispatch/url.h"

namespace sluice::dispatch {
namespace {

constexpr long kKeepAliveIdleSeconds = 60;
constexpr std::int32_t kFinalStatusMin = 200;

// In libcurl's notation: do not send this header of yours.
char kNoAccept[] = "Accept:";
char kNoContentType[] = "Content-Type:";
char kNoExpect[] = "Expect:";

bool HasBody(core::HttpMethod method) {
  return method == core::HttpMethod::kPost || method == core::HttpMethod::kPut ||
         method == core::HttpMethod::kPatch;
}

/// Messages end up in fields that must be UTF-8, and quote bytes of strangers.
std::string Bounded(std::string message) {
  if (message.size() > kMessageBytesMax) message.resize(kMessageBytesMax);
  std::replace_if(
      message.begin(), message.end(), [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return message;
}

long Millis(Duration duration) { return std::max<long>(absl::ToInt64Milliseconds(duration), 1); }

Duration TotalTime(CURL* easy) {
  curl_off_t micros = 0;
  curl_easy_getinfo(easy, CURLINFO_TOTAL_TIME_T, &micros);
  return absl::Microseconds(micros);
}

std::int32_t StatusOf(CURL* easy) {
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<std::int32_t>(status);
}

/// As seconds or as a date; libcurl reads both.
Duration RetryAfterOf(CURL* easy) {
  curl_off_t seconds = 0;
  curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
  return absl::Seconds(std::max<curl_off_t>(seconds, 0));
}

CURL* NewEasy() {
  CURL* const easy = curl_easy_init();
  SLUICE_CHECK(easy != nullptr, "cannot create a libcurl easy handle");
  return easy;
}

}  // namespace

HttpTransfer::HttpTransfer(const HttpTransferOptions& options, CurlReactor* reactor)
    : options_(options), reactor_(reactor), easy_(NewEasy()), parts_{.headers = headers_} {
  reactor_->Prepare(easy_);
  SetConstantOptions(options);
}

HttpTransfer::~HttpTransfer() {
  SLUICE_CHECK(exchange_ == nullptr, "a transfer is destroyed while it runs");
  curl_easy_cleanup(easy_);
}

HttpTransfer* HttpTransfer::Of(CURL* easy) {
  HttpTransfer* self = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &self);
  return self;
}

void HttpTransfer::SetConstantOptions(const HttpTransferOptions& options) {
  curl_easy_setopt(easy_, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_);
  curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy_, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy_, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy_, CURLOPT_PROXY, options.proxy.c_str());
  curl_easy_setopt(easy_, CURLOPT_NOPROXY, "");
  curl_easy_setopt(easy_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYPEER, options.is_tls_verified ? 1L : 0L);
  curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYHOST, options.is_tls_verified ? 2L : 0L);
  if (!options.ca_file.empty()) {
    curl_easy_setopt(easy_, CURLOPT_CAINFO, options.ca_file.c_str());
    curl_easy_setopt(easy_, CURLOPT_CAPATH, nullptr);
  }
  // A handler may work for half an hour without a byte; something on the way
  // that forgets silent connections must not.
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPINTVL, kKeepAliveIdleSeconds);
  curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &OnHead);
  curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &OnBody);
  curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
}

bool HttpTransfer::Begin(std::unique_ptr<HttpExchange> exchange) {
  exchange_ = std::move(exchange);
  headers_.Clear();
  parts_.url.clear();
  parts_.body = {};
  parts_.may_redirect = true;
  const Status status = exchange_->Describe(&parts_);
  if (!status.ok()) {
    SetFailure(Message(status));
    return false;
  }
  time_left_ = parts_.deadline;
  time_used_ = absl::ZeroDuration();
  redirects_left_ = parts_.may_redirect ? std::min(options_.redirects_max, kRedirectsMax) : 0;
  Send();
  return true;
}

void HttpTransfer::Send() {
  head_bytes_ = 0;
  body_bytes_ = 0;
  is_head_complete_ = false;
  is_head_too_long_ = false;
  error_[0] = '\0';
  curl_easy_setopt(easy_, CURLOPT_URL, parts_.url.c_str());
  SetMethodAndBody();
  SetHeaders();
  curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, Millis(time_left_));
  curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS,
                   Millis(std::min(options_.connect_timeout, time_left_)));
  cell_ = reactor_->Add(easy_);
}

void HttpTransfer::SetMethodAndBody() {
  // libcurl names these three itself.
  const bool is_named_by_curl = parts_.method == core::HttpMethod::kPost ||
                                parts_.method == core::HttpMethod::kGet ||
                                parts_.method == core::HttpMethod::kHead;
  const char* const name = is_named_by_curl ? nullptr : core::MethodName(parts_.method);
  curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, name);
  if (HasBody(parts_.method)) {
    // An empty body is a pointer to nothing, not no pointer: libcurl would ask
    // for the body otherwise. It sends the Content-Length, also when it is zero.
    curl_easy_setopt(easy_, CURLOPT_POST, 1L);
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, parts_.body.empty() ? "" : parts_.body.data());
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(parts_.body.size()));
  } else if (parts_.method == core::HttpMethod::kHead) {
    curl_easy_setopt(easy_, CURLOPT_NOBODY, 1L);
  } else {
    curl_easy_setopt(easy_, CURLOPT_HTTPGET, 1L);
  }
}

void HttpTransfer::SetHeaders() {
  header_list_.clear();
  if (!headers_.Has("Accept")) header_list_.push_back({kNoAccept, nullptr});
  if (!headers_.Has("Content-Type")) header_list_.push_back({kNoContentType, nullptr});
  header_list_.push_back({kNoExpect, nullptr});
  for (std::size_t i = 0; i < headers_.count(); ++i) {
    header_list_.push_back({headers_.Line(i), nullptr});
  }
  for (std::size_t i = 0; i + 1 < header_list_.size(); ++i) {
    header_list_[i].next = &header_list_[i + 1];
  }
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, header_list_.data());
}

std::size_t HttpTransfer::OnHead(char* data, std::size_t size, std::size_t count, void* self) {
  auto* const transfer = static_cast<HttpTransfer*>(self);
  const std::string_view line(data, size * count);
  transfer->head_bytes_ += line.size();
  if (transfer->head_bytes_ > transfer->options_.response_head_bytes_max) {
    transfer->is_head_too_long_ = true;
    return 0;  // ends the transfer
  }
  if ((line == "\r\n" || line == "\n") && StatusOf(transfer->easy_) >= kFinalStatusMin) {
    transfer->is_head_complete_ = true;
  }
  return line.size();
}

std::size_t HttpTransfer::OnBody(char*, std::size_t size, std::size_t count, void* self) {
  auto* const transfer = static_cast<HttpTransfer*>(self);
  transfer->body_bytes_ += size * count;
  // Anything but the full count ends the transfer and closes the connection.
  return transfer->body_bytes_ > transfer->options_.response_body_bytes_max ? 0 : size * count;
}

bool HttpTransfer::Continue(CURLcode code) {
  reactor_->Remove(easy_, cell_);
  SetResult(code);
  return FollowsRedirect();
}

bool HttpTransfer::FollowsRedirect() {
  if (redirects_left_ == 0 || result_.kind != HttpResult::Kind::kResponse) return false;
  curl_header* location = nullptr;
  if (curl_easy_header(easy_, "Location", 0, CURLH_HEADER, -1, &location) != CURLHE_OK) {
    return false;
  }
  std::optional<Redirect> redirect =
      FollowRedirect(parts_.method, parts_.url, result_.http_status, location->value);
  if (!redirect.has_value()) return false;
  time_used_ = result_.latency;
  time_left_ = parts_.deadline - time_used_;
  if (time_left_ <= absl::ZeroDuration()) return false;
  --redirects_left_;
  parts_.url = std::move(redirect->url);
  parts_.method = redirect->method;
  if (!redirect->is_body_kept) {
    parts_.body = {};
    headers_.Remove("Content-Type");
  }
  if (!redirect->is_same_origin) {
    headers_.Remove("Authorization");
    headers_.Remove("Cookie");
  }
  Send();
  return true;
}

void HttpTransfer::SetResult(CURLcode code) {
  result_ = {};
  result_.latency = time_used_ + TotalTime(easy_);
  // The status and the headers decide. What comes of the body after them, be it
  // endless, cut short or late, is nothing the service looks at.
  const std::int32_t status = StatusOf(easy_);
  if ((code == CURLE_OK || is_head_complete_) && status != 0) {
    result_.kind = HttpResult::Kind::kResponse;
    result_.http_status = status;
    result_.retry_after = RetryAfterOf(easy_);
    return;
  }
  const std::string origin = Origin(parts_.url);
  if (code == CURLE_OPERATION_TIMEDOUT && !IsConnectTimeout()) {
    result_.kind = HttpResult::Kind::kTimedOut;
    result_.message = Bounded(fmt::format("no response from {} within the deadline of {} s", origin,
                                          absl::ToDoubleSeconds(parts_.deadline)));
    return;
  }
  const std::string_view why = error_[0] != '\0' ? error_ : curl_easy_strerror(code);
  if (is_head_too_long_) {
    result_.message = Bounded(fmt::format("{}: the response headers exceed {} bytes", origin,
                                          options_.response_head_bytes_max));
  } else {
    result_.message = Bounded(fmt::format("{}: {}", origin, why));
  }
}

bool HttpTransfer::IsConnectTimeout() const {
  // libcurl reports both time-outs with one code. Before the request was begun
  // and before the deadline, it can only be the shorter one.
  curl_off_t pretransfer_us = 0;
  curl_easy_getinfo(easy_, CURLINFO_PRETRANSFER_TIME_T, &pretransfer_us);
  return pretransfer_us == 0 && options_.connect_timeout < time_left_ &&
         result_.latency < parts_.deadline;
}

void HttpTransfer::SetFailure(std::string_view what) {
  result_ = {};
  result_.message = Bounded(std::string(what));
}

HttpTransfer::Ended HttpTransfer::Take() { return {std::move(exchange_), std::move(result_)}; }

void HttpTransfer::Abandon() {
  reactor_->Remove(easy_, cell_);
  exchange_.reset();
}

}  // namespace sluice::dispatch

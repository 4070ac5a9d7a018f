// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/http_target.h"

#include "blank.h"
#include "sluice/sink/target_rules.h"

namespace sluice::sink {
Status HttpTarget::CheckUrl(std::string_view url) {
  if (IsBlank(url)) return InvalidArgument("the URL of an HTTP target must not be blank");
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    return InvalidArgument(
        "an HTTP target needs an absolute http URL, beginning with http:// or https://, not \"{}\"",
        url);
  }
  return {};
}

HttpTarget HttpTarget::To(std::string_view url) {
  HttpTarget target;
  target.status_ = CheckUrl(url);
  target.request_.set_url(std::string(url));
  target.request_.set_http_method(cloudtasks::HttpMethod::POST);
  return target;
}

void HttpTarget::Refuse(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

void HttpTarget::SetMethod(cloudtasks::HttpMethod method) {
  Refuse(CheckMethod(method));
  if (IsConcreteMethod(method)) request_.set_http_method(method);
}

void HttpTarget::SetOidcToken(std::string_view email, std::optional<std::string> audience) {
  if (IsBlank(email)) {
    return Refuse(InvalidArgument("the service account of an OIDC token must not be blank"));
  }
  if (request_.has_oauth_token()) {
    return Refuse(FailedPrecondition(
        "an OAuth token is set already: the two kinds of token are one oneof of the request"));
  }
  request_.clear_oidc_token();
  request_.mutable_oidc_token()->set_service_account_email(std::string(email));
  if (audience) request_.mutable_oidc_token()->set_audience(*std::move(audience));
}

void HttpTarget::SetOAuthToken(std::string_view email, std::optional<std::string> scope) {
  if (IsBlank(email)) {
    return Refuse(InvalidArgument("the service account of an OAuth token must not be blank"));
  }
  if (request_.has_oidc_token()) {
    return Refuse(FailedPrecondition(
        "an OIDC token is set already: the two kinds of token are one oneof of the request"));
  }
  request_.clear_oauth_token();
  request_.mutable_oauth_token()->set_service_account_email(std::string(email));
  if (scope) request_.mutable_oauth_token()->set_scope(*std::move(scope));
}

bool HttpTarget::has_body() const { return TakesHttpBody(request_.http_method()); }

}  // namespace sluice::sink

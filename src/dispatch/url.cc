// SPDX-License-Identifier: Apache-2.0
#include "dispatch/url.h"

#include <algorithm>

#include "base/http_headers.h"

namespace sluice::dispatch {
namespace {

bool IsHexDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool IsPlain(char c) { return c > 0x20 && c < 0x7f; }

void AppendEscaped(char c, std::string* out) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out->push_back('%');
  out->push_back(kDigits[byte >> 4]);
  out->push_back(kDigits[byte & 0xf]);
}

/// Length of `http://` or `https://` at the start, zero when there is neither.
std::size_t SchemeBytes(std::string_view url) {
  for (const std::string_view scheme :
       {std::string_view("http://"), std::string_view("https://")}) {
    if (IsSameHeader(url.substr(0, scheme.size()), scheme)) return scheme.size();
  }
  return 0;
}

/// The authority that follows the scheme: up to the path, query or fragment.
std::string_view AuthorityAt(std::string_view url, std::size_t begin) {
  return url.substr(begin, url.find_first_of("/?#", begin) - begin);
}

/// Without `user:password@`.
std::string_view HostAndPort(std::string_view authority) {
  const std::size_t at = authority.rfind('@');
  return at == std::string_view::npos ? authority : authority.substr(at + 1);
}

}  // namespace

StatusOr<std::string> UrlForRequest(std::string_view url) {
  const std::size_t scheme_bytes = SchemeBytes(url);
  if (scheme_bytes == 0) return InvalidArgument("the url's scheme is neither http nor https");
  const std::string_view authority = AuthorityAt(url, scheme_bytes);
  const std::string_view host = HostAndPort(authority);
  if (host.empty() || host.front() == ':') return InvalidArgument("the url has no host");
  const bool is_host_clean = std::all_of(authority.begin(), authority.end(), [](char c) {
    return IsPlain(c) || static_cast<unsigned char>(c) >= 0x80;
  });
  if (!is_host_clean) return InvalidArgument("the url's host has a space or a control byte");

  std::string result(url.substr(0, scheme_bytes + authority.size()));
  const std::string_view whole = url.substr(0, url.find('#'));
  const std::string_view rest = whole.substr(std::min(result.size(), whole.size()));
  result.reserve(result.size() + rest.size());
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '%') {
      const bool is_escape =
          rest.size() - i > 2 && IsHexDigit(rest[i + 1]) && IsHexDigit(rest[i + 2]);
      if (!is_escape) {
        return InvalidArgument("the url has a malformed percent escape at byte {}",
                               scheme_bytes + authority.size() + i);
      }
    }
    if (IsPlain(rest[i])) {
      result.push_back(rest[i]);
    } else {
      AppendEscaped(rest[i], &result);
    }
  }
  return result;
}

std::string Origin(std::string_view url) {
  const std::size_t scheme_bytes = SchemeBytes(url);
  if (scheme_bytes == 0) return {};
  std::string origin(url.substr(0, scheme_bytes));
  origin += HostAndPort(AuthorityAt(url, scheme_bytes));
  return origin;
}

}  // namespace sluice::dispatch

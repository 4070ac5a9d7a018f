// SPDX-License-Identifier: Apache-2.0
#include "front/net/http_header_rules.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/http_headers.h"
#include "fmt/format.h"

namespace sluice::front::net {
namespace {

// Headers that decide something and have one value.
constexpr std::array<std::string_view, 4> kSingle = {"Host", "Content-Length", "Transfer-Encoding",
                                                     "Content-Type"};

std::ptrdiff_t CountOf(const HttpRequest& request, std::string_view name) {
  return std::count_if(request.headers.begin(), request.headers.end(),
                       [name](const HttpHeader& h) { return IsSameHeader(h.name, name); });
}

}  // namespace

std::optional<HeaderFault> FindHeaderFault(const HttpRequest& request, bool is_http_1_0) {
  for (const HttpHeader& header : request.headers) {
    if (!IsValidHeaderName(header.name)) {
      return HeaderFault{400, fmt::format("\"{}\" is no name of a header", header.name)};
    }
    if (!IsValidHeaderValue(header.value)) {
      return HeaderFault{400, fmt::format("header {} holds a control character", header.name)};
    }
  }
  for (const std::string_view name : kSingle) {
    if (const auto count = CountOf(request, name); count > 1) {
      return HeaderFault{400, fmt::format("header {} was sent {} times", name, count)};
    }
  }
  const std::string* const coding = request.FindHeader("Transfer-Encoding");
  if (coding == nullptr) return std::nullopt;
  if (request.FindHeader("Content-Length") != nullptr) {
    return HeaderFault{400, "Content-Length and Transfer-Encoding exclude each other"};
  }
  if (is_http_1_0) return HeaderFault{400, "HTTP/1.0 has no Transfer-Encoding"};
  // The names of codings compare as those of headers do.
  if (!IsSameHeader(*coding, "chunked")) {
    return HeaderFault{
        501, fmt::format("Transfer-Encoding {}: only chunked is understood here", *coding)};
  }
  return std::nullopt;
}

}  // namespace sluice::front::net

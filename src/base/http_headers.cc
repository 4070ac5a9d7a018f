// SPDX-License-Identifier: Apache-2.0
#include "base/http_headers.h"

#include <algorithm>
#include <array>

namespace sluice {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool HasPrefix(std::string_view name, std::string_view prefix) {
  return name.size() >= prefix.size() && IsSameHeader(name.substr(0, prefix.size()), prefix);
}

// Expect is here because whoever frames the message on a connection must be
// the one who waits for the interim answer.
constexpr std::array<std::string_view, 13> kServiceNames = {
    "host",       "content-length",   "user-agent",         "connection",
    "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization",
    "te",         "trailer",          "transfer-encoding",  "upgrade",
    "expect",
};

constexpr std::array<std::string_view, 3> kServicePrefixes = {
    "x-cloudtasks-",
    "x-google-",
    "x-appengine-",
};

// A table, since the dispatcher checks every header of every attempt.
constexpr std::array<bool, 256> kIsTokenByte = [] {
  std::array<bool, 256> is_token{};
  constexpr std::string_view kToken =
      "!#$%&'*+-.^_`|~0123456789"
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  for (const char c : kToken) is_token[static_cast<unsigned char>(c)] = true;
  return is_token;
}();

}  // namespace

bool IsSameHeader(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return Lower(x) == Lower(y); });
}

bool IsServiceHeader(std::string_view name) {
  return std::any_of(kServiceNames.begin(), kServiceNames.end(),
                     [&](std::string_view owned) { return IsSameHeader(name, owned); }) ||
         std::any_of(kServicePrefixes.begin(), kServicePrefixes.end(),
                     [&](std::string_view prefix) { return HasPrefix(name, prefix); });
}

bool IsValidHeaderName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return kIsTokenByte[static_cast<unsigned char>(c)];
  });
}

bool IsValidHeaderValue(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

bool IsMediaType(std::string_view content_type, std::string_view media_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  return IsSameHeader(type, media_type);  // media types compare as header names do
}

}  // namespace sluice

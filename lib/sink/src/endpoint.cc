// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/endpoint.h"

namespace sluice::sink {
namespace {

/// 1 to 65535 in ASCII digits, leading zeros allowed; 0 for anything else.
int PortOf(std::string_view text) {
  int port = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return 0;
    port = port * 10 + (c - '0');
    if (port > 65535) return 0;
  }
  return port;
}

}  // namespace

StatusOr<Endpoint> Endpoint::Parse(std::string_view setting, std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const bool has_space = text.find_first_of(" \t\r\n\f\v") != std::string_view::npos;
  const int port = colon == std::string_view::npos ? 0 : PortOf(text.substr(colon + 1));
  if (has_space || port == 0 || colon == 0) {
    return InvalidArgument("{} must have the form host:port, not \"{}\"", setting, text);
  }
  Endpoint endpoint;
  endpoint.host_ = text.substr(0, colon);
  endpoint.port_ = static_cast<std::uint16_t>(port);
  endpoint.text_ = text;
  return endpoint;
}

}  // namespace sluice::sink

// SPDX-License-Identifier: Apache-2.0
#include "admin/server_options.h"

#include "admin/value_text.h"

namespace sluice::admin {

StatusOr<ListenAddress> ListenAddress::Parse(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return InvalidArgument(
        "\"{}\" is not an address to listen on: {}; write HOST:PORT, such as 127.0.0.1:8085 or "
        "[::1]:8085",
        text, why);
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refuse("it has no port");
  std::string_view host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return refuse("an IPv6 address stands in brackets");
  }
  if (host.empty()) return refuse("it has no host");
  const StatusOr<std::int64_t> port = ParseInteger(text.substr(colon + 1), 0, 65535);
  if (!port.ok()) return refuse(fmt::format("port {}", Message(port.status())));
  return ListenAddress{std::string(host), static_cast<std::uint16_t>(*port)};
}

std::string ListenAddress::ToString() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

bool ListenAddress::is_loopback() const {
  // A name such as 127.example.com is no address and may lead anywhere.
  const bool is_ipv4 = host.find_first_not_of("0123456789.") == std::string::npos;
  return host == "localhost" || host == "::1" || (is_ipv4 && host.starts_with("127."));
}

std::string IssuerUrl(const ServerOptions& options, std::uint16_t port) {
  if (!options.tokens_issuer.empty()) return options.tokens_issuer;
  ListenAddress address = options.listen.front();
  address.port = port;
  // An address that stands for all of this machine's is none that anybody could call.
  if (address.host == "0.0.0.0" || address.host == "::") address.host = "localhost";
  return fmt::format("{}://{}", options.tls_cert.empty() ? "http" : "https", address.ToString());
}

Status CheckOptions(const ServerOptions& options) {
  const bool has_tls = !options.tls_cert.empty();
  if (has_tls != !options.tls_key.empty()) {
    return InvalidArgument("{} is set but {} is not; TLS needs both",
                           has_tls ? "tls.cert" : "tls.key", has_tls ? "tls.key" : "tls.cert");
  }
  if (!options.in_memory && options.data_dir.empty()) {
    return InvalidArgument("data_dir is empty; name a folder or set in_memory");
  }
  for (const ListenAddress& address : options.listen) {
    if (has_tls || options.allow_plaintext_remote || address.is_loopback()) continue;
    return InvalidArgument(
        "listen {}: other machines could reach this address without encryption or "
        "authentication; set tls.cert and tls.key, or allow_plaintext_remote if the network is "
        "trusted",
        address.ToString());
  }
  if (options.limits.window_rows_low >= options.limits.window_rows_max) {
    return InvalidArgument("limits.window_rows_low {} must be below limits.window_rows_max {}",
                           options.limits.window_rows_low, options.limits.window_rows_max);
  }
  return {};
}

}  // namespace sluice::admin

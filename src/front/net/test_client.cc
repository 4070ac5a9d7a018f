// SPDX-License-Identifier: Apache-2.0
#include "front/net/test_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/status.h"
#include "front/net/listen_address.h"

namespace sluice::front::net::testing {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(2);

int PatienceMillis() {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(kPatience).count());
}

}  // namespace

bool WaitUntil(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    ::poll(nullptr, 0, static_cast<int>(kPollInterval.count()));
  }
  return true;
}

TestSocket::TestSocket() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}

TestSocket::TestSocket(std::uint16_t port, Family family) {
  if (family == Family::kIpv4) {
    fd_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    Connect(port);
    return;
  }
  fd_ = UniqueFd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  address.sin6_port = htons(port);
  is_connected_ =
      ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

void TestSocket::Connect(std::uint16_t port) {
  const int on = 1;
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  is_connected_ =
      ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

bool TestSocket::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void TestSocket::FinishSending() { ::shutdown(fd_.get(), SHUT_WR); }

void TestSocket::Reset() {
  const linger no_linger{1, 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &no_linger, sizeof no_linger);
  fd_.Reset();
}

bool TestSocket::IsReadable(std::chrono::milliseconds within) {
  pollfd wait{fd_.get(), POLLIN, 0};
  return ::poll(&wait, 1, static_cast<int>(within.count())) == 1;
}

std::string TestSocket::Receive() {
  if (!IsReadable(std::chrono::milliseconds(PatienceMillis()))) return {};
  std::array<char, 65536> buffer;
  const ssize_t count = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
  return count <= 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(count));
}

std::string TestSocket::ReceiveToEnd() {
  std::string all;
  for (std::string part = Receive(); !part.empty(); part = Receive()) all += part;
  return all;
}

bool TestSocket::IsClosedByPeer() {
  std::array<char, 65536> buffer;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    if (!IsReadable(std::chrono::milliseconds(PatienceMillis()))) return false;
    if (::recv(fd_.get(), buffer.data(), buffer.size(), 0) <= 0) return true;
  }
  return false;
}

std::string TestSocket::LocalAddress() const {
  const auto address = BoundAddress(fd_.get());
  return address.ok() ? address->ToString() : "none";
}

TestTlsClient::TestTlsClient(TestSocket* socket, const std::vector<std::string>& alpn,
                             SendBytes send)
    : socket_(socket),
      send_(std::move(send)),
      context_(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free),
      ssl_(SSL_new(context_.get()), &SSL_free) {
  if (!send_) send_ = [this](std::string_view bytes) { return socket_->Send(bytes); };
  std::string wire;
  for (const std::string& name : alpn) {
    wire.push_back(static_cast<char>(name.size()));
    wire += name;
  }
  if (!wire.empty()) {
    SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(wire.data()),
                        static_cast<unsigned>(wire.size()));
  }
  SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_connect_state(ssl_.get());
}

bool TestTlsClient::Flush() {
  char* data = nullptr;
  BIO* const out = SSL_get_wbio(ssl_.get());
  const long size = BIO_get_mem_data(out, &data);
  if (size <= 0) return true;
  const std::string bytes(data, static_cast<std::size_t>(size));
  static_cast<void>(BIO_reset(out));
  return send_(bytes);
}

bool TestTlsClient::Fill() {
  const std::string bytes = socket_->Receive();
  if (bytes.empty()) return false;
  BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
  return true;
}

bool TestTlsClient::Handshake() {
  while (SSL_do_handshake(ssl_.get()) != 1) {
    if (!Flush() || !Fill()) return false;
  }
  return Flush();
}

std::string TestTlsClient::ClientHello() {
  std::string hello;
  send_ = [&hello](std::string_view bytes) {
    hello += bytes;
    return true;
  };
  SSL_do_handshake(ssl_.get());
  Flush();
  return hello;
}

bool TestTlsClient::Send(std::string_view bytes) {
  return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0 && Flush();
}

std::string TestTlsClient::ReceiveToEnd() {
  std::string all;
  std::array<char, 16384> buffer;
  while (true) {
    const int count = SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (count > 0) {
      all.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (SSL_get_error(ssl_.get(), count) != SSL_ERROR_WANT_READ || !Fill()) {
      return all;
    }
  }
}

std::string TestTlsClient::Alpn() const {
  const unsigned char* name = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &length);
  return {reinterpret_cast<const char*>(name), length};
}

HttpReply ParseReply(std::string_view text) {
  HttpReply reply;
  const std::size_t end = text.find("\r\n\r\n");
  if (!text.starts_with("HTTP/1.1 ") || end == std::string_view::npos) return reply;
  std::from_chars(text.data() + 9, text.data() + 12, reply.status);
  reply.header = text.substr(0, end + 2);
  reply.body = text.substr(end + 4);
  return reply;
}

HttpReply ReceiveReply(TestSocket& socket) {
  constexpr std::string_view kLength = "Content-Length: ";
  std::string text;
  while (true) {
    const std::size_t end = text.find("\r\n\r\n");
    if (end != std::string::npos) {
      const std::size_t at = text.find(kLength);
      std::size_t length = 0;
      if (at < end) {
        std::from_chars(text.data() + at + kLength.size(), text.data() + end, length);
      }
      if (text.size() >= end + 4 + length) return ParseReply(text);
    }
    const std::string part = socket.Receive();
    if (part.empty()) return {};
    text += part;
  }
}

TestCertificate::TestCertificate() {
  std::string pattern = std::filesystem::temp_directory_path() / "sluice-front-XXXXXX";
  SLUICE_CHECK(::mkdtemp(pattern.data()) != nullptr, "no temporary folder");
  folder_ = pattern;
  const std::string command = fmt::format(
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
      "-subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 "
      "-keyout {} -out {} 2>/dev/null",
      key_file(), certificate_file());
  SLUICE_CHECK(std::system(command.c_str()) == 0, "openssl made no certificate");
}

TestCertificate::~TestCertificate() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string TestCertificate::certificate_pem() const {
  std::ostringstream text;
  text << std::ifstream(certificate_file()).rdbuf();
  return text.str();
}

}  // namespace sluice::front::net::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Clients for the tests of this folder: a plain socket whose every byte the test
// controls, and a TLS session over it. All waits end at kPatience, which no
// passing test comes near.
//
// Threading: a client belongs to one thread.

#include <openssl/ssl.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "front/net/unique_fd.h"

namespace sluice::front::net::testing {

/// A wait that long has failed.
inline constexpr auto kPatience = std::chrono::seconds(20);

/// Polls until the condition holds. False: it never did.
bool WaitUntil(const std::function<bool()>& condition);

/// A connection to 127.0.0.1 (or ::1).
class TestSocket {
 public:
  enum class Family { kIpv4, kIpv6 };
  explicit TestSocket(std::uint16_t port, Family family = Family::kIpv4);
  /// Creates the socket without connecting it.
  static TestSocket Unconnected() { return TestSocket(); }
  void Connect(std::uint16_t port);

  /// False when the peer has closed.
  bool Send(std::string_view bytes);
  /// Closes our direction only.
  void FinishSending();
  /// Closes with a reset, as a crashed process does.
  void Reset();

  /// Some bytes; empty at the end of the stream (or a reset).
  std::string Receive();
  std::string ReceiveToEnd();
  /// True when the peer closes; bytes before that are dropped.
  bool IsClosedByPeer();
  /// Waits at most this long for something to read.
  bool IsReadable(std::chrono::milliseconds within);

  [[nodiscard]] bool is_connected() const { return is_connected_; }
  /// `127.0.0.1:40000`: what the server should see as the peer.
  [[nodiscard]] std::string LocalAddress() const;
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  TestSocket();
  UniqueFd fd_;
  bool is_connected_ = false;
};

/// A TLS client whose wire bytes go through the test's hands.
class TestTlsClient {
 public:
  using SendBytes = std::function<bool(std::string_view)>;

  /// `alpn` are the protocols to offer, in order; none sends no extension.
  /// `send` replaces sending by the socket, for example in single bytes.
  TestTlsClient(TestSocket* socket, const std::vector<std::string>& alpn, SendBytes send = {});

  bool Handshake();
  bool Send(std::string_view bytes);
  std::string ReceiveToEnd();
  [[nodiscard]] std::string Alpn() const;
  /// The bytes of the ClientHello; instead of Handshake.
  std::string ClientHello();

 private:
  bool Flush();
  bool Fill();

  TestSocket* const socket_;
  SendBytes send_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
};

struct HttpReply {
  int status = 0;  // 0: no complete reply
  std::string header;
  std::string body;
};

/// Splits one reply that ends with the stream or by its Content-Length.
HttpReply ParseReply(std::string_view text);
/// Reads exactly one reply with a Content-Length from a connection that stays open.
HttpReply ReceiveReply(TestSocket& socket);

/// A temporary folder with `cert.pem` and `key.pem` for 127.0.0.1 and localhost.
class TestCertificate {
 public:
  TestCertificate();
  ~TestCertificate();
  TestCertificate(const TestCertificate&) = delete;
  TestCertificate& operator=(const TestCertificate&) = delete;

  [[nodiscard]] std::string certificate_file() const { return folder_ + "/cert.pem"; }
  [[nodiscard]] std::string key_file() const { return folder_ + "/key.pem"; }
  [[nodiscard]] std::string certificate_pem() const;
  /// The folder, for files a test adds.
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

}  // namespace sluice::front::net::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

// One accepted connection of a test server: bytes in and out, plain or TLS.
// Blocking; ends when the other side goes or Shutdown is called.

#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace sluice::dispatch {

class Connection {
 public:
  /// Takes the descriptor. `tls` is null for a plain connection.
  Connection(int fd, SSL_CTX* tls);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// The TLS handshake, if any.
  bool Open();
  /// Appends what arrives; false at the end.
  bool Read(std::string* bytes);
  bool Write(std::string_view bytes);

  /// Waits without reading. True: the time is over. False: the client is gone
  /// or Shutdown was called.
  bool Linger(Duration duration);

  /// From any thread: makes every call fail, now and later.
  void Shutdown();

 private:
  int fd_;
  std::unique_ptr<SSL, decltype(&SSL_free)> tls_;
};

}  // namespace sluice::dispatch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// A fresh self-signed certificate for 127.0.0.1 and localhost, for test servers.

#include <openssl/ssl.h>

#include <memory>
#include <string>

namespace sluice::dispatch {

struct TlsIdentity {
  std::shared_ptr<SSL_CTX> context;  // shared with the connections that use it
  std::string certificate;           // PEM
};

/// Ends the process when the library cannot make one.
[[nodiscard]] TlsIdentity MakeTlsIdentity();

}  // namespace sluice::dispatch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The server's certificate chain and private key, as PEM text: both protocol
// servers show the same one.

#include <string>

#include "base/status.h"

namespace sluice::front::net {

struct TlsMaterial {
  std::string certificate_chain_pem;
  std::string private_key_pem;

  /// Errors: INVALID_ARGUMENT naming the file that cannot be read or does not
  /// hold what it should.
  static StatusOr<TlsMaterial> Load(const std::string& certificate_file,
                                    const std::string& key_file);
};

}  // namespace sluice::front::net

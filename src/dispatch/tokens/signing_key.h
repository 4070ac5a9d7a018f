// SPDX-License-Identifier: Apache-2.0
#pragma once

// An RSA key that signs tokens (RS256, RFC 7518), by OpenSSL.
//
// Threading: immutable. Failure: INTERNAL with OpenSSL's reason.

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time.h"

struct evp_pkey_st;

namespace sluice::dispatch {

/// Without padding (RFC 4648, section 5).
[[nodiscard]] std::string Base64Url(std::string_view bytes);

/// The public half, as a JWK has it.
struct PublicKey {
  std::string id;  // thumbprint (RFC 7638)
  std::string modulus;
  std::string exponent;  // both base64url
};

class SigningKey {
 public:
  static StatusOr<SigningKey> Generate(Time created);
  /// `pem`: PKCS #8. Errors: DATA_LOSS for what is no RSA key.
  static StatusOr<SigningKey> FromPem(std::string_view pem, Time created);
  [[nodiscard]] StatusOr<std::string> ToPem() const;

  [[nodiscard]] const PublicKey& public_key() const { return public_key_; }
  [[nodiscard]] Time created() const { return created_; }

  /// The signature of `text`, base64url.
  [[nodiscard]] StatusOr<std::string> Sign(std::string_view text) const;

 private:
  SigningKey(std::shared_ptr<evp_pkey_st> key, PublicKey public_key, Time created);
  static StatusOr<SigningKey> Make(std::shared_ptr<evp_pkey_st> key, Time created);

  std::shared_ptr<evp_pkey_st> key_;
  PublicKey public_key_;
  Time created_;
};

}  // namespace sluice::dispatch

// SPDX-License-Identifier: Apache-2.0
#include "dispatch/tokens/signing_key.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>

#include <array>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"

namespace sluice::dispatch {
namespace {

constexpr unsigned kKeyBits = 2048;

std::string Reason() {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  ERR_clear_error();
  return text.data();
}

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
};
struct FreeBigNumber {
  void operator()(BIGNUM* number) const { BN_free(number); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

std::shared_ptr<EVP_PKEY> Own(EVP_PKEY* key) { return {key, EVP_PKEY_free}; }

/// A number of the key, base64url; empty when the key has none of that name.
std::string NumberOf(EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &number) != 1) return {};
  const std::unique_ptr<BIGNUM, FreeBigNumber> owned(number);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(BN_num_bytes(number)));
  BN_bn2bin(number, bytes.data());
  return Base64Url(std::string(bytes.begin(), bytes.end()));
}

std::string Thumbprint(const PublicKey& key) {
  const std::string json =
      fmt::format(R"({{"e":"{}","kty":"RSA","n":"{}"}})", key.exponent, key.modulus);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  std::size_t size = 0;
  EVP_Q_digest(nullptr, "SHA256", nullptr, json.data(), json.size(), digest.data(), &size);
  return Base64Url(std::string(digest.begin(), digest.end()));
}

}  // namespace

std::string Base64Url(std::string_view bytes) {
  return absl::WebSafeBase64Escape(absl::string_view(bytes.data(), bytes.size()));
}

SigningKey::SigningKey(std::shared_ptr<evp_pkey_st> key, PublicKey public_key, Time created)
    : key_(std::move(key)), public_key_(std::move(public_key)), created_(created) {}

StatusOr<SigningKey> SigningKey::Make(std::shared_ptr<evp_pkey_st> key, Time created) {
  PublicKey public_key;
  public_key.modulus = NumberOf(key.get(), OSSL_PKEY_PARAM_RSA_N);
  public_key.exponent = NumberOf(key.get(), OSSL_PKEY_PARAM_RSA_E);
  if (public_key.modulus.empty() || public_key.exponent.empty()) {
    return DataLoss("the signing key is no RSA key");
  }
  public_key.id = Thumbprint(public_key);
  return SigningKey(std::move(key), std::move(public_key), created);
}

StatusOr<SigningKey> SigningKey::Generate(Time created) {
  std::shared_ptr<EVP_PKEY> key = Own(EVP_RSA_gen(kKeyBits));
  if (key == nullptr) return Internal("cannot make a signing key: {}", Reason());
  return Make(std::move(key), created);
}

StatusOr<SigningKey> SigningKey::FromPem(std::string_view pem, Time created) {
  const std::unique_ptr<BIO, FreeBio> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  // An empty password, so that OpenSSL asks nobody at the terminal for one.
  char no_password[] = "";
  std::shared_ptr<EVP_PKEY> key =
      Own(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, no_password));
  if (key == nullptr) return DataLoss("the signing key cannot be read: {}", Reason());
  return Make(std::move(key), created);
}

StatusOr<std::string> SigningKey::ToPem() const {
  const std::unique_ptr<BIO, FreeBio> bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
      1) {
    return Internal("cannot write a signing key: {}", Reason());
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

StatusOr<std::string> SigningKey::Sign(std::string_view text) const {
  const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::string signature(static_cast<std::size_t>(EVP_PKEY_get_size(key_.get())), '\0');
  std::size_t size = signature.size();
  const bool is_signed =
      EVP_DigestSignInit_ex(context.get(), nullptr, "SHA256", nullptr, nullptr, key_.get(),
                            nullptr) == 1 &&
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes, text.size()) == 1;
  if (!is_signed) return Internal("cannot sign a token: {}", Reason());
  signature.resize(size);
  return Base64Url(signature);
}

}  // namespace sluice::dispatch

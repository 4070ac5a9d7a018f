// SPDX-License-Identifier: Apache-2.0
#include "dispatch/testing/tls_identity.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/status.h"

namespace sluice::dispatch {
namespace {

constexpr long kLifeSeconds = 24 * 3600;

void AddExtension(X509* certificate, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
  SLUICE_CHECK(extension != nullptr, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

}  // namespace

TlsIdentity MakeTlsIdentity() {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  SLUICE_CHECK(key != nullptr, "cannot make a key");
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kLifeSeconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kLifeSeconds);
  X509_set_pubkey(certificate.get(), key.get());
  constexpr std::string_view kName = "sluice test target";
  std::string name(kName);
  void* const bytes = name.data();
  X509_NAME* const subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, static_cast<unsigned char*>(bytes),
                             static_cast<int>(name.size()), -1, 0);
  X509_set_issuer_name(certificate.get(), subject);
  AddExtension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(certificate.get(), NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
  SLUICE_CHECK(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0, "cannot sign");

  TlsIdentity identity;
  identity.context = std::shared_ptr<SSL_CTX>(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  SLUICE_CHECK(identity.context != nullptr, "cannot make a TLS context");
  SLUICE_CHECK(SSL_CTX_use_certificate(identity.context.get(), certificate.get()) == 1,
               "cannot use the certificate");
  SLUICE_CHECK(SSL_CTX_use_PrivateKey(identity.context.get(), key.get()) == 1,
               "cannot use the key");

  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(memory.get(), certificate.get());
  char* text = nullptr;
  const long bytes_written = BIO_ctrl(memory.get(), BIO_CTRL_INFO, 0, &text);
  identity.certificate.assign(text, static_cast<std::size_t>(bytes_written));
  return identity;
}

}  // namespace sluice::dispatch

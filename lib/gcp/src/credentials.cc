// SPDX-License-Identifier: Apache-2.0
#include "sluice/gcp/credentials.h"

#include <grpcpp/security/credentials.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "env/posix/file_system.h"

namespace sluice::gcp {
namespace {

using Result = StatusOr<std::shared_ptr<grpc::ChannelCredentials>>;
constexpr std::size_t kFileBytesMax = 1 << 20;

/// Nothing for whatever reason: the caller's message is a fixed one.
std::optional<std::string> ContentOf(const std::string& path) {
  env::PosixFileSystem files;
  StatusOr<std::string> content = env::ReadFile(files, path, kFileBytesMax);
  if (!content.ok() || content->empty()) return std::nullopt;
  return *std::move(content);
}

bool HasText(const nlohmann::json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() &&
         !found->get_ref<const std::string&>().empty();
}

bool IsPrivateKey(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(memory.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  return key != nullptr;
}

// Looked at before gRPC does: gRPC logs what it cannot parse, and makes
// credentials of a key it cannot read, which would fail at the first call.
bool IsServiceAccountKey(const std::string& content) {
  const nlohmann::json key = nlohmann::json::parse(content, nullptr, false);
  if (!key.is_object() || !HasText(key, "type") || key["type"] != "service_account") return false;
  return HasText(key, "client_email") && HasText(key, "private_key") &&
         HasText(key, "private_key_id") && HasText(key, "client_id") &&
         IsPrivateKey(key["private_key"].get<std::string>());
}

Result FromKeyFile(const std::string& path) {
  const std::optional<std::string> content = ContentOf(path);
  if (!content || !IsServiceAccountKey(*content)) return InvalidArgument("{}", kKeyFileMessage);
  const auto caller =
      grpc::ServiceAccountJWTAccessCredentials(*content, grpc::kMaxAuthTokenLifetimeSecs);
  if (caller == nullptr) return InvalidArgument("{}", kKeyFileMessage);
  return grpc::CompositeChannelCredentials(grpc::SslCredentials({}), caller);
}

Result Tls(const std::string& root_file) {
  grpc::SslCredentialsOptions options;
  if (!root_file.empty()) {
    std::optional<std::string> roots = ContentOf(root_file);
    if (!roots) return NotFound("the file of trusted certificates {} cannot be read", root_file);
    options.pem_root_certs = *std::move(roots);
  }
  return grpc::SslCredentials(options);
}

}  // namespace

Result MakeChannelCredentials(const Credentials& credentials) {
  switch (credentials.kind) {
    case Credentials::Kind::kPlaintext:
      return grpc::InsecureChannelCredentials();
    case Credentials::Kind::kTls:
      return Tls(credentials.tls_root_file);
    case Credentials::Kind::kServiceAccountKey:
      return FromKeyFile(credentials.key_file);
    case Credentials::Kind::kMetadataServer:
      return grpc::CompositeChannelCredentials(grpc::SslCredentials({}),
                                               grpc::GoogleComputeEngineCredentials());
    case Credentials::Kind::kApplicationDefault: {
      auto found = grpc::GoogleDefaultCredentials();
      if (found == nullptr) {
        return FailedPrecondition(
            "no application default credentials: set GOOGLE_APPLICATION_CREDENTIALS, log in with "
            "gcloud, or name a key file");
      }
      return found;
    }
  }
  return Internal("unknown kind of credentials {}", static_cast<int>(credentials.kind));
}

}  // namespace sluice::gcp

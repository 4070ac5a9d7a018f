// SPDX-License-Identifier: Apache-2.0
#pragma once

// Who we are to a service. gRPC's library brings the whole of it: the search for
// application default credentials (the variable GOOGLE_APPLICATION_CREDENTIALS,
// gcloud's file, the metadata server), tokens of the metadata server and their
// renewal, and self-signed JWTs of a service account's key. Ours is only to say
// which, and to keep a key's path and content out of every message.
// (docs/adr/0010-credentials-are-those-of-grpc.md)
//
// Threading: any thread; the result may be shared by channels.
// Failure: a key file that cannot be used has one fixed message, whatever the cause.

#include <memory>
#include <string>

#include "base/status.h"

namespace grpc {
class ChannelCredentials;
}  // namespace grpc

namespace sluice::gcp {

/// How a channel is protected and who calls.
struct Credentials {
  enum class Kind : unsigned char {
    kPlaintext,           // no TLS, no identity
    kTls,                 // TLS, no identity: a Sluice behind a certificate
    kApplicationDefault,  // TLS to Google; searched as gcloud and the client libraries do
    kServiceAccountKey,   // TLS; signs with the key in `key_file`
    kMetadataServer,      // TLS; tokens of the machine's own service account
  };
  Kind kind = Kind::kPlaintext;
  std::string key_file;       // kServiceAccountKey
  std::string tls_root_file;  // kTls: PEM certificates to trust; empty means the system's
};

/// What every failure to use a key file says.
inline constexpr const char* kKeyFileMessage =
    "the service account key file could not be loaded; it must be a readable JSON key of a service "
    "account";

/// Reads a key file once; a changed file is seen by the next start.
/// Errors: INVALID_ARGUMENT with kKeyFileMessage; FAILED_PRECONDITION when
/// application default credentials are not to be found; NOT_FOUND for a root file.
StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(
    const Credentials& credentials);

}  // namespace sluice::gcp

// SPDX-License-Identifier: Apache-2.0
#include "front/net/tls.h"

#include <fstream>
#include <sstream>
#include <string_view>

namespace sluice::front::net {
namespace {

StatusOr<std::string> ReadPem(const std::string& path, std::string_view what,
                              std::string_view marker) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return InvalidArgument("TLS {} file {} cannot be read", what, path);
  if (text.str().find(marker) == std::string::npos) {
    return InvalidArgument("TLS {} file {} holds no PEM block of that kind", what, path);
  }
  return text.str();
}

}  // namespace

StatusOr<TlsMaterial> TlsMaterial::Load(const std::string& certificate_file,
                                        const std::string& key_file) {
  TlsMaterial material;
  SLUICE_ASSIGN_OR_RETURN(material.certificate_chain_pem,
                          ReadPem(certificate_file, "certificate", "-----BEGIN CERTIFICATE-----"));
  SLUICE_ASSIGN_OR_RETURN(material.private_key_pem, ReadPem(key_file, "key", "PRIVATE KEY-----"));
  return material;
}

}  // namespace sluice::front::net

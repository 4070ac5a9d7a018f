// SPDX-License-Identifier: Apache-2.0
#include "sluice/gcp/credentials.h"

#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace sluice::gcp {
namespace {

class KeyFileTest : public testing::Test {
 protected:
  StatusOr<std::shared_ptr<grpc::ChannelCredentials>> Load(const std::string& content) {
    const std::string path = testing::TempDir() + "/secret-place.json";
    std::ofstream(path) << content;
    auto result = MakeChannelCredentials(
        {.kind = Credentials::Kind::kServiceAccountKey, .key_file = path, .tls_root_file = ""});
    std::filesystem::remove(path);
    return result;
  }

  static nlohmann::json Key(const std::string& private_key) {
    return {{"type", "service_account"},
            {"client_email", "a@p.iam.gserviceaccount.com"},
            {"client_id", "1"},
            {"private_key_id", "k"},
            {"private_key", private_key}};
  }
};

std::string FreshPrivateKey() {
  EVP_PKEY* key = EVP_RSA_gen(2048);
  BIO* memory = BIO_new(BIO_s_mem());
  PEM_write_bio_PKCS8PrivateKey(memory, key, nullptr, nullptr, 0, nullptr, nullptr);
  char* data = nullptr;
  const auto size = static_cast<std::size_t>(BIO_get_mem_data(memory, &data));
  std::string pem(data, size);
  BIO_free(memory);
  EVP_PKEY_free(key);
  return pem;
}

TEST_F(KeyFileTest, AServiceAccountKeyIsTaken) {
  const auto credentials = Load(Key(FreshPrivateKey()).dump());
  ASSERT_TRUE(credentials.ok()) << credentials.status();
  EXPECT_NE(*credentials, nullptr);
}

TEST_F(KeyFileTest, EveryFailureSaysTheSameAndNothingOfTheFile) {
  nlohmann::json user = Key(FreshPrivateKey());
  user["type"] = "authorized_user";
  nlohmann::json no_email = Key(FreshPrivateKey());
  no_email.erase("client_email");
  for (const std::string& content :
       {std::string("not json"), std::string("[]"), std::string(""), user.dump(), no_email.dump(),
        Key("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n").dump()}) {
    const auto credentials = Load(content);
    ASSERT_FALSE(credentials.ok()) << content;
    EXPECT_EQ(Message(credentials.status()), kKeyFileMessage);
  }
  const auto missing = MakeChannelCredentials({.kind = Credentials::Kind::kServiceAccountKey,
                                               .key_file = "/nonexistent/key.json",
                                               .tls_root_file = ""});
  EXPECT_EQ(Message(missing.status()), kKeyFileMessage);
}

TEST(Credentials, AMissingRootFileIsNamed) {
  const auto credentials = MakeChannelCredentials(
      {.kind = Credentials::Kind::kTls, .key_file = "", .tls_root_file = "/nonexistent/roots.pem"});
  EXPECT_TRUE(absl::IsNotFound(credentials.status()));
  EXPECT_NE(Message(credentials.status()).find("/nonexistent/roots.pem"), std::string_view::npos);
}

}  // namespace
}  // namespace sluice::gcp

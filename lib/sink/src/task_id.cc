// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/task_id.h"

#include <openssl/evp.h>

#include <array>

#include "base/status.h"

namespace sluice::sink {

struct TaskIdHasher::Context {
  EVP_MD* algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  EVP_MD_CTX* digest = EVP_MD_CTX_new();
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() {
    EVP_MD_CTX_free(digest);
    EVP_MD_free(algorithm);
  }
};

TaskIdHasher::TaskIdHasher() : context_(std::make_unique<Context>()) {
  SLUICE_CHECK(context_->algorithm != nullptr && context_->digest != nullptr,
               "OpenSSL offers no SHA-256");
}

TaskIdHasher::~TaskIdHasher() = default;

std::string TaskIdHasher::IdOf(std::string_view key) {
  std::string id;
  AppendId(key, id);
  return id;
}

void TaskIdHasher::AppendId(std::string_view key, std::string& out) {
  std::array<unsigned char, 32> bytes{};
  unsigned int size = 0;
  const bool done = EVP_DigestInit_ex2(context_->digest, context_->algorithm, nullptr) == 1 &&
                    EVP_DigestUpdate(context_->digest, key.data(), key.size()) == 1 &&
                    EVP_DigestFinal_ex(context_->digest, bytes.data(), &size) == 1;
  SLUICE_CHECK(done && size == bytes.size(), "SHA-256 failed");
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const unsigned char byte : bytes) {
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  }
}

}  // namespace sluice::sink

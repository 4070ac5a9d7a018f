// SPDX-License-Identifier: Apache-2.0
#include "dispatch/tokens/key_ring.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

namespace sluice::dispatch {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kFileBytesMax = 1u << 20;
constexpr int kVersion = 1;

Status Damaged(const std::string& path, std::string_view why) {
  return DataLoss(
      "signing keys {}: {}; remove the file to make new keys, which no token of the "
      "old ones survives",
      path, why);
}

}  // namespace

StatusOr<std::unique_ptr<KeyRing>> KeyRing::Open(Options options) {
  std::unique_ptr<KeyRing> ring(new KeyRing(std::move(options)));
  if (ring->options_.files != nullptr) SLUICE_RETURN_IF_ERROR(ring->Load());
  return ring;
}

Status KeyRing::Load() {
  const StatusOr<std::string> text = ReadFile(*options_.files, options_.path, kFileBytesMax);
  if (absl::IsNotFound(text.status())) return {};
  SLUICE_RETURN_IF_ERROR(text.status());
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("keys") || !json["keys"].is_array()) {
    return Damaged(options_.path, "not the JSON of signing keys");
  }
  const auto version = json.find("version");
  if (version == json.end() || *version != kVersion) {
    return Damaged(options_.path, "of a version this build does not know");
  }
  for (const Json& entry : json["keys"]) {
    const auto created = entry.find("created");
    const auto pem = entry.find("private_key");
    if (created == entry.end() || !created->is_number_integer() || pem == entry.end() ||
        !pem->is_string()) {
      return Damaged(options_.path, "an entry has no key or no time");
    }
    StatusOr<SigningKey> key =
        SigningKey::FromPem(pem->get_ref<const std::string&>(), absl::FromUnixSeconds(*created));
    if (!key.ok()) return Damaged(options_.path, Message(key.status()));
    keys_.push_back(*std::move(key));
  }
  std::sort(keys_.begin(), keys_.end(),
            [](const SigningKey& a, const SigningKey& b) { return a.created() > b.created(); });
  return {};
}

StatusOr<std::string> KeyRing::Encode(const std::vector<SigningKey>& keys) const {
  Json json = {{"version", kVersion}, {"keys", Json::array()}};
  for (const SigningKey& key : keys) {
    SLUICE_ASSIGN_OR_RETURN(std::string pem, key.ToPem());
    json["keys"].push_back(
        {{"created", absl::ToUnixSeconds(key.created())}, {"private_key", std::move(pem)}});
  }
  return json.dump(1) + "\n";
}

Status KeyRing::Renew(Time now) {
  const Time renewed_before = now - options_.life_time + kPublishAhead;
  const bool needs_key = keys_.empty() || keys_.front().created() <= renewed_before;
  if (!needs_key) return {};
  std::vector<SigningKey> keys;
  SLUICE_ASSIGN_OR_RETURN(SigningKey fresh, SigningKey::Generate(FloorToSeconds(now)));
  keys.push_back(std::move(fresh));
  for (const SigningKey& key : keys_) {
    if (key.created() + options_.life_time + kKeptAfter > now) keys.push_back(key);
  }
  if (options_.files != nullptr) {
    SLUICE_ASSIGN_OR_RETURN(const std::string text, Encode(keys));
    // The file system makes files that only their owner reads.
    SLUICE_RETURN_IF_ERROR(WriteFileAtomically(*options_.files, options_.path, text));
  }
  keys_ = std::move(keys);
  return {};
}

StatusOr<SigningKey> KeyRing::KeyAt(Time now) {
  const std::lock_guard lock(mutex_);
  SLUICE_RETURN_IF_ERROR(Renew(now));
  const auto seen = std::find_if(keys_.begin(), keys_.end(), [now](const SigningKey& key) {
    return key.created() + kPublishAhead <= now;
  });
  // None was published long enough: the oldest was published longest.
  return seen != keys_.end() ? *seen : keys_.back();
}

StatusOr<std::vector<PublicKey>> KeyRing::Published(Time now) {
  const std::lock_guard lock(mutex_);
  SLUICE_RETURN_IF_ERROR(Renew(now));
  std::vector<PublicKey> published;
  for (const SigningKey& key : keys_) {
    const bool is_past = key.created() + options_.life_time + kKeptAfter <= now;
    if (!is_past || published.empty()) published.push_back(key.public_key());
  }
  return published;
}

}  // namespace sluice::dispatch

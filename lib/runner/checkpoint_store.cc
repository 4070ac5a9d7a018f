// SPDX-License-Identifier: Apache-2.0
#include "runner/checkpoint_store.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/codec.h"

namespace sluice::runner {
namespace {

constexpr std::string_view kMagic = "SLUICECP";
constexpr std::uint32_t kVersion = 1;
constexpr std::string_view kPrefix = "checkpoint-";
constexpr std::size_t kIdDigits = 20;
constexpr std::size_t kKept = 2;
constexpr std::size_t kChecksumBytes = 8;
constexpr std::uint64_t kFileBytesMax = std::uint64_t{4} << 30;

std::string FileName(std::uint64_t id) { return fmt::format("{}{:020}", kPrefix, id); }

}  // namespace

std::string EncodeCheckpoint(const Checkpoint& checkpoint) {
  std::string out;
  ByteWriter writer(&out);
  writer.Raw(kMagic);
  writer.U32(kVersion);
  writer.U64(checkpoint.id);
  writer.Bytes(checkpoint.job);
  writer.U32(checkpoint.source.source);
  writer.U64(checkpoint.source.offset);
  writer.U64(checkpoint.source.line);
  writer.Bytes(checkpoint.state);
  writer.U64(XXH3_64bits(out.data(), out.size()));
  return out;
}

StatusOr<Checkpoint> DecodeCheckpoint(std::string_view bytes) {
  ByteReader reader(bytes);
  if (reader.Raw(kMagic.size()) != kMagic) return DataLoss("it is not a checkpoint");
  const std::uint32_t version = reader.U32();
  if (reader.ok() && version > kVersion) {
    return Unimplemented("its format is version {}, and this program knows versions up to {}",
                         version, kVersion);
  }
  if (!reader.ok() || version == 0 || reader.rest().size() < kChecksumBytes) {
    return DataLoss("it is cut short");
  }
  const std::size_t end = bytes.size() - kChecksumBytes;
  ByteReader checksum(bytes.substr(end));
  if (checksum.U64() != XXH3_64bits(bytes.data(), end)) return DataLoss("its checksum is wrong");
  ByteReader fields(
      bytes.substr(kMagic.size() + sizeof(kVersion), end - kMagic.size() - sizeof(kVersion)));
  Checkpoint checkpoint;
  checkpoint.id = fields.U64();
  checkpoint.job = std::string(fields.Bytes());
  checkpoint.source.source = fields.U32();
  checkpoint.source.offset = fields.U64();
  checkpoint.source.line = fields.U64();
  checkpoint.state = std::string(fields.Bytes());
  if (!fields.done()) return DataLoss("its fields do not fill it");
  return checkpoint;
}

StatusOr<CheckpointStore> CheckpointStore::Open(env::FileSystem& files, std::string dir) {
  SLUICE_RETURN_IF_ERROR(files.CreateDirectory(dir));
  auto lock = files.Lock(env::JoinPath(dir, "LOCK"));
  if (absl::IsFailedPrecondition(lock.status())) {
    return FailedPrecondition("the checkpoint directory {} is in use by another run", dir);
  }
  SLUICE_RETURN_IF_ERROR(lock.status());
  SLUICE_RETURN_IF_ERROR(files.SyncDirectory(env::ParentPath(dir)));
  return CheckpointStore(files, std::move(dir), *std::move(lock));
}

StatusOr<std::vector<std::string>> CheckpointStore::Names() const {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string> all, files_->List(dir_));
  std::vector<std::string> names;
  for (const std::string& name : all) {
    // Others are left alone: what a crash left half written, or a stranger's.
    if (name.starts_with(kPrefix) && name.size() == kPrefix.size() + kIdDigits)
      names.push_back(name);
  }
  return names;
}

StatusOr<std::optional<Checkpoint>> CheckpointStore::Latest() {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names());
  if (names.empty()) return std::optional<Checkpoint>();
  const std::string path = env::JoinPath(dir_, names.back());
  SLUICE_ASSIGN_OR_RETURN(const std::string bytes, env::ReadFile(*files_, path, kFileBytesMax));
  StatusOr<Checkpoint> checkpoint = DecodeCheckpoint(bytes);
  if (!checkpoint.ok()) {
    return Status(checkpoint.status().code(), fmt::format("the checkpoint {} cannot be used: {}",
                                                          path, Message(checkpoint.status())));
  }
  if (FileName(checkpoint->id) != names.back()) {
    return DataLoss("the checkpoint {} cannot be used: it is number {} by its content", path,
                    checkpoint->id);
  }
  return std::optional<Checkpoint>(*std::move(checkpoint));
}

Status CheckpointStore::Save(const Checkpoint& checkpoint) {
  SLUICE_RETURN_IF_ERROR(env::WriteFileAtomically(
      *files_, env::JoinPath(dir_, FileName(checkpoint.id)), EncodeCheckpoint(checkpoint)));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names());
  for (std::size_t i = 0; i + kKept < names.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(files_->Remove(env::JoinPath(dir_, names[i])));
  }
  return {};
}

}  // namespace sluice::runner

// SPDX-License-Identifier: Apache-2.0
#include "env/file_system.h"

namespace sluice::env {

std::string JoinPath(std::string_view dir, std::string_view name) {
  std::string out(dir);
  if (!out.empty() && out.back() != '/') out.push_back('/');
  out.append(name);
  return out;
}

std::string ParentPath(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  if (slash == 0) return "/";
  return std::string(path.substr(0, slash));
}

StatusOr<std::string> ReadFile(FileSystem& fs, const std::string& path, std::uint64_t bytes_max) {
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, fs.Open(path, OpenMode::kRead));
  SLUICE_ASSIGN_OR_RETURN(const std::uint64_t bytes, file->Size());
  if (bytes > bytes_max) {
    return ResourceExhausted("file {} has {} bytes, at most {} are read", path, bytes, bytes_max);
  }
  std::string content(bytes, '\0');
  SLUICE_ASSIGN_OR_RETURN(const std::uint64_t got, file->ReadAt(0, bytes, content.data()));
  content.resize(got);
  return content;
}

Status WriteFileAtomically(FileSystem& fs, const std::string& path, std::string_view content) {
  const std::string draft = path + ".new";
  {
    SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, fs.Open(draft, OpenMode::kCreate));
    SLUICE_RETURN_IF_ERROR(file->Truncate(0));
    SLUICE_RETURN_IF_ERROR(file->WriteAt(0, content));
    SLUICE_RETURN_IF_ERROR(file->SyncData());
  }
  SLUICE_RETURN_IF_ERROR(fs.Rename(draft, path));
  return fs.SyncDirectory(ParentPath(path));
}

}  // namespace sluice::env

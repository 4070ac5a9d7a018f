// SPDX-License-Identifier: Apache-2.0
#include "env/posix/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace sluice::env {
namespace {

// Linux takes page cache for a large write in large pieces. At times those are cold, and
// a write of 512 KiB or more then costs up to seven times the CPU (docs/adr/0003).
constexpr std::uint64_t kZeroChunkBytes = 128u << 10;
constexpr mode_t kFileMode = 0600;  // task bodies may hold secrets
constexpr mode_t kDirectoryMode = 0700;

Status FromErrno(std::string_view what, const std::string& path, int error) {
  const std::string text = std::system_category().message(error);
  switch (error) {
    case ENOENT:
      return NotFound("{} {}: {}", what, path, text);
    case EEXIST:
      return AlreadyExists("{} {}: {}", what, path, text);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ResourceExhausted("{} {}: {}", what, path, text);
    case ENOTEMPTY:
    case EISDIR:
    case ENOTDIR:
    case EACCES:
    case EPERM:
    case EROFS:
      return FailedPrecondition("{} {}: {}", what, path, text);
    case EXDEV:
    case EMLINK:
    case ENOTSUP:
      return Unimplemented("{} {}: {}", what, path, text);
    default:
      return Internal("{} {}: {} (errno {})", what, path, text, error);
  }
}

/// Closes on destruction; a close that fails has nothing left to lose, since
/// whoever cares for the bytes has synced before.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&&) = delete;

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

Descriptor OpenRetrying(const std::string& path, int flags) {
  for (;;) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, kFileMode);
    if (fd >= 0 || errno != EINTR) return Descriptor(fd);
  }
}

class PosixFile : public File {
 public:
  PosixFile(std::string path, Descriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  Status WriteAt(std::uint64_t offset, std::string_view data) override {
    while (!data.empty()) {
      const ssize_t n = ::pwrite(fd_.get(), data.data(), data.size(), static_cast<off_t>(offset));
      if (n < 0) {
        if (errno == EINTR) continue;
        return FromErrno("write to", path_, errno);
      }
      data.remove_prefix(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
    return absl::OkStatus();
  }

  Status ZeroAt(std::uint64_t offset, std::uint64_t bytes) override {
    static const std::string kZeros(kZeroChunkBytes, '\0');
    while (bytes > 0) {
      const std::uint64_t n = std::min(bytes, kZeroChunkBytes);
      SLUICE_RETURN_IF_ERROR(WriteAt(offset, std::string_view(kZeros).substr(0, n)));
      offset += n;
      bytes -= n;
    }
    return absl::OkStatus();
  }

  StatusOr<std::uint64_t> ReadAt(std::uint64_t offset, std::uint64_t bytes,
                                 char* out) const override {
    std::uint64_t done = 0;
    while (done < bytes) {
      const ssize_t n =
          ::pread(fd_.get(), out + done, bytes - done, static_cast<off_t>(offset + done));
      if (n < 0) {
        if (errno == EINTR) continue;
        return FromErrno("read from", path_, errno);
      }
      if (n == 0) break;
      done += static_cast<std::uint64_t>(n);
    }
    return done;
  }

  Status SyncData() override {
    // Not retried on EINTR or anything else: after a failure the pages may
    // already be marked clean, and a second call would then lie.
    if (::fdatasync(fd_.get()) != 0) return FromErrno("sync", path_, errno);
    return absl::OkStatus();
  }

  Status Truncate(std::uint64_t bytes) override {
    if (::ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0) {
      return FromErrno("truncate", path_, errno);
    }
    return absl::OkStatus();
  }

  StatusOr<std::uint64_t> Size() const override {
    struct stat st {};
    if (::fstat(fd_.get(), &st) != 0) return FromErrno("stat", path_, errno);
    return static_cast<std::uint64_t>(st.st_size);
  }

 private:
  const std::string path_;
  const Descriptor fd_;
};

class PosixFileLock : public FileLock {
 public:
  explicit PosixFileLock(Descriptor fd) : fd_(std::move(fd)) {}

 private:
  const Descriptor fd_;  // closing releases the lock
};

}  // namespace

StatusOr<std::unique_ptr<File>> PosixFileSystem::Open(const std::string& path, OpenMode mode) {
  int flags = O_RDWR;
  switch (mode) {
    case OpenMode::kRead:
      flags = O_RDONLY;
      break;
    case OpenMode::kReadWrite:
      break;
    case OpenMode::kCreateNew:
      flags |= O_CREAT | O_EXCL;
      break;
    case OpenMode::kCreate:
      flags |= O_CREAT;
      break;
  }
  Descriptor fd = OpenRetrying(path, flags);
  if (!fd.is_open()) return FromErrno("open", path, errno);
  return std::make_unique<PosixFile>(path, std::move(fd));
}

StatusOr<FileStat> PosixFileSystem::Stat(const std::string& path) const {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return FromErrno("stat", path, errno);
  return FileStat{.bytes = static_cast<std::uint64_t>(st.st_size),
                  .is_directory = S_ISDIR(st.st_mode)};
}

StatusOr<std::vector<std::string>> PosixFileSystem::List(const std::string& dir) const {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(dir.c_str()), &::closedir);
  if (stream == nullptr) return FromErrno("list", dir, errno);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    // Of one stream by one thread: safe on every system this builds on.
    const dirent* entry = ::readdir(stream.get());  // NOLINT(concurrency-mt-unsafe)
    if (entry == nullptr) {
      if (errno != 0) return FromErrno("list", dir, errno);
      break;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status PosixFileSystem::CreateDirectory(const std::string& dir) {
  if (::mkdir(dir.c_str(), kDirectoryMode) == 0) return absl::OkStatus();
  const int error = errno;
  if (error == EEXIST) {
    SLUICE_ASSIGN_OR_RETURN(const FileStat stat, Stat(dir));
    if (stat.is_directory) return absl::OkStatus();
  }
  return FromErrno("create folder", dir, error);
}

Status PosixFileSystem::Remove(const std::string& path) {
  if (std::remove(path.c_str()) != 0) return FromErrno("remove", path, errno);
  return absl::OkStatus();
}

Status PosixFileSystem::Rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) return FromErrno("rename", from, errno);
  return absl::OkStatus();
}

Status PosixFileSystem::Link(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) != 0) return FromErrno("link", from, errno);
  return absl::OkStatus();
}

Status PosixFileSystem::SyncDirectory(const std::string& dir) {
  const Descriptor fd = OpenRetrying(dir, O_RDONLY | O_DIRECTORY);
  if (!fd.is_open()) return FromErrno("open folder", dir, errno);
  if (::fsync(fd.get()) != 0) return FromErrno("sync folder", dir, errno);
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<FileLock>> PosixFileSystem::Lock(const std::string& path) {
  Descriptor fd = OpenRetrying(path, O_RDWR | O_CREAT);
  if (!fd.is_open()) return FromErrno("open", path, errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return FailedPrecondition("{} is locked: another process, or this one, uses the folder",
                                path);
    }
    return FromErrno("lock", path, errno);
  }
  return std::make_unique<PosixFileLock>(std::move(fd));
}

StatusOr<std::uint64_t> PosixFileSystem::FreeBytes(const std::string& dir) const {
  struct statvfs st {};
  if (::statvfs(dir.c_str(), &st) != 0) return FromErrno("free space of", dir, errno);
  return static_cast<std::uint64_t>(st.f_bavail) * st.f_frsize;
}

}  // namespace sluice::env

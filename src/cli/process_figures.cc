// SPDX-License-Identifier: Apache-2.0
#include "cli/process_figures.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

namespace sluice::cli {
namespace {

std::uint64_t ResidentBytes() {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/self/statm", "re"), &fclose);
  unsigned long total_pages = 0;
  unsigned long resident_pages = 0;
  if (file == nullptr || std::fscanf(file.get(), "%lu %lu", &total_pages, &resident_pages) != 2) {
    return 0;
  }
  return std::uint64_t{resident_pages} * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

std::uint64_t OpenDescriptors() {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir("/proc/self/fd"), &closedir);
  if (dir == nullptr) return 0;
  std::uint64_t count = 0;
  while (const dirent* entry = ::readdir(dir.get())) {
    if (entry->d_name[0] != '.') ++count;
  }
  return count - 1;  // the folder's own
}

}  // namespace

admin::ProcessFigures ReadProcessFigures(Time start_time) {
  admin::ProcessFigures figures;
  figures.resident_bytes = ResidentBytes();
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    figures.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  }
  figures.open_descriptors = OpenDescriptors();
  figures.start_time = start_time;
  return figures;
}

}  // namespace sluice::cli

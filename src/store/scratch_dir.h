// SPDX-License-Identifier: Apache-2.0
#pragma once

// A fresh folder for one test, removed with everything in it at the end. Test
// code only.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/status.h"

namespace sluice::store {

class ScratchDir {
 public:
  ScratchDir() {
    std::string pattern = std::filesystem::temp_directory_path() / "sluice-store-XXXXXX";
    SLUICE_CHECK(::mkdtemp(pattern.data()) != nullptr, "no folder for the test: " + pattern);
    path_ = pattern;
  }
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  ~ScratchDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace sluice::store

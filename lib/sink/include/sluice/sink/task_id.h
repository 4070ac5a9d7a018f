// SPDX-License-Identifier: Apache-2.0
#pragma once

// Task ids from keys: the lower-case hex SHA-256 of the key's bytes, so that a key
// of any length and alphabet makes a valid id, and the same key the same one.
//
// Threading: one thread at a time for each hasher (it reuses its digest context).

#include <memory>
#include <string>
#include <string_view>

namespace sluice::sink {

inline constexpr int kHashedIdLength = 64;

class TaskIdHasher {
 public:
  TaskIdHasher();
  ~TaskIdHasher();
  TaskIdHasher(const TaskIdHasher&) = delete;
  TaskIdHasher& operator=(const TaskIdHasher&) = delete;

  /// 64 lower-case hex characters.
  [[nodiscard]] std::string IdOf(std::string_view key);
  /// Appends them, without an allocation when `out` has room.
  void AppendId(std::string_view key, std::string& out);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace sluice::sink

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the parts of an App Engine application are, outside of App Engine: a table from
// service, version and instance to base URLs that the operator writes (spec 4.1).
//
// Threading: immutable once filled.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "core/tasks/target.h"

namespace sluice::dispatch {

class AppEngineTable {
 public:
  /// `SERVICE[/VERSION[/INSTANCE]]=URL`, or `*=URL` for whatever no other entry names.
  /// The service of a task that names none is `default`. URL: scheme, host, port and
  /// perhaps the beginning of a path.
  /// Errors: INVALID_ARGUMENT; ALREADY_EXISTS for a second entry of one name.
  Status Add(std::string_view entry);

  /// The base URL of the entry that says most about `routing`.
  /// Errors: NOT_FOUND naming the service.
  [[nodiscard]] StatusOr<std::string_view> BaseUrl(const core::AppEngineRouting& routing) const;

 private:
  std::map<std::string, std::string, std::less<>> urls_;  // without a slash at the end
};

/// Every entry in one table. Errors: as Add.
StatusOr<AppEngineTable> MakeAppEngineTable(const std::vector<std::string>& entries);

}  // namespace sluice::dispatch

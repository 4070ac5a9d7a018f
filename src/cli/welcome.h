// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a start says to people: where the server listens, where the data is,
// what recovery found, and things to try. The last line, `sluice: ready on
// HOST:PORT`, is for scripts and never changes its form.
//
// Pure functions.

#include <string>
#include <string_view>

#include "admin/queue_apply.h"
#include "admin/server_options.h"
#include "log/log.h"

namespace sluice::cli {

struct WelcomeInput {
  const admin::ServerOptions* options = nullptr;
  const std::vector<std::string>* addresses = nullptr;
  const log::RecoveryReport* recovery = nullptr;
  const admin::ApplyReport* applied = nullptr;
  std::string_view queue;       // a queue that exists, for the examples; empty: none
  bool has_examples = false;    // things to try are wanted
  bool is_source_tree = false;  // those that need the source tree work here
};

[[nodiscard]] std::string WelcomeText(const WelcomeInput& input);
[[nodiscard]] std::string ReadyLine(std::string_view address);

/// One sentence: `new`, `clean end`, or what was replayed and cut.
[[nodiscard]] std::string RecoverySentence(const log::RecoveryReport& report);

}  // namespace sluice::cli

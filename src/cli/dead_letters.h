// SPDX-License-Identifier: Apache-2.0
#pragma once

// `sluice tasks dead-letters`: tasks that used up their attempts, listed, shown with
// each attempt, sent again or deleted, through the admin API of a running server.
//
// Threading: blocks the calling thread. Failure: the message on standard error and the
// exit code.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/exit_code.h"

namespace sluice::cli {

class DeadLetterCommands {
 public:
  struct Selection {
    std::vector<std::string> ids;
    std::string ended_from;
    std::string ended_before;
    int last_status = -1;
    bool is_all = false;
  };

  /// Adds `dead-letters` with its subcommands below `tasks`. Requires: outlives the parse.
  void AddTo(CLI::App* tasks, const std::string& default_server);
  [[nodiscard]] bool is_chosen() const { return command_ != nullptr && command_->parsed(); }
  /// Runs what was parsed.
  ExitCode Run() const;

 private:
  void AddSelection(CLI::App* command);
  ExitCode List() const;
  ExitCode Show() const;
  ExitCode Change(const std::string& verb) const;

  CLI::App* command_ = nullptr;
  CLI::App* list_ = nullptr;
  CLI::App* show_ = nullptr;
  CLI::App* redrive_ = nullptr;
  CLI::App* delete_ = nullptr;
  std::string server_;
  std::string queue_;
  std::string shown_id_;
  bool is_json_ = false;
  Selection selection_;
};

}  // namespace sluice::cli

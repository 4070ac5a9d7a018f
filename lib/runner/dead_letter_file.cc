// SPDX-License-Identifier: Apache-2.0
#include "runner/dead_letter_file.h"

#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>

namespace sluice::runner {
namespace {

class DeadLetterFile : public sink::DeadLetterQueue {
 public:
  DeadLetterFile(env::FileSystem& files, std::string path, std::function<std::string()> record)
      : files_(&files), path_(std::move(path)), record_(std::move(record)) {}

  Status Open(const sink::HandlerContext& /*context*/) override {
    SLUICE_ASSIGN_OR_RETURN(file_, files_->Open(path_, env::OpenMode::kCreate));
    SLUICE_RETURN_IF_ERROR(files_->SyncDirectory(env::ParentPath(path_)));
    SLUICE_ASSIGN_OR_RETURN(end_, file_->Size());
    if (end_ == 0) return {};
    char last = 0;
    SLUICE_ASSIGN_OR_RETURN(const std::uint64_t read, file_->ReadAt(end_ - 1, 1, &last));
    if (read == 1 && last == '\n') return {};
    return Append("\n");  // a crash tore the last line: it stays, and ours begins its own
  }

  Status Offer(const sink::FailedTask& failed) override {
    nlohmann::json line = {{"error", failed.message()}, {"queue", failed.destination_text()}};
    if (failed.cause()) line["cause"] = failed.cause()->ToString();
    if (failed.task() == nullptr) {
      line["record"] = record_();
    } else {
      std::string text;
      const auto status = google::protobuf::util::MessageToJsonString(*failed.task(), &text);
      if (!status.ok()) return Internal("a failed task cannot be written as JSON");
      line["task"] = nlohmann::json::parse(text, nullptr, false);
    }
    const std::string text =
        line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    return Append(text);
  }

  Status Flush() override { return file_->SyncData(); }

 private:
  Status Append(std::string_view text) {
    SLUICE_RETURN_IF_ERROR(file_->WriteAt(end_, text));
    end_ += text.size();
    return {};
  }

  env::FileSystem* files_;
  std::string path_;
  std::function<std::string()> record_;
  std::unique_ptr<env::File> file_;
  std::uint64_t end_ = 0;
};

}  // namespace

std::unique_ptr<sink::DeadLetterQueue> MakeDeadLetterFile(env::FileSystem& files, std::string path,
                                                          std::function<std::string()> record) {
  return std::make_unique<DeadLetterFile>(files, std::move(path), std::move(record));
}

}  // namespace sluice::runner

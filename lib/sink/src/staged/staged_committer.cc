// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/staged/staged_committer.h"

#include <mutex>
#include <utility>

#include "staged/commit_run.h"

namespace sluice::sink {
namespace {

class StagedCommitter final : public SinkCommitter {
 public:
  StagedCommitter(StagedCommitterConfig config, std::unique_ptr<TaskCreator> creator,
                  const HostServices& host)
      : config_(std::move(config)),
        creator_(std::move(creator)),
        host_(host),
        metrics_(*host.metrics, *host.wall_clock) {}
  StagedCommitter(const StagedCommitter&) = delete;
  StagedCommitter& operator=(const StagedCommitter&) = delete;
  ~StagedCommitter() override { IgnoreError(Close(), "nobody is left to hear of it"); }

  Status Commit(const std::vector<CommitRequest*>& requests) override;
  Status Close() override;

 private:
  const StagedCommitterConfig config_;
  const std::unique_ptr<TaskCreator> creator_;
  const HostServices host_;
  CommitterMetrics metrics_;
  std::atomic<bool> closed_{false};
  std::mutex mutex_;
  bool running_ = false;         // guarded by mutex_
  bool creator_closed_ = false;  // guarded by mutex_
};

Status StagedCommitter::Commit(const std::vector<CommitRequest*>& requests) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return FailedPrecondition("staged committer is closed");
    if (running_) return FailedPrecondition("staged committer: another commit is running");
    running_ = true;
  }
  Status result = CommitRun(config_, *creator_, host_, metrics_, closed_).Run(requests);
  bool close_creator = false;
  {
    const std::lock_guard lock(mutex_);
    running_ = false;
    close_creator = closed_ && !std::exchange(creator_closed_, true);
  }
  if (close_creator) {
    Status closed = creator_->Close();
    if (result.ok()) return closed;
  }
  return result;
}

Status StagedCommitter::Close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    if (running_) {
      // The mail does nothing: its arrival makes the commit look at `closed_`.
      host_.mailbox->Post([] {});
      return {};
    }
    if (std::exchange(creator_closed_, true)) return {};
  }
  return creator_->Close();
}

}  // namespace

std::unique_ptr<SinkCommitter> MakeStagedCommitter(StagedCommitterConfig config,
                                                   std::unique_ptr<TaskCreator> creator,
                                                   const HostServices& host) {
  return std::make_unique<StagedCommitter>(std::move(config), std::move(creator), host);
}

StatusOr<std::unique_ptr<SinkCommitter>> OpenStagedCommitter(
    StagedCommitterConfig config, const RetentionReaderFactory& make_reader,
    const TaskCreatorFactory& make_creator, const HostServices& host) {
  if (config.staged.verify_queue_retention() && make_reader != nullptr) {
    SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<QueueRetentionReader> reader, make_reader());
    Status verified = VerifyRetention(config.queue, config.staged, *reader);
    const Status closed = reader->Close();
    SLUICE_RETURN_IF_ERROR(verified);
    SLUICE_RETURN_IF_ERROR(closed);
  }
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<TaskCreator> creator, make_creator());
  return MakeStagedCommitter(std::move(config), std::move(creator), host);
}

}  // namespace sluice::sink

// SPDX-License-Identifier: Apache-2.0
#include "runner/client.h"

#include "sluice/gcp/queue_reader.h"
#include "sluice/gcp/task_client.h"

namespace sluice::runner {
namespace {

class Pending : public sink::PendingCreate {
 public:
  explicit Pending(std::shared_ptr<gcp::PendingCall> call) : call_(std::move(call)) {}
  void Cancel() override { call_->Cancel(); }

 private:
  std::shared_ptr<gcp::PendingCall> call_;
};

class GrpcTaskCreator : public sink::TaskCreator {
 public:
  GrpcTaskCreator(std::shared_ptr<gcp::ChannelPool> pool, const env::MonotonicClock& clock,
                  std::function<void(std::string_view)> warn)
      : client_(std::move(pool)), clock_(&clock), warn_(std::move(warn)) {}

  StatusOr<std::unique_ptr<sink::PendingCreate>> Create(
      const google::cloud::tasks::v2::CreateTaskRequest& request,
      std::optional<env::MonotonicTime> deadline, sink::CreateDone done) override {
    const Duration timeout =
        deadline ? absl::FromChrono(*deadline - clock_->Now()) : gcp::kCreateTimeoutDefault;
    std::shared_ptr<gcp::PendingCall> call =
        client_.CreateTask(request.parent(), request.SerializeAsString(), timeout,
                           [done = std::move(done)](Status status) mutable {
                             done(status.ok() ? sink::CreateOutcome() : sink::Failure(status));
                           });
    return std::make_unique<Pending>(std::move(call));
  }

  Status Close() override {
    const std::size_t cut = client_.Close();
    if (cut > 0) warn_(fmt::format("the client closed with {} creates unanswered", cut));
    return {};
  }

 private:
  gcp::TaskClient client_;
  const env::MonotonicClock* clock_;
  std::function<void(std::string_view)> warn_;
};

class GrpcRetentionReader : public sink::QueueRetentionReader {
 public:
  explicit GrpcRetentionReader(std::shared_ptr<gcp::ChannelPool> pool) : pool_(std::move(pool)) {}

  std::variant<std::optional<Duration>, sink::Failure> ReadTombstoneTtl(
      const sink::QueueDestination& queue, Duration timeout) override {
    const StatusOr<gcp::QueueFacts> facts = gcp::ReadQueue(*pool_, queue.path(), timeout);
    if (!facts.ok()) return sink::Failure(facts.status());
    return facts->tombstone_ttl;
  }

  Status Close() override { return {}; }  // the pool is the creator's, too

 private:
  std::shared_ptr<gcp::ChannelPool> pool_;
};

}  // namespace

StatusOr<std::shared_ptr<gcp::ChannelPool>> MakePool(const RunnerOptions& options) {
  using Kind = gcp::Credentials::Kind;
  gcp::ServiceAddress address;
  address.target = std::string(kGoogleTarget);
  address.credentials.kind = Kind::kApplicationDefault;
  if (!options.emulator_endpoint.empty()) {
    address.target = options.emulator_endpoint;
    address.credentials.kind = Kind::kPlaintext;
  } else if (!options.endpoint.empty()) {
    address.target = options.endpoint;
    address.credentials.kind = options.is_tls ? Kind::kTls : Kind::kPlaintext;
    address.credentials.tls_root_file = options.tls_root_file;
  }
  if (!options.key_file.empty()) {
    address.credentials.kind = Kind::kServiceAccountKey;
    address.credentials.key_file = options.key_file;
  }
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<gcp::ChannelPool> pool,
                          gcp::ChannelPool::Make(address, options.sink.channels.value_or(1)));
  return std::shared_ptr<gcp::ChannelPool>(std::move(pool));
}

std::unique_ptr<sink::TaskCreator> MakeTaskCreator(std::shared_ptr<gcp::ChannelPool> pool,
                                                   const env::MonotonicClock& clock,
                                                   std::function<void(std::string_view)> warn) {
  return std::make_unique<GrpcTaskCreator>(std::move(pool), clock, std::move(warn));
}

std::unique_ptr<sink::QueueRetentionReader> MakeRetentionReader(
    std::shared_ptr<gcp::ChannelPool> pool) {
  return std::make_unique<GrpcRetentionReader>(std::move(pool));
}

}  // namespace sluice::runner

// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/client.h"

#include <cstdio>
#include <memory>
#include <utility>

#include "client/client_address.h"
#include "sluice/gcp/queue_reader.h"
#include "sluice/gcp/unary_client.h"

namespace sluice::sink {
namespace {

using Warn = std::function<void(std::string_view)>;
using SharedPool = std::shared_ptr<gcp::ChannelPool>;

class Pending : public PendingCreate {
 public:
  explicit Pending(std::shared_ptr<gcp::PendingCall> call) : call_(std::move(call)) {}
  void Cancel() override { call_->Cancel(); }

 private:
  std::shared_ptr<gcp::PendingCall> call_;
};

class GrpcTaskCreator : public TaskCreator {
 public:
  GrpcTaskCreator(SharedPool pool, const env::MonotonicClock& clock, Warn warn)
      : client_(std::move(pool)), clock_(&clock), warn_(std::move(warn)) {}

  StatusOr<std::unique_ptr<PendingCreate>> Create(
      const google::cloud::tasks::v2::CreateTaskRequest& request,
      std::optional<env::MonotonicTime> deadline, CreateDone done) override {
    const Duration timeout =
        deadline ? absl::FromChrono(*deadline - clock_->Now()) : gcp::kCreateTimeoutDefault;
    std::shared_ptr<gcp::PendingCall> call =
        client_.Send(gcp::kCreateTask, request.parent(), request.SerializeAsString(), timeout,
                     [done = std::move(done)](const Status& status) mutable {
                       done(status.ok() ? CreateOutcome() : Failure(status));
                     });
    return std::make_unique<Pending>(std::move(call));
  }

  Status Close() override {
    const std::size_t cut = client_.Close();
    if (cut == 0) return {};
    const std::string line = fmt::format("the client closed with {} creates unanswered", cut);
    if (warn_) {
      warn_(line);
    } else {
      fmt::print(stderr, "warning: {}\n", line);
    }
    return {};
  }

 private:
  gcp::UnaryClient client_;
  const env::MonotonicClock* clock_;
  Warn warn_;
};

class GrpcRetentionReader : public QueueRetentionReader {
 public:
  explicit GrpcRetentionReader(SharedPool pool) : pool_(std::move(pool)) {}

  std::variant<std::optional<Duration>, Failure> ReadTombstoneTtl(const QueueDestination& queue,
                                                                  Duration timeout) override {
    const StatusOr<gcp::QueueFacts> facts = gcp::ReadQueue(*pool_, queue.path(), timeout);
    if (!facts.ok()) return Failure(facts.status());
    return facts->tombstone_ttl;
  }
  Status Close() override { return {}; }  // the pool is the creator's, too

 private:
  SharedPool pool_;
};

/// Opens the pool once, for the first who asks.
class LazyPool {
 public:
  explicit LazyPool(SinkSettings settings) : settings_(std::move(settings)) {}

  StatusOr<SharedPool> Open() {
    if (pool_ != nullptr) return pool_;
    SLUICE_RETURN_IF_ERROR(CheckClientSettings(settings_));
    SLUICE_ASSIGN_OR_RETURN(
        std::unique_ptr<gcp::ChannelPool> pool,
        gcp::ChannelPool::Make(AddressOf(settings_),
                               settings_.writer_options.channel_pool_size().value_or(1)));
    pool_ = std::move(pool);
    return pool_;
  }

 private:
  SinkSettings settings_;
  SharedPool pool_;
};

}  // namespace

gcp::ServiceAddress AddressOf(const SinkSettings& settings) {
  using Kind = gcp::Credentials::Kind;
  gcp::ServiceAddress address;
  address.target = std::string(kGoogleTarget);
  address.credentials.kind = Kind::kApplicationDefault;
  if (settings.emulator_endpoint) {
    address.target = settings.emulator_endpoint->text();
    address.credentials.kind = Kind::kPlaintext;
  } else if (settings.endpoint) {
    address.target = settings.endpoint->address.text();
    address.credentials.kind = settings.endpoint->is_tls ? Kind::kTls : Kind::kPlaintext;
    address.credentials.tls_root_file = settings.endpoint->tls_root_file;
  }
  if (settings.service_account_key_file) {
    address.credentials.kind = Kind::kServiceAccountKey;
    address.credentials.key_file = *settings.service_account_key_file;
  }
  return address;
}

SinkClient MakeClient(SinkSettings settings, const env::MonotonicClock& clock, Warn warn) {
  const bool tells_retention = !settings.emulator_endpoint;
  const auto pool = std::make_shared<LazyPool>(std::move(settings));
  SinkClient client;
  client.make_creator = [pool, &clock,
                         warn = std::move(warn)]() -> StatusOr<std::unique_ptr<TaskCreator>> {
    SLUICE_ASSIGN_OR_RETURN(SharedPool open, pool->Open());
    return std::make_unique<GrpcTaskCreator>(std::move(open), clock, warn);
  };
  if (tells_retention) {
    client.make_reader = [pool]() -> StatusOr<std::unique_ptr<QueueRetentionReader>> {
      SLUICE_ASSIGN_OR_RETURN(SharedPool open, pool->Open());
      return std::make_unique<GrpcRetentionReader>(std::move(open));
    };
  }
  return client;
}

}  // namespace sluice::sink

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sink as a user builds it: where records go, how they become tasks, and the
// options. A built sink is a value; it opens nothing until a writer is made.
//
//   auto sink = CloudTasksSink<Order>::Builder()
//                   .queue(*QueueDestination::Of("p", "l", "orders"))
//                   .serializer(schema)
//                   .Build();
//
// Threading: values. The serializer and the functions are shared by copies and run on
// the task thread of each writer; with several writers in one process they must bear that.
// Failure: a refused setting is kept and returned by `Build`, the first one of several.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/sink/client.h"
#include "sluice/sink/destination_resolver.h"
#include "sluice/sink/eager_writer.h"
#include "sluice/sink/serializer.h"
#include "sluice/sink/sink_settings.h"
#include "sluice/sink/staged/staged_committer.h"
#include "sluice/sink/staged/staged_writer.h"

namespace sluice::sink {

template <typename T>
class CloudTasksSink {
 public:
  class Builder;
  /// The key of a record; nothing and empty keys fail the job.
  using TaskIdExtractor = std::function<StatusOr<std::optional<std::string>>(const T&)>;

  [[nodiscard]] const SinkSettings& settings() const { return settings_; }
  /// Null with a resolver of the user's.
  [[nodiscard]] const QueueDestination* fixed_queue() const { return resolver_->fixed_queue(); }
  [[nodiscard]] std::vector<LineageDataset> Lineage() const {
    return DescribeLineage(fixed_queue());
  }
  [[nodiscard]] std::unique_ptr<RecordMapper> NewMapper() const {
    return std::make_unique<Mapper>(resolver_, serializer_, extractor_);
  }

  /// At least once: creates tasks with what `client` opens (MakeClient for `settings()`).
  /// Exactly once: stages them and opens no client.
  [[nodiscard]] StatusOr<std::unique_ptr<SinkWriter>> OpenWriter(const HostServices& host,
                                                                 const SinkClient& client) const {
    if (settings_.guarantee == DeliveryGuarantee::kExactlyOnce) {
      return OpenStagedWriter({.mapper = NewMapper(),
                               .handler = settings_.make_handler(),
                               .options = StagedOptionsOrDefault(),
                               .host = host});
    }
    return OpenEagerWriter({.mapper = NewMapper(),
                            .handler = settings_.make_handler(),
                            .make_creator = client.make_creator,
                            .options = settings_.writer_options,
                            .host = host});
  }

  /// For exactly-once only; with a mailbox and a metric group apart from the writer's.
  /// Reads the queue's retention first, unless the options or an emulator say otherwise.
  [[nodiscard]] StatusOr<std::unique_ptr<SinkCommitter>> OpenCommitter(
      const HostServices& host, const SinkClient& client) const {
    if (settings_.guarantee != DeliveryGuarantee::kExactlyOnce) {
      return FailedPrecondition("only a sink with the delivery_guarantee exactly-once commits");
    }
    return OpenStagedCommitter({.queue = *fixed_queue(),
                                .writer = settings_.writer_options,
                                .staged = StagedOptionsOrDefault()},
                               client.make_reader, client.make_creator, host);
  }

  /// The record as the writers take it.
  [[nodiscard]] static AnyRecord Erase(const T& record, const WriteContext& context = {}) {
    return {.value = &record, .context = context};
  }

 private:
  class Mapper final : public RecordMapper {
   public:
    Mapper(std::shared_ptr<DestinationResolver<T>> resolver,
           std::shared_ptr<TaskSerializer<T>> serializer, TaskIdExtractor extractor)
        : resolver_(std::move(resolver)),
          serializer_(std::move(serializer)),
          extractor_(std::move(extractor)) {}
    [[nodiscard]] Status Open(const HandlerContext& context) override {
      return serializer_->Open(context);
    }
    [[nodiscard]] StatusOr<const QueueDestination*> Resolve(const AnyRecord& record) override {
      return resolver_->Resolve(Typed(record), record.context);
    }
    [[nodiscard]] StatusOr<bool> Serialize(const AnyRecord& record,
                                           google::cloud::tasks::v2::Task& task) override {
      return serializer_->Serialize(Typed(record), task);
    }
    [[nodiscard]] bool has_task_ids() const override { return extractor_ != nullptr; }
    [[nodiscard]] StatusOr<std::optional<std::string>> TaskKey(const AnyRecord& record) override {
      return extractor_(Typed(record));
    }
    [[nodiscard]] const QueueDestination* fixed_queue() const override {
      return resolver_->fixed_queue();
    }

   private:
    static const T& Typed(const AnyRecord& record) { return *static_cast<const T*>(record.value); }
    std::shared_ptr<DestinationResolver<T>> resolver_;
    std::shared_ptr<TaskSerializer<T>> serializer_;
    TaskIdExtractor extractor_;
  };

  CloudTasksSink() = default;

  [[nodiscard]] StagedOptions StagedOptionsOrDefault() const {
    return settings_.staged_options.value_or(StagedOptions());
  }

  SinkSettings settings_;
  std::shared_ptr<DestinationResolver<T>> resolver_;
  std::shared_ptr<TaskSerializer<T>> serializer_;
  TaskIdExtractor extractor_;
};

template <typename T>
class CloudTasksSink<T>::Builder {
 public:
  /// Of `queue` and `destination_resolver` the last call counts.
  Builder& queue(QueueDestination queue) {
    sink_.resolver_ = std::make_shared<FixedDestination<T>>(std::move(queue));
    return *this;
  }
  Builder& destination_resolver(std::shared_ptr<DestinationResolver<T>> resolver) {
    Require(resolver != nullptr, "destination_resolver");
    sink_.resolver_ = std::move(resolver);
    return *this;
  }
  Builder& serializer(std::shared_ptr<TaskSerializer<T>> serializer) {
    Require(serializer != nullptr, "serializer");
    sink_.serializer_ = std::move(serializer);
    return *this;
  }
  /// Unset: unnamed tasks, or random names in staged mode.
  Builder& task_id_extractor(TaskIdExtractor extractor) {
    Require(extractor != nullptr, "task_id_extractor");
    sink_.extractor_ = std::move(extractor);
    return *this;
  }
  Builder& writer_options(WriterOptions options) {
    sink_.settings_.writer_options = std::move(options);
    return *this;
  }
  Builder& staged_options(StagedOptions options) {
    sink_.settings_.staged_options = std::move(options);
    return *this;
  }
  Builder& delivery_guarantee(DeliveryGuarantee guarantee) {
    sink_.settings_.guarantee = guarantee;
    return *this;
  }
  Builder& failed_task_handler(HandlerFactory make_handler) {
    Require(make_handler != nullptr, "failed_task_handler");
    if (make_handler) sink_.settings_.make_handler = std::move(make_handler);
    return *this;
  }
  /// A path, never key material; read when a writer or committer starts.
  Builder& service_account_key_file(std::string path) {
    Refuse(CheckKeyFilePath(path));
    sink_.settings_.service_account_key_file = std::move(path);
    return *this;
  }
  Builder& emulator_endpoint(std::string_view host_port) {
    const auto parsed = Endpoint::Parse("emulator_endpoint", host_port);
    Refuse(parsed.status());
    if (parsed.ok()) sink_.settings_.emulator_endpoint = *parsed;
    return *this;
  }
  /// In plaintext. Of `endpoint` and `tls_endpoint` the last call counts.
  Builder& endpoint(std::string_view host_port) {
    return SetEndpoint("endpoint", host_port,
                       {.address = {}, .is_tls = false, .tls_root_file = ""});
  }
  /// Trusts the certificates in `root_file` (PEM), or the system's without one.
  Builder& tls_endpoint(std::string_view host_port, std::string root_file = "") {
    return SetEndpoint("tls_endpoint", host_port,
                       {.address = {}, .is_tls = true, .tls_root_file = std::move(root_file)});
  }

  [[nodiscard]] StatusOr<CloudTasksSink> Build() const {
    SLUICE_RETURN_IF_ERROR(refused_);
    if (sink_.serializer_ == nullptr) return FailedPrecondition("a serializer must be set");
    if (sink_.resolver_ == nullptr) {
      return FailedPrecondition("a queue or a destination_resolver must be set");
    }
    SLUICE_RETURN_IF_ERROR(
        CheckSettings(sink_.settings_, sink_.resolver_->fixed_queue() != nullptr));
    return sink_;
  }

 private:
  void Refuse(const Status& status) {
    if (refused_.ok()) refused_ = status;
  }
  void Require(bool is_set, std::string_view name) {
    if (!is_set) Refuse(InvalidArgument("{} must not be null", name));
  }
  Builder& SetEndpoint(std::string_view setting, std::string_view host_port,
                       ServiceEndpoint endpoint) {
    auto parsed = Endpoint::Parse(setting, host_port);
    Refuse(parsed.status());
    if (!parsed.ok()) return *this;
    endpoint.address = *std::move(parsed);
    sink_.settings_.endpoint = std::move(endpoint);
    return *this;
  }

  CloudTasksSink sink_;
  Status refused_;
};

}  // namespace sluice::sink

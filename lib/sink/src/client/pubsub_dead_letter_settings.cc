// SPDX-License-Identifier: Apache-2.0
#include "blank.h"
#include "sluice/sink/pubsub_dead_letter_queue.h"
#include "sluice/sink/sink_settings.h"

namespace sluice::sink {

using Settings = PubSubDeadLetterSettings;

void Settings::Builder::Refuse(const Status& status) {
  if (refused_.ok()) refused_ = status;
}

Settings::Builder& Settings::Builder::topic(std::string_view project, std::string_view topic) {
  Refuse(CheckComponent("topic", "project", project));
  Refuse(CheckComponent("topic", "topic id", topic));
  settings_.topic_ = fmt::format("projects/{}/topics/{}", project, topic);
  return *this;
}

Settings::Builder& Settings::Builder::service_account_key_file(std::string path) {
  Refuse(CheckKeyFilePath(path));
  settings_.key_file_ = std::move(path);
  return *this;
}

Settings::Builder& Settings::Builder::emulator_endpoint(std::string_view host_port) {
  const auto parsed = Endpoint::Parse("emulator_endpoint", host_port);
  Refuse(parsed.status());
  if (parsed.ok()) settings_.emulator_ = *parsed;
  return *this;
}

Settings::Builder& Settings::Builder::max_in_flight_messages(int value) {
  if (value < -1) {
    Refuse(InvalidArgument("max_in_flight_messages must be at least -1, not {}", value));
  }
  settings_.max_in_flight_ = value;
  return *this;
}

Settings::Builder& Settings::Builder::flush_timeout(Nanoseconds value) {
  if (value.count() <= 0) {
    Refuse(InvalidArgument("flush_timeout must be above 0 ns, not {}", value.count()));
  }
  settings_.flush_timeout_ = value;
  return *this;
}

Settings::Builder& Settings::Builder::shutdown_timeout(Nanoseconds value) {
  if (value.count() <= 0) {
    Refuse(InvalidArgument("shutdown_timeout must be above 0 ns, not {}", value.count()));
  }
  settings_.shutdown_timeout_ = value;
  return *this;
}

StatusOr<Settings> Settings::Builder::Build() const {
  SLUICE_RETURN_IF_ERROR(refused_);
  if (settings_.topic_.empty()) return InvalidArgument("a topic must be set");
  if (settings_.emulator_ && settings_.key_file_) {
    return InvalidArgument(
        "service_account_key_file and emulator_endpoint exclude each other: an emulator gets no "
        "credentials");
  }
  return settings_;
}

}  // namespace sluice::sink

// SPDX-License-Identifier: Apache-2.0
#include "admin/logging.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "admin/value_text.h"

namespace sluice::admin {
namespace {

constexpr std::string_view kCutMark = "...";

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

std::string_view NameOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "DEBUG";
    case LogLevel::kInfo:
      return "INFO";
    case LogLevel::kWarn:
      return "WARN";
    case LogLevel::kError:
      return "ERROR";
    case LogLevel::kOff:
      break;
  }
  return "OFF";
}

class CallbackSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit CallbackSink(Logger::LineSink on_line) : on_line_(std::move(on_line)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    on_line_({message.payload.data(), message.payload.size()});
  }
  void flush_() override {}

  Logger::LineSink on_line_;
};

/// A JSON string; bytes that are not UTF-8 become the replacement character.
std::string Quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool NeedsQuotes(std::string_view text) {
  if (text.empty()) return true;
  for (const char c : text) {
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == '\x7f') return true;
  }
  return false;
}

std::string Cut(std::string_view text) {
  if (text.size() <= kLogValueBytesMax) return std::string(text);
  return std::string(text.substr(0, kLogValueBytesMax)).append(kCutMark);
}

}  // namespace

Logger::Logger(LogLevel level, LogFormat format, const env::Clock& clock)
    : format_(format),
      clock_(clock),
      out_(std::make_unique<spdlog::logger>("sluice",
                                            std::make_shared<spdlog::sinks::stderr_sink_mt>())) {
  out_->set_level(LevelOf(level));
  out_->set_pattern("%v");
}

Logger::Logger(LogLevel level, LogFormat format, const env::Clock& clock, LineSink sink)
    : format_(format),
      clock_(clock),
      out_(std::make_unique<spdlog::logger>("sluice",
                                            std::make_shared<CallbackSink>(std::move(sink)))) {
  out_->set_level(LevelOf(level));
}

Logger::~Logger() = default;

void Logger::Log(LogLevel level, std::string_view event, Fields fields) {
  const spdlog::level::level_enum severity = LevelOf(level);
  if (!out_->should_log(severity)) return;
  const std::string time = InstantText(clock_.Now());
  std::string line;
  if (format_ == LogFormat::kJson) {
    line =
        fmt::format(R"({{"time":"{}","level":"{}","event":{})", time, NameOf(level), Quoted(event));
    for (const Field& field : fields) {
      line += fmt::format(",{}:{}", Quoted(field.key_),
                          field.is_text_ ? Quoted(Cut(field.value_)) : field.value_);
    }
    line += '}';
  } else {
    line = fmt::format("{} {} {}", time, NameOf(level), event);
    for (const Field& field : fields) {
      const std::string value = Cut(field.value_);
      line += fmt::format(" {}={}", field.key_, NeedsQuotes(value) ? Quoted(value) : value);
    }
  }
  out_->log(spdlog::source_loc{}, severity, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace sluice::admin

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Structured logs: one line an event, on the standard error stream. As text
//   2030-01-31T10:00:00.123456Z INFO queue_created queue=projects/p/... rate=10
// or as one JSON object with the members time, level, event and the fields.
// Events are words with underscores, so that people and programs can look for
// them. Bodies, headers and tokens are never given to a log.
//
// Threading: any thread, but not the lane's: writing may wait for whoever reads.
// Failure: a line that cannot be written is lost; logging never fails a caller.

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "admin/server_options.h"
#include "env/clock.h"

namespace spdlog {
class logger;
}  // namespace spdlog

namespace sluice::admin {

inline constexpr std::size_t kLogValueBytesMax = 4096;  // longer values are cut

class Logger {
 public:
  /// A key with a text, a number or a truth value.
  class Field {
   public:
    Field(std::string_view key, std::string_view text) : key_(key), value_(text) {}
    Field(std::string_view key, const char* text) : Field(key, std::string_view(text)) {}
    Field(std::string_view key, const std::string& text) : Field(key, std::string_view(text)) {}
    Field(std::string_view key, bool value)
        : key_(key), value_(value ? "true" : "false"), is_text_(false) {}
    template <class Number>
    requires std::integral<Number> || std::floating_point<Number> Field(std::string_view key,
                                                                        Number value)
        : key_(key), value_(fmt::format("{}", value)), is_text_(false) {}

   private:
    friend class Logger;
    std::string_view key_;
    std::string value_;
    bool is_text_ = true;
  };
  using Fields = std::initializer_list<Field>;
  /// Takes whole lines without their end; for tests.
  using LineSink = std::function<void(std::string_view)>;

  /// Writes to the standard error stream; `clock` gives the time shown and must outlive this.
  Logger(LogLevel level, LogFormat format, const env::Clock& clock);
  Logger(LogLevel level, LogFormat format, const env::Clock& clock, LineSink sink);
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;
  ~Logger();

  void Debug(std::string_view event, Fields fields = {}) { Log(LogLevel::kDebug, event, fields); }
  void Info(std::string_view event, Fields fields = {}) { Log(LogLevel::kInfo, event, fields); }
  void Warn(std::string_view event, Fields fields = {}) { Log(LogLevel::kWarn, event, fields); }
  void Error(std::string_view event, Fields fields = {}) { Log(LogLevel::kError, event, fields); }

 private:
  void Log(LogLevel level, std::string_view event, Fields fields);

  const LogFormat format_;
  const env::Clock& clock_;
  std::unique_ptr<spdlog::logger> out_;
};

}  // namespace sluice::admin

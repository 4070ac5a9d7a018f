// SPDX-License-Identifier: Apache-2.0
#pragma once

// A record as its own body, for the tests of schemas; the record "null" has none.
//
// Threading: one thread.

#include <optional>
#include <string>
#include <string_view>

#include "sluice/sink/serializer.h"

namespace sluice::sink::testing {

class TextBody : public ByteSerializer<std::string> {
 public:
  [[nodiscard]] Status Open(const HandlerContext&) override {
    ++opened;
    return {};
  }
  StatusOr<std::optional<std::string>> Serialize(const std::string& record) override {
    ++calls;
    if (record == "null") return std::optional<std::string>();
    return std::optional<std::string>(record);
  }
  [[nodiscard]] std::string_view name() const override { return "TextBody"; }

  int opened = 0;
  int calls = 0;
};

}  // namespace sluice::sink::testing

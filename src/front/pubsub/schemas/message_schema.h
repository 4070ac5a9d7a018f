// SPDX-License-Identifier: Apache-2.0
#pragma once

// A schema of messages (spec pubsub 7): its definition, understood once, against which
// the data of messages is checked. It knows nothing of names, revisions and topics.
//
// Definitions and messages come from strangers. Both are bounded in size, nesting and
// work, so that neither can take the stack, the memory or the time of the server.
//
// Threading: immutable; any thread. Failure: INVALID_ARGUMENT that says what and where.

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/status.h"
#include "core/messages/schema.h"

namespace sluice::front {

inline constexpr std::size_t kSchemaBytesMax = 300'000;
inline constexpr int kSchemaDepthMax = 32;             // types within types in a definition
inline constexpr int kMessageDepthMax = 100;           // values within values in a message
inline constexpr std::size_t kSchemaTypesMax = 5'000;  // in an Avro definition, each use counted

enum class SchemaEncoding { kJson, kBinary };

class MessageSchema {
 public:
  virtual ~MessageSchema() = default;

  /// Errors: INVALID_ARGUMENT unless all of `data` is exactly one message of this schema.
  [[nodiscard]] virtual Status Validate(std::string_view data, SchemaEncoding encoding) const = 0;
};

/// Errors: INVALID_ARGUMENT naming the limit passed or the place not understood.
StatusOr<std::unique_ptr<const MessageSchema>> ParseSchema(core::SchemaType type,
                                                           std::string_view definition);

}  // namespace sluice::front

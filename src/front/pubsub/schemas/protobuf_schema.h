// SPDX-License-Identifier: Apache-2.0
#pragma once

// Schemas of Protocol Buffers, by protobuf's own parser and dynamic messages: one file
// without imports that defines one message. See message_schema.h for the contract.

#include "front/pubsub/schemas/message_schema.h"

namespace sluice::front {

/// Requires: `definition` has at most kSchemaBytesMax bytes. Errors: INVALID_ARGUMENT.
StatusOr<std::unique_ptr<const MessageSchema>> ParseProtobufSchema(std::string_view definition);

}  // namespace sluice::front

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Schemas of Apache Avro. Avro's C library reads the definition; what it found is copied
// into AvroTypes, and the library lets go of it. Messages are not given to the library:
// it has no reader of JSON, and its binary reader believes the lengths it is told
// (docs/dependencies.md). See message_schema.h for the contract.

#include "front/pubsub/schemas/message_schema.h"

namespace sluice::front {

/// Requires: `definition` has at most kSchemaBytesMax bytes. Errors: INVALID_ARGUMENT.
StatusOr<std::unique_ptr<const MessageSchema>> ParseAvroSchema(std::string_view definition);

}  // namespace sluice::front

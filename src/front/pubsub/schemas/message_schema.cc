// SPDX-License-Identifier: Apache-2.0
#include "front/pubsub/schemas/message_schema.h"

#include "front/pubsub/schemas/avro_schema.h"
#include "front/pubsub/schemas/protobuf_schema.h"

namespace sluice::front {

StatusOr<std::unique_ptr<const MessageSchema>> ParseSchema(core::SchemaType type,
                                                           std::string_view definition) {
  if (definition.empty()) return InvalidArgument("the schema has no definition");
  if (definition.size() > kSchemaBytesMax) {
    return InvalidArgument("the schema's definition has {} bytes; the limit is {}",
                           definition.size(), kSchemaBytesMax);
  }
  return type == core::SchemaType::kAvro ? ParseAvroSchema(definition)
                                         : ParseProtobufSchema(definition);
}

}  // namespace sluice::front

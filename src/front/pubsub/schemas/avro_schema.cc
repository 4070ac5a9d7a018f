// SPDX-License-Identifier: Apache-2.0
#include "front/pubsub/schemas/avro_schema.h"

#include <utility>

#include "front/pubsub/schemas/avro_types.h"

namespace sluice::front {
namespace {

class AvroSchema : public MessageSchema {
 public:
  explicit AvroSchema(AvroTypes types) : types_(std::move(types)) {}

  [[nodiscard]] Status Validate(std::string_view data, SchemaEncoding encoding) const override {
    return encoding == SchemaEncoding::kJson ? ValidateAvroJson(types_, data)
                                             : ValidateAvroBinary(types_, data);
  }

 private:
  const AvroTypes types_;
};

}  // namespace

StatusOr<std::unique_ptr<const MessageSchema>> ParseAvroSchema(std::string_view definition) {
  SLUICE_ASSIGN_OR_RETURN(AvroTypes types, ReadAvroTypes(definition));
  return std::make_unique<const AvroSchema>(std::move(types));
}

}  // namespace sluice::front

// SPDX-License-Identifier: Apache-2.0
#include "front/pubsub/schemas/protobuf_schema.h"

#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <string>
#include <utility>

namespace sluice::front {
namespace {

namespace pb = google::protobuf;

constexpr const char* kTypeUrlPrefix = "type.googleapis.com";

// Both kinds keep the first error: what follows it is often only its consequence.
class TextErrors : public pb::io::ErrorCollector {
 public:
  explicit TextErrors(int lines_before) : lines_before_(lines_before) {}

  void AddError(int line, int column, const std::string& message) override {
    if (first_.ok()) {
      first_ = InvalidArgument("the schema is not valid at line {}, column {}: {}",
                               line + 1 - lines_before_, column + 1, message);
    }
  }
  [[nodiscard]] const Status& first() const { return first_; }

 private:
  int lines_before_;
  Status first_;
};

class TypeErrors : public pb::DescriptorPool::ErrorCollector {
 public:
  void AddError(const std::string& /*file*/, const std::string& element,
                const pb::Message* /*descriptor*/, ErrorLocation /*location*/,
                const std::string& message) override {
    if (first_.ok()) {
      first_ = InvalidArgument("the schema is not valid at {}: {}", element, message);
    }
  }
  [[nodiscard]] const Status& first() const { return first_; }

 private:
  Status first_;
};

pb::io::ArrayInputStream StreamOf(std::string_view text) {
  return {text.data(), static_cast<int>(text.size())};
}

// protobuf's parser goes as deep as its text does, so the depth is looked at before.
// The answer is whether the text says which syntax it has.
StatusOr<bool> CheckDepth(std::string_view definition) {
  pb::io::ArrayInputStream stream = StreamOf(definition);
  TextErrors errors(0);
  pb::io::Tokenizer tokens(&stream, &errors);
  bool has_syntax = false;
  int depth = 0;
  while (errors.first().ok() && tokens.Next()) {
    const std::string& token = tokens.current().text;
    if (tokens.previous().type == pb::io::Tokenizer::TYPE_START) has_syntax = token == "syntax";
    if (token == "{" || token == "[" || token == "(" || token == "<") ++depth;
    if (token == "}" || token == "]" || token == ")" || token == ">") --depth;
    if (depth > kSchemaDepthMax) {
      return InvalidArgument("the schema nests deeper than {} at line {}", kSchemaDepthMax,
                             tokens.current().line + 1);
    }
  }
  SLUICE_RETURN_IF_ERROR(errors.first());
  return has_syntax;
}

Status ParseText(std::string_view definition, bool has_syntax, pb::FileDescriptorProto* file) {
  // What has no syntax is proto2; the parser would say so in the log each time.
  std::string text = has_syntax ? "" : "syntax = \"proto2\";\n";
  text += definition;
  pb::io::ArrayInputStream stream = StreamOf(text);
  TextErrors errors(has_syntax ? 0 : 1);
  pb::io::Tokenizer tokens(&stream, &errors);
  pb::compiler::Parser parser;
  parser.RecordErrorsTo(&errors);
  const bool parsed = parser.Parse(&tokens, file);
  SLUICE_RETURN_IF_ERROR(errors.first());
  return parsed ? Status() : InvalidArgument("the schema is not a protocol buffer definition");
}

Status CheckShape(const pb::FileDescriptorProto& file) {
  if (file.dependency_size() > 0) {
    return InvalidArgument("the schema imports {}; a schema cannot import", file.dependency(0));
  }
  if (file.service_size() > 0 || file.extension_size() > 0) {
    return InvalidArgument(
        "the schema defines a service or an extension; it can only define types");
  }
  if (file.message_type_size() != 1) {
    return InvalidArgument("the schema defines {} top-level messages; it must define exactly one",
                           file.message_type_size());
  }
  return {};
}

class ProtobufSchema : public MessageSchema {
 public:
  Status Build(const pb::FileDescriptorProto& file) {
    TypeErrors errors;
    const pb::FileDescriptor* built = pool_.BuildFileCollectingErrors(file, &errors);
    SLUICE_RETURN_IF_ERROR(errors.first());
    if (built == nullptr) return InvalidArgument("the schema's types cannot be built");
    const pb::Descriptor* type = built->message_type(0);
    prototype_ = messages_.GetPrototype(type);
    resolver_.reset(pb::util::NewTypeResolverForDescriptorPool(kTypeUrlPrefix, &pool_));
    type_url_ = std::string(kTypeUrlPrefix) + '/' + type->full_name();
    return {};
  }

  [[nodiscard]] Status Validate(std::string_view data, SchemaEncoding encoding) const override {
    if (encoding == SchemaEncoding::kBinary) return ValidateBinary(data);
    std::string binary;
    pb::util::JsonParseOptions strict;
    strict.ignore_unknown_fields = false;
    const pb::util::Status parsed = pb::util::JsonToBinaryString(
        resolver_.get(), type_url_, {data.data(), data.size()}, &binary, strict);
    if (!parsed.ok()) {
      return InvalidArgument("the message is not JSON of its schema: {}",
                             std::string(parsed.message()));
    }
    return ValidateBinary(binary);
  }

 private:
  [[nodiscard]] Status ValidateBinary(std::string_view data) const {
    const std::unique_ptr<pb::Message> message(prototype_->New());
    pb::io::ArrayInputStream stream = StreamOf(data);
    pb::io::CodedInputStream coded(&stream);
    coded.SetRecursionLimit(kMessageDepthMax);
    if (!message->ParsePartialFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
      return InvalidArgument("the message is not the binary form of {}",
                             prototype_->GetDescriptor()->full_name());
    }
    if (!message->IsInitialized()) {
      return InvalidArgument("the message lacks what its schema requires: {}",
                             message->InitializationErrorString());
    }
    return {};
  }

  pb::DescriptorPool pool_;
  pb::DynamicMessageFactory messages_{&pool_};
  const pb::Message* prototype_ = nullptr;
  std::unique_ptr<pb::util::TypeResolver> resolver_;
  std::string type_url_;
};

}  // namespace

StatusOr<std::unique_ptr<const MessageSchema>> ParseProtobufSchema(std::string_view definition) {
  SLUICE_ASSIGN_OR_RETURN(const bool has_syntax, CheckDepth(definition));
  pb::FileDescriptorProto file;
  SLUICE_RETURN_IF_ERROR(ParseText(definition, has_syntax, &file));
  SLUICE_RETURN_IF_ERROR(CheckShape(file));
  file.set_name("schema.proto");
  auto schema = std::make_unique<ProtobufSchema>();
  SLUICE_RETURN_IF_ERROR(schema->Build(file));
  return schema;
}

}  // namespace sluice::front

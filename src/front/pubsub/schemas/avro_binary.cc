// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>

#include "base/text.h"
#include "front/pubsub/schemas/avro_types.h"
#include "front/pubsub/schemas/message_schema.h"

namespace sluice::front {
namespace {

// A value may take no byte at all (null, a record of nulls), and an array may say that
// it holds 2^62 of them. So a message may hold this many values, and more as it is longer.
constexpr std::size_t kValuesFree = 100'000;
constexpr std::size_t kValuesPerByte = 16;

class BinaryWalk {
 public:
  BinaryWalk(const AvroTypes& types, std::string_view data)
      : types_(types), left_(data), values_left_(kValuesFree + data.size() * kValuesPerByte) {}

  Status Message() {
    SLUICE_RETURN_IF_ERROR(Value(0));
    if (left_.empty()) return {};
    return path_.Error(fmt::format("{} bytes follow the message", left_.size()));
  }

 private:
  Status Value(std::size_t at) {
    if (path_.depth() > kMessageDepthMax) {
      return path_.Error(fmt::format("values nest deeper than {}", kMessageDepthMax));
    }
    if (values_left_-- == 0) return path_.Error("it holds too many values that take no bytes");
    const AvroType& type = types_[at];
    switch (type.kind) {
      case AvroKind::kNull:
        return {};
      case AvroKind::kBoolean:
        return Boolean();
      case AvroKind::kInt:
        return Number(std::numeric_limits<std::int32_t>::min(),
                      std::numeric_limits<std::int32_t>::max(), "an int")
            .status();
      case AvroKind::kLong:
        return Long("a long").status();
      case AvroKind::kFloat:
        return Take(sizeof(float)).status();
      case AvroKind::kDouble:
        return Take(sizeof(double)).status();
      case AvroKind::kBytes:
        return Bytes().status();
      case AvroKind::kString:
        return String();
      case AvroKind::kFixed:
        return Take(type.bytes).status();
      case AvroKind::kEnum:
        return Number(0, static_cast<std::int64_t>(type.words.size()) - 1, "a symbol's position")
            .status();
      case AvroKind::kUnion:
        return Union(type);
      case AvroKind::kRecord:
        return Record(type);
      case AvroKind::kArray:
      case AvroKind::kMap:
        return Blocks(type);
    }
    return Internal("no such Avro type");
  }

  Status Record(const AvroType& type) {
    for (std::size_t i = 0; i < type.parts.size(); ++i) {
      const AvroPath::Scope scope(&path_, "." + type.words[i]);
      SLUICE_RETURN_IF_ERROR(Value(type.parts[i]));
    }
    return {};
  }

  Status Union(const AvroType& type) {
    SLUICE_ASSIGN_OR_RETURN(
        const std::int64_t branch,
        Number(0, static_cast<std::int64_t>(type.parts.size()) - 1, "a branch's position"));
    const AvroPath::Scope scope(&path_, "");
    return Value(type.parts[static_cast<std::size_t>(branch)]);
  }

  // Blocks of items, each after its count; a negative count is followed by the block's
  // size in bytes. A count of zero ends them.
  Status Blocks(const AvroType& type) {
    const AvroPath::Scope scope(&path_, "[]");
    while (true) {
      SLUICE_ASSIGN_OR_RETURN(std::int64_t count, Long("a block's count"));
      if (count == 0) return {};
      std::int64_t size = -1;
      if (count < 0) {
        if (count == std::numeric_limits<std::int64_t>::min()) return path_.Error("no such count");
        count = -count;
        SLUICE_ASSIGN_OR_RETURN(size, Number(0, static_cast<std::int64_t>(left_.size()),
                                             "a block's size within the message"));
      }
      const std::size_t before = left_.size();
      for (; count > 0; --count) {
        if (type.kind == AvroKind::kMap) SLUICE_RETURN_IF_ERROR(String());
        SLUICE_RETURN_IF_ERROR(Value(type.parts[0]));
      }
      if (size >= 0 && before - left_.size() != static_cast<std::size_t>(size)) {
        return path_.Error(
            fmt::format("a block of {} bytes says it has {}", before - left_.size(), size));
      }
    }
  }

  Status Boolean() {
    SLUICE_ASSIGN_OR_RETURN(const std::string_view byte, Take(1));
    return byte[0] == 0 || byte[0] == 1 ? Status() : path_.Error("expected a boolean of 0 or 1");
  }

  Status String() {
    SLUICE_ASSIGN_OR_RETURN(const std::string_view text, Bytes());
    return IsUtf8(text) ? Status() : path_.Error("expected a string in UTF-8");
  }

  StatusOr<std::string_view> Bytes() {
    SLUICE_ASSIGN_OR_RETURN(
        const std::int64_t size,
        Number(0, static_cast<std::int64_t>(left_.size()), "a length within the message"));
    return Take(static_cast<std::size_t>(size));
  }

  StatusOr<std::int64_t> Number(std::int64_t least, std::int64_t most, std::string_view what) {
    SLUICE_ASSIGN_OR_RETURN(const std::int64_t number, Long(what));
    if (number >= least && number <= most) return number;
    return path_.Error(
        fmt::format("expected {} from {} to {}, found {}", what, least, most, number));
  }

  // Seven bits a byte, the lowest first, the sign in the lowest bit.
  StatusOr<std::int64_t> Long(std::string_view what) {
    std::uint64_t bits = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      SLUICE_ASSIGN_OR_RETURN(const std::string_view one, Take(1));
      const auto byte = static_cast<std::uint8_t>(one[0]);
      if (shift == 63 && byte > 1) break;
      bits |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return static_cast<std::int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
    }
    return path_.Error(fmt::format("expected {} of at most 64 bits", what));
  }

  StatusOr<std::string_view> Take(std::size_t bytes) {
    if (bytes > left_.size()) {
      return path_.Error(
          fmt::format("the message ends: {} bytes are left of {}", left_.size(), bytes));
    }
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }

  const AvroTypes& types_;
  std::string_view left_;
  std::size_t values_left_;
  AvroPath path_;
};

}  // namespace

Status ValidateAvroBinary(const AvroTypes& types, std::string_view data) {
  return BinaryWalk(types, data).Message();
}

}  // namespace sluice::front

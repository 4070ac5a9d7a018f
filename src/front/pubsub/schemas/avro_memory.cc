// SPDX-License-Identifier: Apache-2.0
#include "front/pubsub/schemas/avro_memory.h"

#include <avro.h>

#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/status.h"

namespace sluice::front {
namespace {

// Before each block: its neighbours in its scope's ring, none for a block of no scope.
struct alignas(std::max_align_t) Block {
  Block* before = nullptr;
  Block* after = nullptr;
};

struct Ring {
  Block head{&head, &head};
  int blocks = 0;
  bool open = false;
};
thread_local Ring ring;

void Link(Block* block) {
  *block = {ring.head.before, &ring.head};
  block->before->after = block;
  ring.head.before = block;
  ++ring.blocks;
}

void Unlink(Block* block) {
  if (block->after == nullptr) return;
  block->before->after = block->after;
  block->after->before = block->before;
  --ring.blocks;
}

// In the library's form: `bytes` of zero frees, no `pointer` takes anew.
void* Allocate(void* /*user_data*/, void* pointer, std::size_t bytes_before, std::size_t bytes) {
  static_cast<void>(bytes_before);
  Block* old = pointer == nullptr ? nullptr : static_cast<Block*>(pointer) - 1;
  const bool counted = old == nullptr ? ring.open : old->after != nullptr;
  if (old != nullptr) Unlink(old);
  if (bytes == 0) {
    std::free(old);
    return nullptr;
  }
  auto* block = static_cast<Block*>(std::realloc(old, sizeof(Block) + bytes));
  SLUICE_CHECK(block != nullptr, "no memory left");
  *block = Block();
  if (counted) Link(block);
  return block + 1;
}

}  // namespace

AvroMemory::AvroMemory() {
  static const bool kInstalled = [] {
    avro_set_allocator(&Allocate, nullptr);
    return true;
  }();
  static_cast<void>(kInstalled);
  SLUICE_CHECK(!ring.open, "scopes of Avro's memory do not nest");
  avro_strerror();  // makes this thread's place for errors, which stays
  ring.open = true;
}

AvroMemory::~AvroMemory() {
  ring.open = false;
  while (ring.head.after != &ring.head) {
    Block* block = ring.head.after;
    Unlink(block);
    std::free(block);
  }
}

int AvroMemory::Blocks() { return ring.blocks; }

}  // namespace sluice::front

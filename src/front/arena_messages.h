// SPDX-License-Identifier: Apache-2.0
#pragma once

// Request and response of one unary call on one arena. A CreateTask request is a
// dozen small objects that live and die together: one block for all of them is
// cheaper than an allocation each. The strings' bytes stay on the heap, so a
// service may still move a body out of its request.
//
// Threading: gRPC asks for messages on its own threads; nothing is shared.
// Ownership: gRPC releases a holder when its call is done.

#include <google/protobuf/arena.h>
#include <grpcpp/support/message_allocator.h>

#include <array>
#include <cstddef>

namespace sluice::front {

template <typename Request, typename Response>
class ArenaMessages final : public grpc::MessageAllocator<Request, Response> {
 public:
  grpc::MessageHolder<Request, Response>* AllocateMessages() override { return new Holder; }

 private:
  /// Enough for a task with some headers; a larger one makes the arena grow.
  static constexpr std::size_t kBlockBytes = 3072;

  class Holder final : public grpc::MessageHolder<Request, Response> {
   public:
    Holder() : arena_(block_.data(), block_.size()) {
      this->set_request(google::protobuf::Arena::CreateMessage<Request>(&arena_));
      this->set_response(google::protobuf::Arena::CreateMessage<Response>(&arena_));
    }
    void Release() override { delete this; }

   private:
    alignas(std::max_align_t) std::array<char, kBlockBytes> block_;
    google::protobuf::Arena arena_;
  };
};

}  // namespace sluice::front

// SPDX-License-Identifier: Apache-2.0
#include "sluice/gcp/channel_pool.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

namespace sluice::gcp {
namespace {

constexpr int kKeepAliveTimeMs = 60'000;
constexpr int kKeepAliveTimeoutMs = 20'000;
constexpr int kReconnectFirstMs = 100;
constexpr int kReconnectMaxMs = 5'000;

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveTimeMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepAliveTimeoutMs);
  arguments.SetMaxReceiveMessageSize(-1);
  // Whoever calls decides about retries and counts them.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectFirstMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kReconnectFirstMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMaxMs);
  return arguments;
}

}  // namespace

struct ChannelPool::Slot {
  std::shared_ptr<grpc::Channel> channel;
  std::atomic<int> calls{0};
};

ChannelPool::ChannelPool(std::vector<std::unique_ptr<Slot>> slots, Choice choice)
    : slots_(std::move(slots)), choice_(choice) {}
ChannelPool::~ChannelPool() = default;

StatusOr<std::unique_ptr<ChannelPool>> ChannelPool::Make(const ServiceAddress& address,
                                                         int channels, Choice choice) {
  if (channels < 1) {
    return InvalidArgument("a channel pool needs at least 1 channel, not {}", channels);
  }
  SLUICE_ASSIGN_OR_RETURN(const auto credentials, MakeChannelCredentials(address.credentials));
  std::vector<std::unique_ptr<Slot>> slots;
  for (int i = 0; i < channels; ++i) {
    slots.push_back(std::make_unique<Slot>());
    slots.back()->channel = grpc::CreateCustomChannel(address.target, credentials, Arguments());
  }
  return std::unique_ptr<ChannelPool>(new ChannelPool(std::move(slots), choice));
}

const std::shared_ptr<grpc::Channel>& ChannelPool::channel(std::size_t index) const {
  return slots_[index]->channel;
}

std::size_t ChannelPool::Acquire() {
  const std::size_t begin = next_.fetch_add(1, std::memory_order_relaxed) % slots_.size();
  std::size_t best = begin;
  if (choice_ == Choice::kLeastLoaded) {
    // The turn moves on with each call, so that equal loads take turns.
    int best_calls = slots_[begin]->calls.load(std::memory_order_relaxed);
    for (std::size_t i = 1; i < slots_.size() && best_calls > 0; ++i) {
      const std::size_t index = (begin + i) % slots_.size();
      const int calls = slots_[index]->calls.load(std::memory_order_relaxed);
      if (calls >= best_calls) continue;
      best = index;
      best_calls = calls;
    }
  }
  slots_[best]->calls.fetch_add(1, std::memory_order_relaxed);
  return best;
}

void ChannelPool::Release(std::size_t index) {
  slots_[index]->calls.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace sluice::gcp

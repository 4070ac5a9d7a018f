// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/testing/machine_engine.h"

#include <algorithm>
#include <variant>
#include <vector>

namespace sluice::front::testing {
namespace {

template <typename T>
engine::Reply ToReply(StatusOr<T> result) {
  if (!result.ok()) return result.status();
  return engine::Result(*std::move(result));
}

engine::Reply ToReply(const Status& status) {
  if (!status.ok()) return status;
  return engine::Result();
}

// What the command does to the machine.
struct Runner {
  core::testing::MachineHarness& harness;
  core::TaskMachine& machine = harness.machine();
  Time now = harness.now();

  engine::Reply operator()(engine::CreateQueue& c) {
    return ToReply(machine.CreateQueue(c.name, c.settings, now));
  }
  engine::Reply operator()(engine::UpdateQueue& c) {
    return ToReply(machine.UpdateQueue(c.name, c.patch, now));
  }
  engine::Reply operator()(engine::GetQueue& c) { return ToReply(machine.GetQueue(c.name)); }
  engine::Reply operator()(engine::ListQueues& c) {
    return engine::Result(machine.ListQueues(c.parent, c.after_id, c.count_max));
  }
  engine::Reply operator()(engine::DeleteQueue& c) {
    return ToReply(machine.DeleteQueue(c.name, now));
  }
  engine::Reply operator()(engine::PauseQueue& c) {
    return ToReply(machine.PauseQueue(c.name, now));
  }
  engine::Reply operator()(engine::ResumeQueue& c) {
    return ToReply(machine.ResumeQueue(c.name, now));
  }
  engine::Reply operator()(engine::PurgeQueue& c) {
    return ToReply(machine.PurgeQueue(c.name, now));
  }
  engine::Reply operator()(engine::SetAccessPolicy& c) {
    return ToReply(machine.SetAccessPolicy(c.name, c.policy, c.etag));
  }
  engine::Reply operator()(engine::CreateTask& c) {
    return ToReply(machine.CreateTask(c.queue, std::move(c.task), now));
  }
  engine::Reply operator()(engine::GetTask& c) { return ToReply(machine.GetTask(c.name, now)); }
  engine::Reply operator()(engine::DeleteTask& c) {
    return ToReply(machine.DeleteTask(c.name, now));
  }
  engine::Reply operator()(engine::RunTask& c) { return ToReply(machine.RunTask(c.name, now)); }
  engine::Reply operator()(engine::ExplainTask& c) {
    return ToReply(machine.ExplainTask(c.name, now));
  }
  engine::Reply operator()(engine::ListDeadLetters& c) {
    return ToReply(machine.ListDeadLetters(c.queue, c.selection, now));
  }
  engine::Reply operator()(engine::RedriveDeadLetters& c) {
    return ToReply(machine.RedriveDeadLetters(c.queue, c.selection, now));
  }
  engine::Reply operator()(engine::DeleteDeadLetters& c) {
    return ToReply(machine.DeleteDeadLetters(c.queue, c.selection, now));
  }
  engine::Reply operator()(engine::ListTasks& c) {
    const auto listing = machine.BeginListing(c.queue, now);
    if (!listing.ok()) return listing.status();
    engine::TaskPage page;
    const auto& tasks = harness.ledger().queues().at(listing->queue).tasks;
    for (auto it = tasks.upper_bound(std::max(c.after, listing->purged_through)); it != tasks.end();
         ++it) {
      if (it->second.body->create_time <= listing->created_after) continue;
      if (page.tasks.size() == c.count_max) {
        page.next_after = page.tasks.back().body->sequence;
        break;
      }
      page.tasks.push_back(it->second);
    }
    return engine::Result(std::move(page));
  }
  engine::Reply operator()(engine::CollectStats& c) {
    std::vector<engine::NamedStats> all;
    for (const QueueName& name : c.queues ? *c.queues : machine.QueueNames()) {
      const auto queue = machine.GetQueue(name);
      if (queue.ok()) all.push_back({name, queue->state, machine.Stats(name, now).value()});
    }
    return engine::Result(std::move(all));
  }
};

}  // namespace

Status MachineEngine::Backup(const std::string& dir) {
  return Unimplemented("no backup into {}", dir);
}

engine::Reply MachineEngine::Run(engine::Command& command) {
  ++command_count_;
  if (failure_) return *std::exchange(failure_, std::nullopt);
  engine::Reply reply = std::visit(Runner{*harness_}, command);
  if (is_settling_) harness_->Settle();
  return reply;
}

void MachineEngine::Submit(engine::Command command, engine::Done done) {
  std::unique_lock lock(mutex_);
  engine::Reply reply = Run(command);
  if (is_holding_) {
    held_.emplace_back(std::move(done), std::move(reply));
    return;
  }
  lock.unlock();  // what follows may submit again
  done(std::move(reply));
}

void MachineEngine::ReleaseReplies() {
  std::deque<std::pair<engine::Done, engine::Reply>> held;
  {
    const std::scoped_lock lock(mutex_);
    is_holding_ = false;
    held.swap(held_);
  }
  for (auto& [done, reply] : held) done(std::move(reply));
}

}  // namespace sluice::front::testing

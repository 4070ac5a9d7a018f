// SPDX-License-Identifier: Apache-2.0
#pragma once

// The listings of the task service; included by service.cc alone.

#include <algorithm>
#include <string>
#include <utility>

#include "base/codec.h"
#include "env/clock.h"
#include "front/errors.h"
#include "front/tasks/engine_call.h"
#include "front/tasks/filter.h"
#include "front/tasks/methods.h"
#include "front/tasks/names.h"
#include "front/tasks/page_token.h"
#include "front/tasks/queue_codec.h"
#include "front/tasks/service.h"
#include "front/tasks/service_queues_inl.h"

namespace sluice::front {
namespace internal {

// A filtered page looks at this many queues at most, so that a rare match does
// not hold up the lane; the token goes on behind them.
inline constexpr std::size_t kFilteredScanMax = 2000;

template <typename Api>
Listing ListingOf(const typename Api::ListQueuesRequest& request) {
  static const std::string kMethod = fmt::format("tasks.{}.ListQueues", Api::kVersion);
  return {kMethod, request.parent(), request.filter()};
}

template <typename Api>
Listing ListingOf(const typename Api::ListTasksRequest& request) {
  static const std::string kMethod = fmt::format("tasks.{}.ListTasks", Api::kVersion);
  return {kMethod, request.parent(), {}};
}

struct QueueListing {
  engine::ListQueues command;
  Filter filter;
  ShownFields shown;
  std::size_t page_size = 0;
};

template <typename Api>
StatusOr<QueueListing> DecodeListQueues(const typename Api::ListQueuesRequest& request, Time now) {
  QueueListing listing;
  SLUICE_ASSIGN_OR_RETURN(listing.command.parent, ReadLocationName(request.parent(), "parent"));
  SLUICE_ASSIGN_OR_RETURN(listing.page_size, PageSize(request.page_size(), kQueuesPageMax));
  SLUICE_ASSIGN_OR_RETURN(listing.filter,
                          Filter::Parse(request.filter(), *Api::Queue::descriptor()));
  SLUICE_ASSIGN_OR_RETURN(listing.shown, DecodeReadMask<Api>(request));
  SLUICE_ASSIGN_OR_RETURN(listing.command.after_id,
                          ReadPageToken(ListingOf<Api>(request), request.page_token(), now));
  // One more than the page holds tells whether another page follows.
  listing.command.count_max = listing.page_size + 1;
  if (!listing.filter.matches_everything()) {
    listing.command.count_max = std::max(listing.command.count_max, kFilteredScanMax);
  }
  return listing;
}

// Fills a page and answers with the id it ends at; empty when the listing is
// complete. `stats` follow the order of `queues`, maybe with gaps.
template <typename Response>
std::string EncodeQueuePage(const std::vector<core::Queue>& queues,
                            const std::vector<engine::NamedStats>& stats,
                            const QueueListing& listing, Response& response) {
  const core::Queue* last = nullptr;
  auto next_stats = stats.begin();
  for (const core::Queue& queue : queues) {
    auto* out = response.add_queues();
    EncodeQueue(queue, out);
    if (next_stats != stats.end() && next_stats->name == queue.name) {
      EncodeQueueStats((next_stats++)->stats, out);
    }
    const bool is_match = listing.filter.Matches(*out);
    const bool is_page_full = static_cast<std::size_t>(response.queues_size()) > listing.page_size;
    listing.shown.mask.Trim(out);
    if (!is_match || is_page_full) response.mutable_queues()->RemoveLast();
    if (is_match && is_page_full) return last->name.queue_id;
    last = &queue;
  }
  return queues.size() < listing.command.count_max ? std::string() : last->name.queue_id;
}

inline std::vector<QueueName> NamesOf(const std::vector<core::Queue>& queues) {
  std::vector<QueueName> names;
  names.reserve(queues.size());
  for (const core::Queue& queue : queues) names.push_back(queue.name);
  return names;
}

struct TaskListing {
  engine::ListTasks command;
  TaskView view = TaskView::kBasic;
};

template <typename Api>
StatusOr<TaskListing> DecodeListTasks(const typename Api::ListTasksRequest& request, Time now) {
  TaskListing listing;
  SLUICE_ASSIGN_OR_RETURN(listing.command.queue, ReadQueueName(request.parent(), "parent"));
  SLUICE_ASSIGN_OR_RETURN(listing.view, DecodeView(request.response_view()));
  SLUICE_ASSIGN_OR_RETURN(listing.command.count_max, PageSize(request.page_size(), kTasksPageMax));
  SLUICE_ASSIGN_OR_RETURN(const std::string cursor,
                          ReadPageToken(ListingOf<Api>(request), request.page_token(), now));
  if (!cursor.empty()) {
    ByteReader reader(cursor);
    listing.command.after = reader.Varint();
    SLUICE_CHECK(reader.done(), "a page token of ours holds another cursor than ours");
  }
  return listing;
}

// Fills a page and answers with the sequence it ends at; zero when the listing
// is complete.
template <typename Response>
core::Sequence EncodeTaskPage(const engine::TaskPage& page, std::string_view queue_name,
                              TaskView view, Response& response) {
  std::size_t bytes = 0;
  core::Sequence last = 0;
  for (const core::Task& task : page.tasks) {
    auto* out = response.add_tasks();
    EncodeTask(FullTaskName(queue_name, task.body->task_id), task, view, out);
    bytes += out->ByteSizeLong();
    if (bytes > kTasksPageBytesMax && response.tasks_size() > 1) {
      response.mutable_tasks()->RemoveLast();
      return last;
    }
    last = task.body->sequence;
  }
  return page.next_after;
}

}  // namespace internal

template <typename Api>
void TasksService<Api>::ListQueues(typename Api::ListQueuesRequest& request,
                                   typename Api::ListQueuesResponse& response, Call& call) {
  const auto work = [this, &request, &response](const Context& context) {
    const Time now = clock_->Now();
    StatusOr<internal::QueueListing> decoded = internal::DecodeListQueues<Api>(request, now);
    if (!decoded.ok()) return flow_.End(context, decoded.status());
    engine::ListQueues command = decoded->command;
    auto encode = [this, now, &request, &response, listing = *std::move(decoded)](
                      const Context& going_on, engine::Result& result) mutable {
      auto queues = std::move(Expect<std::vector<core::Queue>>(result));
      const bool needs_stats = listing.shown.has_stats || listing.filter.Touches("stats");
      std::vector<QueueName> names;
      if (needs_stats) names = internal::NamesOf(queues);
      WithStats(going_on, needs_stats, std::move(names),
                [this, now, &request, &response, listing = std::move(listing),
                 queues = std::move(queues)](const Context& ending, const auto& stats) {
                  const std::string last =
                      internal::EncodeQueuePage(queues, stats, listing, response);
                  if (!last.empty()) {
                    response.set_next_page_token(
                        MakePageToken(internal::ListingOf<Api>(request), last, now));
                  }
                  flow_.End(ending, absl::OkStatus());
                });
    };
    SubmitCommand(*engine_, flow_, context, std::move(command), kLocationType, std::move(encode));
  };
  flow_.Begin(kTasksMethods<Api>[kListQueues], request.parent(), call, work);
}

template <typename Api>
void TasksService<Api>::ListTasks(typename Api::ListTasksRequest& request,
                                  typename Api::ListTasksResponse& response, Call& call) {
  const auto work = [this, &request, &response](const Context& context) {
    const Time now = clock_->Now();
    StatusOr<internal::TaskListing> listing = internal::DecodeListTasks<Api>(request, now);
    if (!listing.ok()) return flow_.End(context, listing.status());
    auto encode = [this, now, view = listing->view, &request, &response](const Context& ending,
                                                                         engine::Result& result) {
      const core::Sequence last = internal::EncodeTaskPage(Expect<engine::TaskPage>(result),
                                                           request.parent(), view, response);
      if (last != 0) {
        std::string cursor;
        ByteWriter(&cursor).Varint(last);
        response.set_next_page_token(MakePageToken(internal::ListingOf<Api>(request), cursor, now));
      }
      flow_.End(ending, absl::OkStatus());
    };
    SubmitCommand(*engine_, flow_, context, std::move(listing->command), kQueueType,
                  std::move(encode));
  };
  flow_.Begin(kTasksMethods<Api>[kListTasks], request.parent(), call, work);
}

}  // namespace sluice::front

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include "base/codec.h"
#include "env/clock.h"
#include "front/errors.h"
#include "front/tasks/engine_call.h"
#include "front/tasks/filter.h"
#include "front/tasks/methods_v2.h"
#include "front/tasks/names.h"
#include "front/tasks/page_token.h"
#include "front/tasks/queue_codec.h"
#include "front/tasks/service_v2.h"

namespace sluice::front {
namespace {

namespace v2 = google::cloud::tasks::v2;

// A filtered page looks at this many queues at most, so that a rare match does
// not hold up the lane; the token goes on behind them.
constexpr std::size_t kFilteredScanMax = 2000;

// Zero asks for the largest page; more than that is cut to it (spec 1.9).
StatusOr<std::size_t> PageSize(std::int32_t asked, std::int32_t limit) {
  if (asked < 0) {
    return AtField("page_size", InvalidArgument("page_size is {}; it cannot be negative", asked));
  }
  return static_cast<std::size_t>(asked == 0 ? limit : std::min(asked, limit));
}

Listing ListingOf(const v2::ListQueuesRequest& request) {
  return {"tasks.v2.ListQueues", request.parent(), request.filter()};
}

Listing ListingOf(const v2::ListTasksRequest& request) {
  return {"tasks.v2.ListTasks", request.parent(), {}};
}

struct QueueListing {
  engine::ListQueues command;
  Filter filter;
  std::size_t page_size = 0;
};

StatusOr<QueueListing> DecodeListQueues(const v2::ListQueuesRequest& request, Time now) {
  QueueListing listing;
  SLUICE_ASSIGN_OR_RETURN(listing.command.parent, ReadLocationName(request.parent(), "parent"));
  SLUICE_ASSIGN_OR_RETURN(listing.page_size, PageSize(request.page_size(), kQueuesPageMax));
  SLUICE_ASSIGN_OR_RETURN(listing.filter,
                          Filter::Parse(request.filter(), *v2::Queue::descriptor()));
  SLUICE_ASSIGN_OR_RETURN(listing.command.after_id,
                          ReadPageToken(ListingOf(request), request.page_token(), now));
  // One more than the page holds tells whether another page follows.
  listing.command.count_max = listing.page_size + 1;
  if (!listing.filter.matches_everything()) {
    listing.command.count_max = std::max(listing.command.count_max, kFilteredScanMax);
  }
  return listing;
}

// Fills a page and answers with the id it ends at; empty when the listing is complete.
std::string EncodeQueuePage(const std::vector<core::Queue>& queues, const Filter& filter,
                            std::size_t page_size, std::size_t count_max,
                            v2::ListQueuesResponse& response) {
  const core::Queue* last = nullptr;
  for (const core::Queue& queue : queues) {
    v2::Queue* out = response.add_queues();
    EncodeQueue(queue, out);
    const bool is_match = filter.Matches(*out);
    const bool is_page_full = static_cast<std::size_t>(response.queues_size()) > page_size;
    if (!is_match || is_page_full) response.mutable_queues()->RemoveLast();
    if (is_match && is_page_full) return last->name.queue_id;
    last = &queue;
  }
  return queues.size() < count_max ? std::string() : last->name.queue_id;
}

struct TaskListing {
  engine::ListTasks command;
  TaskView view = TaskView::kBasic;
};

StatusOr<TaskListing> DecodeListTasks(const v2::ListTasksRequest& request, Time now) {
  TaskListing listing;
  SLUICE_ASSIGN_OR_RETURN(listing.command.queue, ReadQueueName(request.parent(), "parent"));
  SLUICE_ASSIGN_OR_RETURN(listing.view, DecodeView(request.response_view()));
  SLUICE_ASSIGN_OR_RETURN(listing.command.count_max, PageSize(request.page_size(), kTasksPageMax));
  SLUICE_ASSIGN_OR_RETURN(const std::string cursor,
                          ReadPageToken(ListingOf(request), request.page_token(), now));
  if (!cursor.empty()) {
    ByteReader reader(cursor);
    listing.command.after = reader.Varint();
    SLUICE_CHECK(reader.done(), "a page token of ours holds another cursor than ours");
  }
  return listing;
}

// Fills a page and answers with the sequence it ends at; zero when the listing
// is complete.
core::Sequence EncodeTaskPage(const engine::TaskPage& page, std::string_view queue_name,
                              TaskView view, v2::ListTasksResponse& response) {
  std::size_t bytes = 0;
  core::Sequence last = 0;
  for (const core::Task& task : page.tasks) {
    v2::Task* out = response.add_tasks();
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

}  // namespace

void TasksServiceV2::ListQueues(v2::ListQueuesRequest& request, v2::ListQueuesResponse& response,
                                Call& call) {
  flow_.Begin(kTasksV2Methods[kListQueues], request.parent(), call,
              [this, &request, &response](const Context& context) {
                const Time now = clock_->Now();
                StatusOr<QueueListing> listing = DecodeListQueues(request, now);
                if (!listing.ok()) return flow_.End(context, listing.status());
                engine::ListQueues command = listing->command;
                SubmitCommand(
                    *engine_, flow_, context, std::move(command), kLocationType,
                    [this, now, &request, &response, listing = *std::move(listing)](
                        const Context& ending, engine::Result& result) {
                      const std::string last =
                          EncodeQueuePage(Expect<std::vector<core::Queue>>(result), listing.filter,
                                          listing.page_size, listing.command.count_max, response);
                      if (!last.empty()) {
                        response.set_next_page_token(MakePageToken(ListingOf(request), last, now));
                      }
                      flow_.End(ending, absl::OkStatus());
                    });
              });
}

void TasksServiceV2::ListTasks(v2::ListTasksRequest& request, v2::ListTasksResponse& response,
                               Call& call) {
  flow_.Begin(kTasksV2Methods[kListTasks], request.parent(), call,
              [this, &request, &response](const Context& context) {
                const Time now = clock_->Now();
                StatusOr<TaskListing> listing = DecodeListTasks(request, now);
                if (!listing.ok()) return flow_.End(context, listing.status());
                SubmitCommand(*engine_, flow_, context, std::move(listing->command), kQueueType,
                              [this, now, view = listing->view, &request, &response](
                                  const Context& ending, engine::Result& result) {
                                const core::Sequence last =
                                    EncodeTaskPage(Expect<engine::TaskPage>(result),
                                                   request.parent(), view, response);
                                if (last != 0) {
                                  std::string cursor;
                                  ByteWriter(&cursor).Varint(last);
                                  response.set_next_page_token(
                                      MakePageToken(ListingOf(request), cursor, now));
                                }
                                flow_.End(ending, absl::OkStatus());
                              });
              });
}

}  // namespace sluice::front

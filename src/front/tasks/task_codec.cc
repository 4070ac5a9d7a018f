// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/task_codec.h"

#include <utility>

#include "core/tasks/task_id.h"
#include "front/errors.h"
#include "front/tasks/names.h"
#include "front/tasks/queue_codec.h"
#include "front/tasks/time_codec.h"

namespace sluice::front {
namespace {

constexpr Duration kDispatchDeadlineDefault = absl::Minutes(10);
constexpr Duration kDispatchDeadlineMin = absl::Seconds(15);
constexpr Duration kDispatchDeadlineMax = absl::Minutes(30);
constexpr Duration kAppEngineDeadlineMax = absl::Seconds(24 * 60 * 60 + 15);

template <typename Task>
Status RefusePull(const Task& task) {
  if constexpr (requires { task.pull_message(); }) {
    if (task.has_pull_message()) {
      return AtField("task.pull_message", InvalidArgument("task.pull_message is output only: a "
                                                          "pull task cannot be created"));
    }
  }
  return absl::OkStatus();
}

// The id in the task's own name; empty when it has none.
template <typename Task>
StatusOr<std::string> DecodeTaskId(const Task& task, const QueueName& queue,
                                   std::string_view parent) {
  if (task.name().empty()) return std::string();
  SLUICE_ASSIGN_OR_RETURN(TaskName name, ReadTaskName(task.name(), "task.name"));
  if (name.queue != queue) {
    return AtField("task.name", InvalidArgument("task.name: the queue of the request (\"{}\") is "
                                                "not the queue in the task's name (\"{}\")",
                                                parent, name.queue.ToString()));
  }
  return std::move(name.task_id);
}

// Spec 3.4. Zero for an App Engine task that leaves it to the service.
template <typename Task>
StatusOr<Duration> DecodeDispatchDeadline(const Task& task, bool is_app_engine) {
  if (!task.has_dispatch_deadline()) {
    return is_app_engine ? absl::ZeroDuration() : kDispatchDeadlineDefault;
  }
  SLUICE_ASSIGN_OR_RETURN(const Duration deadline,
                          DecodeSpan(task.dispatch_deadline(), "task.dispatch_deadline"));
  if (is_app_engine && deadline == absl::ZeroDuration()) return deadline;
  const Duration most = is_app_engine ? kAppEngineDeadlineMax : kDispatchDeadlineMax;
  if (deadline < kDispatchDeadlineMin || deadline > most) {
    return AtField(
        "task.dispatch_deadline",
        InvalidArgument("task.dispatch_deadline is {}; allowed are {} to {}",
                        absl::FormatDuration(deadline), absl::FormatDuration(kDispatchDeadlineMin),
                        absl::FormatDuration(most)));
  }
  return absl::Trunc(deadline, absl::Milliseconds(1));
}

template <typename Attempt>
void EncodeAttempt(const core::Attempt& attempt, Attempt* out) {
  EncodeTime(attempt.schedule_time, out->mutable_schedule_time());
  EncodeTime(attempt.dispatch_time, out->mutable_dispatch_time());
  if (!attempt.response_time) return;
  EncodeTime(*attempt.response_time, out->mutable_response_time());
  out->mutable_response_status()->set_code(attempt.status.code);
  out->mutable_response_status()->set_message(attempt.status.message);
}

}  // namespace

StatusOr<TaskView> DecodeView(int view) {
  switch (view) {
    case tasks_v2::Task::VIEW_UNSPECIFIED:
    case tasks_v2::Task::BASIC:
      return TaskView::kBasic;
    case tasks_v2::Task::FULL:
      return TaskView::kFull;
    default:
      return AtField("response_view", InvalidArgument("response_view: {} names no view", view));
  }
}

template <typename Task>
StatusOr<core::NewTask> DecodeNewTask(Task& task, const QueueName& queue, std::string_view parent) {
  core::NewTask out;
  SLUICE_RETURN_IF_ERROR(RefusePull(task));
  SLUICE_ASSIGN_OR_RETURN(out.task_id, DecodeTaskId(task, queue, parent));
  SLUICE_ASSIGN_OR_RETURN(out.request, DecodeTarget(task, queue.location));
  SLUICE_ASSIGN_OR_RETURN(out.dispatch_deadline,
                          DecodeDispatchDeadline(task, out.request.app_engine.has_value()));
  if (task.has_schedule_time()) {
    SLUICE_ASSIGN_OR_RETURN(const Time time,
                            DecodeTime(task.schedule_time(), "task.schedule_time"));
    out.schedule_time = FloorToMicros(time);
  }
  return out;
}

bool IsTaskSizeNear(const core::NewTask& task, std::string_view queue_name) {
  // Tags, lengths, times and retry settings; far more than they can take.
  constexpr std::size_t kFixedBytesMax = 1024;
  constexpr std::size_t kHeaderFixedBytesMax = 32;
  std::size_t bytes = kFixedBytesMax + queue_name.size() + kTaskIdLengthMax +
                      task.request.url.size() + task.request.body.size();
  if (task.request.app_engine) {
    const core::AppEngineRouting& routing = *task.request.app_engine;
    bytes += routing.service.size() + routing.version.size() + routing.instance.size() +
             routing.host.size();
  }
  if (const auto* oauth = std::get_if<core::OAuthToken>(&task.request.token)) {
    bytes += oauth->service_account_email.size() + oauth->scope.size();
  } else if (const auto* oidc = std::get_if<core::OidcToken>(&task.request.token)) {
    bytes += oidc->service_account_email.size() + oidc->audience.size();
  }
  for (const core::Header& header : task.request.headers) {
    bytes += header.name.size() + header.value.size() + kHeaderFixedBytesMax;
  }
  return bytes > kTaskBytesMax;
}

Status CheckTaskSize(const core::NewTask& task, std::string_view queue_name, Time now) {
  tasks_v2::Task stored;  // as large as in v2beta3
  const std::string_view any_id = "0000000000000000000";
  static_assert(core::kGeneratedIdLength == 19);
  stored.set_name(FullTaskName(queue_name, task.task_id.empty() ? any_id : task.task_id));
  EncodeTarget(task.request, TaskView::kFull, &stored);
  if (task.schedule_time && *task.schedule_time > now) {
    EncodeTime(*task.schedule_time, stored.mutable_schedule_time());
  } else {
    // Its digits are known only when the core sets it: take the longest.
    EncodeTime(FloorToSeconds(now) + absl::Microseconds(999'999), stored.mutable_schedule_time());
  }
  EncodeTime(FloorToSeconds(now), stored.mutable_create_time());
  if (task.dispatch_deadline != absl::ZeroDuration()) {
    EncodeSpan(task.dispatch_deadline, stored.mutable_dispatch_deadline());
  }
  if (task.retry) EncodeRetry(*task.retry, stored.mutable_retry_config());
  if (const std::size_t bytes = stored.ByteSizeLong(); bytes > kTaskBytesMax) {
    return AtField("task", InvalidArgument("task would take {} bytes as stored; allowed are {}",
                                           bytes, kTaskBytesMax));
  }
  return absl::OkStatus();
}

template <typename Task>
void EncodeTaskFrame(std::string name, const core::Task& task, TaskView view, Task* out) {
  const core::TaskBody& body = *task.body;
  const core::TaskProgress& progress = task.progress;
  out->set_name(std::move(name));
  EncodeTime(progress.schedule_time, out->mutable_schedule_time());
  EncodeTime(FloorToSeconds(body.create_time), out->mutable_create_time());
  if (body.dispatch_deadline != absl::ZeroDuration()) {
    EncodeSpan(body.dispatch_deadline, out->mutable_dispatch_deadline());
  }
  out->set_dispatch_count(progress.dispatch_count);
  out->set_response_count(progress.response_count);
  if (progress.first_dispatch_time) {
    EncodeTime(*progress.first_dispatch_time,
               out->mutable_first_attempt()->mutable_dispatch_time());
  }
  if (progress.last_attempt) EncodeAttempt(*progress.last_attempt, out->mutable_last_attempt());
  if (body.retry) EncodeRetry(*body.retry, out->mutable_retry_config());
  out->set_view(view == TaskView::kFull ? Task::FULL : Task::BASIC);
}

template <typename Task>
void EncodeTask(std::string name, const core::Task& task, TaskView view, Task* out) {
  EncodeTarget(task.body->request, view, out);
  EncodeTaskFrame(std::move(name), task, view, out);
}

std::string FullTaskName(std::string_view queue_name, std::string_view task_id) {
  constexpr std::string_view kTasks = "/tasks/";
  std::string out;
  out.reserve(queue_name.size() + kTasks.size() + task_id.size());
  out.append(queue_name).append(kTasks).append(task_id);
  return out;
}

template StatusOr<core::NewTask> DecodeNewTask(tasks_v2::Task&, const QueueName&, std::string_view);
template void EncodeTaskFrame(std::string, const core::Task&, TaskView, tasks_v2::Task*);
template void EncodeTask(std::string, const core::Task&, TaskView, tasks_v2::Task*);

template StatusOr<core::NewTask> DecodeNewTask(tasks_v2beta3::Task&, const QueueName&,
                                               std::string_view);
template void EncodeTaskFrame(std::string, const core::Task&, TaskView, tasks_v2beta3::Task*);
template void EncodeTask(std::string, const core::Task&, TaskView, tasks_v2beta3::Task*);

}  // namespace sluice::front

// SPDX-License-Identifier: Apache-2.0
#include "dispatch/curl_reactor.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/status.h"

namespace sluice::dispatch {
namespace {

constexpr int kEventsMax = 512;
constexpr std::uint32_t kReadable = EPOLLIN;
constexpr std::uint32_t kWritable = EPOLLOUT;

void InitialiseLibcurlOnce() {
  static const CURLcode kCode = curl_global_init(CURL_GLOBAL_DEFAULT);
  SLUICE_CHECK(kCode == CURLE_OK, "libcurl does not initialise");
}

}  // namespace

CurlReactor::CurlReactor(const Options& options) : options_(options) {
  InitialiseLibcurlOnce();
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  SLUICE_CHECK(epoll_ >= 0, "cannot create an epoll descriptor");
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  SLUICE_CHECK(wake_ >= 0, "cannot create an event descriptor");
  Register(EPOLL_CTL_ADD, wake_, kReadable);
  // One look-up and one TLS session a host, not one for each cell.
  share_ = curl_share_init();
  SLUICE_CHECK(share_ != nullptr, "cannot create a libcurl share");
  curl_share_setopt(share_, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
  curl_share_setopt(share_, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
}

CurlReactor::~CurlReactor() {
  for (const std::unique_ptr<Cell>& cell : cells_) {
    SLUICE_CHECK(cell->transfers == 0, "transfers outlive their reactor");
    curl_multi_cleanup(cell->multi);
  }
  curl_share_cleanup(share_);
  ::close(wake_);
  ::close(epoll_);
}

void CurlReactor::Prepare(CURL* easy) {
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &OnOpen);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, this);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, &OnClose);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, this);
  curl_easy_setopt(easy, CURLOPT_SHARE, share_);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  // Without this, ending a transfer that looks up a name waits for the look-up.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
}

std::size_t CurlReactor::CellWithRoom() {
  // First fit keeps a small load in one cell, where its connections are.
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (cells_[i]->transfers < options_.transfers_per_cell) return i;
  }
  auto cell = std::make_unique<Cell>();
  cell->reactor = this;
  cell->multi = curl_multi_init();
  SLUICE_CHECK(cell->multi != nullptr, "cannot create a libcurl multi handle");
  curl_multi_setopt(cell->multi, CURLMOPT_SOCKETFUNCTION, &OnSocket);
  curl_multi_setopt(cell->multi, CURLMOPT_SOCKETDATA, cell.get());
  curl_multi_setopt(cell->multi, CURLMOPT_TIMERFUNCTION, &OnTimer);
  curl_multi_setopt(cell->multi, CURLMOPT_TIMERDATA, cell.get());
  curl_multi_setopt(cell->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
  curl_multi_setopt(cell->multi, CURLMOPT_MAXCONNECTS,
                    static_cast<long>(options_.connections_per_cell));
  cells_.push_back(std::move(cell));
  return cells_.size() - 1;
}

std::size_t CurlReactor::Add(CURL* easy) {
  const std::size_t index = CellWithRoom();
  Cell& cell = *cells_[index];
  const CURLMcode code = curl_multi_add_handle(cell.multi, easy);
  SLUICE_CHECK(code == CURLM_OK, curl_multi_strerror(code));
  ++cell.transfers;
  return index;
}

void CurlReactor::Remove(CURL* easy, std::size_t cell) {
  const CURLMcode code = curl_multi_remove_handle(cells_[cell]->multi, easy);
  SLUICE_CHECK(code == CURLM_OK, curl_multi_strerror(code));
  --cells_[cell]->transfers;
}

void CurlReactor::Run(const std::function<bool()>& is_work_waiting, const Completed& completed) {
  std::array<epoll_event, kEventsMax> events;
  // Flag first, question second: work that arrives after the question finds the
  // flag and wakes us.
  is_waiting_.store(true);
  const int timeout = is_work_waiting() ? 0 : WaitMillis();
  const int count = ::epoll_wait(epoll_, events.data(), kEventsMax, timeout);
  is_waiting_.store(false);
  SLUICE_CHECK(count >= 0 || errno == EINTR, "epoll_wait failed");
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    HandleEvent(event.data.fd, event.events);
  }
  FireTimers();
  ReportCompleted(completed);
}

void CurlReactor::HandleEvent(int fd, std::uint32_t events) {
  if (fd == wake_) {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_, &count, sizeof count);
    return;
  }
  Slot& slot = SlotOf(fd);
  if (slot.events == 0) return;  // closed by an earlier event of this batch
  if (!slot.is_wanted) {
    // Bytes or an end on an idle connection: libcurl finds out when it next
    // wants to use it. Until then it must not wake us again and again.
    Register(EPOLL_CTL_DEL, fd, 0);
    slot.events = 0;
    return;
  }
  // An error or a hang-up is reported as readiness: the read or write that
  // follows says what happened, and may still find an answer.
  int what = 0;
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) what |= CURL_CSELECT_IN;
  if ((events & (EPOLLOUT | EPOLLERR)) != 0 && (slot.events & kWritable) != 0) {
    what |= CURL_CSELECT_OUT;
  }
  Cell& cell = *slot.cell;
  cell.is_touched = true;
  int running = 0;
  curl_multi_socket_action(cell.multi, fd, what, &running);
}

void CurlReactor::FireTimers() {
  const SteadyClock::time_point now = SteadyClock::now();
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    Cell& cell = *cells_[i];
    if (!cell.timer.has_value() || *cell.timer > now) continue;
    cell.timer.reset();
    cell.is_touched = true;
    int running = 0;
    curl_multi_socket_action(cell.multi, CURL_SOCKET_TIMEOUT, 0, &running);
  }
}

void CurlReactor::ReportCompleted(const Completed& completed) {
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    Cell& cell = *cells_[i];
    if (!cell.is_touched) continue;
    cell.is_touched = false;
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(cell.multi, &left)) {
      if (message->msg == CURLMSG_DONE) completed(message->easy_handle, message->data.result);
    }
  }
}

int CurlReactor::WaitMillis() const {
  std::optional<SteadyClock::time_point> first;
  for (const std::unique_ptr<Cell>& cell : cells_) {
    if (cell->timer.has_value() && (!first.has_value() || *cell->timer < *first)) {
      first = cell->timer;
    }
  }
  if (!first.has_value()) return -1;
  constexpr std::int64_t kWaitMillisMax = 60'000;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*first - SteadyClock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kWaitMillisMax));
}

void CurlReactor::Wake() {
  if (!is_waiting_.exchange(false)) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t put = ::write(wake_, &one, sizeof one);
}

CurlReactor::Slot& CurlReactor::SlotOf(int fd) {
  const auto index = static_cast<std::size_t>(fd);
  if (index >= slots_.size()) slots_.resize(index + 1);
  return slots_[index];
}

void CurlReactor::Register(int operation, int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  const int result = ::epoll_ctl(epoll_, operation, fd, &event);
  SLUICE_CHECK(result == 0 || operation == EPOLL_CTL_DEL, "epoll_ctl failed");
}

void CurlReactor::Want(Cell* cell, int fd, int what) {
  Slot& slot = SlotOf(fd);
  slot.cell = cell;
  if (what == CURL_POLL_REMOVE) {
    slot.is_wanted = false;
    const bool is_kept = slot.is_connection && slot.events == kReadable;
    if (is_kept || slot.events == 0) return;
    Register(EPOLL_CTL_DEL, fd, 0);
    slot.events = 0;
    return;
  }
  slot.is_wanted = true;
  const std::uint32_t events =
      ((what & CURL_POLL_IN) != 0 ? kReadable : 0) | ((what & CURL_POLL_OUT) != 0 ? kWritable : 0);
  if (slot.events == events) return;
  Register(slot.events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, events);
  slot.events = events;
}

int CurlReactor::OnSocket(CURL*, curl_socket_t fd, int what, void* cell, void*) {
  auto* const owner = static_cast<Cell*>(cell);
  owner->reactor->Want(owner, fd, what);
  return 0;
}

int CurlReactor::OnTimer(CURLM*, long millis, void* cell) {
  auto* const owner = static_cast<Cell*>(cell);
  if (millis < 0) {
    owner->timer.reset();
  } else if (millis == 0) {
    owner->timer = SteadyClock::time_point();  // at once, without asking the clock
  } else {
    owner->timer = SteadyClock::now() + std::chrono::milliseconds(millis);
  }
  return 0;
}

curl_socket_t CurlReactor::OnOpen(void* reactor, curlsocktype, curl_sockaddr* address) {
  auto* const self = static_cast<CurlReactor*>(reactor);
  const int fd = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (fd < 0) return CURL_SOCKET_BAD;
  self->SlotOf(fd) = {.is_connection = true};
  ++self->connections_opened_;
  return fd;
}

int CurlReactor::OnClose(void* reactor, curl_socket_t fd) {
  // Closing takes the descriptor out of epoll.
  static_cast<CurlReactor*>(reactor)->SlotOf(fd) = {};
  return ::close(fd);
}

}  // namespace sluice::dispatch

// SPDX-License-Identifier: Apache-2.0

// The peer of our dispatcher: what a plain libcurl-multi program achieves. POSTs
// of a fixed body to one loopback port, with the headers of a task attempt, a
// fixed number in flight, connections and easy handles reused, no bookkeeping
// beside the latencies.
//
//   sluice_bench_curl_loop --port N [--requests N] [--in-flight N] [--body N]
//                          [--wait poll|epoll|epoll-lazy]
//
// `--wait` is how the loop learns which sockets are ready: curl_multi_poll;
// curl_multi_socket_action over epoll as libcurl's examples do it; or the same
// with an idle connection left registered (see src/dispatch/curl_reactor.h).
//
// Prints one line of figures: rate, CPU time of this process per request,
// latency from the start of a request to its completion.

#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kEventsMax = 512;
constexpr long kTimeoutMillis = 60'000;

struct Settings {
  std::uint64_t port = 0;
  std::uint64_t requests = 200'000;
  std::uint64_t in_flight = 100;
  std::uint64_t body_bytes = 1024;
  std::string_view wait = "poll";
};

[[noreturn]] void Die(std::string_view what) {
  fmt::print(stderr, "curl_loop: {}\n", what);
  std::exit(1);
}

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::size_t DropBody(char*, std::size_t size, std::size_t count, void*) { return size * count; }

class Loop {
 public:
  explicit Loop(const Settings& settings) : settings_(settings), body_(settings.body_bytes, 'x') {
    multi_ = curl_multi_init();
    curl_multi_setopt(multi_, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(settings.in_flight));
    // What a task's first attempt carries (src/dispatch/request_headers.h), so that
    // both send the same bytes.
    for (const char* header :
         {"Accept:", "Expect:", "Content-Type: application/octet-stream",
          "User-Agent: Google-Cloud-Tasks", "X-CloudTasks-QueueName: queue",
          "X-CloudTasks-TaskName: 1234567890123456789", "X-CloudTasks-TaskRetryCount: 0",
          "X-CloudTasks-TaskExecutionCount: 0", "X-CloudTasks-TaskETA: 1700000000.123456"}) {
      headers_ = curl_slist_append(headers_, header);
    }
    url_ = fmt::format("http://127.0.0.1:{}/task", settings.port);
    latencies_us_.reserve(settings.requests);
  }

  void Run() {
    if (settings_.wait == "poll") {
      RunPoll();
    } else if (settings_.wait == "epoll" || settings_.wait == "epoll-lazy") {
      is_lazy_ = settings_.wait == "epoll-lazy";
      RunEpoll();
    } else {
      Die("--wait is poll, epoll or epoll-lazy");
    }
  }

  void Report(double seconds, double cpu_seconds) {
    std::sort(latencies_us_.begin(), latencies_us_.end());
    const auto count = static_cast<double>(latencies_us_.size());
    const auto at = [&](double share) {
      return latencies_us_[static_cast<std::size_t>(share * (count - 1))];
    };
    fmt::print(
        "wait={} in_flight={} requests={} bad={} rate={:.0f}/s cpu={:.2f}us/request "
        "p50={}us p99={}us p99.9={}us\n",
        settings_.wait, settings_.in_flight, latencies_us_.size(), bad_, count / seconds,
        cpu_seconds * 1e6 / count, at(0.5), at(0.99), at(0.999));
  }

 private:
  void StartAll() {
    for (std::uint64_t i = 0; i < settings_.in_flight && started_ < settings_.requests; ++i) {
      CURL* easy = curl_easy_init();
      curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
      curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &DropBody);
      curl_easy_setopt(easy, CURLOPT_PROXY, "");
      if (is_lazy_) {
        curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &OnOpen);
        curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, this);
        curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, &OnClose);
        curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, this);
      }
      Start(easy);
    }
  }

  // Everything a request of its own would set is set each time, since real
  // attempts differ in all of it.
  void Start(CURL* easy) {
    curl_easy_setopt(easy, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body_.data());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(body_.size()));
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, kTimeoutMillis);
    curl_multi_add_handle(multi_, easy);
    ++started_;
  }

  void Collect() {
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* easy = message->easy_handle;
      long status = 0;
      curl_off_t total_us = 0;
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      curl_easy_getinfo(easy, CURLINFO_TOTAL_TIME_T, &total_us);
      if (message->data.result != CURLE_OK || status != 200) ++bad_;
      latencies_us_.push_back(total_us);
      curl_multi_remove_handle(multi_, easy);
      if (started_ < settings_.requests) Start(easy);
    }
  }

  [[nodiscard]] bool IsDone() const { return latencies_us_.size() >= settings_.requests; }

  void RunPoll() {
    StartAll();
    while (!IsDone()) {
      int running = 0;
      curl_multi_perform(multi_, &running);
      Collect();
      if (!IsDone()) curl_multi_poll(multi_, nullptr, 0, 1000, nullptr);
    }
  }

  // --- curl_multi_socket_action over epoll ---

  struct Registered {
    std::uint32_t events = 0;
    bool is_wanted = false;
    bool is_connection = false;
  };

  static int OnSocket(CURL*, curl_socket_t fd, int what, void* context, void*) {
    static_cast<Loop*>(context)->Want(fd, what);
    return 0;
  }

  // libcurl tells of a connection's socket before it exists and when it is
  // gone; without that a lazy registration could outlive its descriptor.
  static curl_socket_t OnOpen(void* context, curlsocktype, curl_sockaddr* address) {
    const int fd = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd >= 0) static_cast<Loop*>(context)->Slot(fd) = {.is_connection = true};
    return fd;
  }

  static int OnClose(void* context, curl_socket_t fd) {
    static_cast<Loop*>(context)->Slot(fd) = {};
    return ::close(fd);
  }

  static int OnTimer(CURLM*, long millis, void* context) {
    static_cast<Loop*>(context)->SetTimer(millis);
    return 0;
  }

  Registered& Slot(int fd) {
    const auto index = static_cast<std::size_t>(fd);
    if (index >= registered_.size()) registered_.resize(index + 1);
    return registered_[index];
  }

  void Control(int operation, int fd, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    ::epoll_ctl(epoll_, operation, fd, &event);
  }

  void Want(int fd, int what) {
    Registered& slot = Slot(fd);
    if (what == CURL_POLL_REMOVE) {
      slot.is_wanted = false;
      if (is_lazy_ && slot.is_connection && slot.events == EPOLLIN) return;
      Control(EPOLL_CTL_DEL, fd, 0);
      slot.events = 0;
      return;
    }
    const std::uint32_t events = (what & CURL_POLL_IN ? std::uint32_t{EPOLLIN} : 0u) |
                                 (what & CURL_POLL_OUT ? std::uint32_t{EPOLLOUT} : 0u);
    slot.is_wanted = true;
    if (slot.events == events) return;
    Control(slot.events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, events);
    slot.events = events;
  }

  void SetTimer(long millis) {
    has_timer_ = millis >= 0;
    timer_due_ = SteadyClock::now() + std::chrono::milliseconds(std::max(millis, 0L));
  }

  [[nodiscard]] int WaitMillis() const {
    if (!has_timer_) return 1000;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(timer_due_ - SteadyClock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000));
  }

  void RunEpoll() {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &OnSocket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &OnTimer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    StartAll();
    epoll_event events[kEventsMax];
    int running = 0;
    while (!IsDone()) {
      const int count = ::epoll_wait(epoll_, events, kEventsMax, WaitMillis());
      for (int i = 0; i < count; ++i) {
        const int fd = events[i].data.fd;
        Registered& slot = Slot(fd);
        if (!slot.is_wanted) {
          Control(EPOLL_CTL_DEL, fd, 0);
          slot.events = 0;
          continue;
        }
        const int what =
            (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR) ? CURL_CSELECT_IN : 0) |
            (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0);
        curl_multi_socket_action(multi_, fd, what, &running);
      }
      if (has_timer_ && timer_due_ <= SteadyClock::now()) {
        has_timer_ = false;
        curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
      }
      Collect();
    }
  }

  Settings settings_;
  std::string body_;
  std::string url_;
  CURLM* multi_ = nullptr;
  curl_slist* headers_ = nullptr;
  std::uint64_t started_ = 0;
  std::uint64_t bad_ = 0;
  std::vector<std::int64_t> latencies_us_;
  int epoll_ = -1;
  bool is_lazy_ = false;
  bool has_timer_ = false;
  SteadyClock::time_point timer_due_;
  std::vector<Registered> registered_;
};

std::uint64_t NumberOf(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    const std::string_view value = argv[i + 1];
    if (flag == "--port") settings.port = NumberOf(value);
    if (flag == "--requests") settings.requests = NumberOf(value);
    if (flag == "--in-flight") settings.in_flight = NumberOf(value);
    if (flag == "--body") settings.body_bytes = NumberOf(value);
    if (flag == "--wait") settings.wait = value;
  }
  if (settings.port == 0 || settings.requests == 0) Die("--port and --requests are needed");
  curl_global_init(CURL_GLOBAL_DEFAULT);
  Loop loop(settings);
  const double cpu_before = CpuSeconds();
  const SteadyClock::time_point begin = SteadyClock::now();
  loop.Run();
  const std::chrono::duration<double> took = SteadyClock::now() - begin;
  loop.Report(took.count(), CpuSeconds() - cpu_before);
  return 0;
}

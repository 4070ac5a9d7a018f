// SPDX-License-Identifier: Apache-2.0
#pragma once

// Moves many libcurl transfers forward on one thread: epoll tells which sockets
// are ready, curl_multi_socket_action does the rest. It knows nothing of
// requests and answers.
//
// Two things differ from the usual wiring, both measured (docs/adr/0009):
//  * A connection between two requests stays registered with epoll, so that a
//    request on a kept connection costs no epoll_ctl. libcurl tells when it
//    opens and closes a socket, so no registration outlives its descriptor.
//  * Transfers are spread over cells, each a multi handle of bounded size, filled
//    in order. libcurl walks all connections to a host to find an idle one; a
//    cell bounds that walk, whatever the number in flight.
//
// Threading: everything on one thread, but Wake, which any thread may call.
// Ownership: easy handles belong to the caller, who removes each one it added.
// Failure: without descriptors or memory the process ends.

#include <curl/curl.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace sluice::dispatch {

class CurlReactor {
 public:
  struct Options {
    std::size_t transfers_per_cell = 128;
    /// Connections, busy and idle, a cell keeps; the longest idle goes first.
    std::size_t connections_per_cell = 192;
  };
  using Completed = std::function<void(CURL* easy, CURLcode code)>;

  explicit CurlReactor(const Options& options);
  ~CurlReactor();
  CurlReactor(const CurlReactor&) = delete;
  CurlReactor& operator=(const CurlReactor&) = delete;

  /// Sets what an easy handle needs to run here. Once for each handle.
  void Prepare(CURL* easy);

  /// Starts a transfer; it moves in the next Run. Returns its cell.
  std::size_t Add(CURL* easy);
  /// Ends a transfer, completed or not. Does not wait for a name look-up.
  void Remove(CURL* easy, std::size_t cell);

  /// Waits for something to do, does it, and reports the transfers that are
  /// complete. They stay added; `completed` may call Add and Remove. It does not
  /// wait when `is_work_waiting` says true.
  void Run(const std::function<bool()>& is_work_waiting, const Completed& completed);

  /// Ends the wait of Run. To be called after what `is_work_waiting` looks at has
  /// changed; costs a system call only while Run really waits.
  void Wake();

  [[nodiscard]] std::uint64_t connections_opened() const { return connections_opened_; }

 private:
  using SteadyClock = std::chrono::steady_clock;

  struct Cell {
    CurlReactor* reactor = nullptr;
    CURLM* multi = nullptr;
    std::size_t transfers = 0;
    std::optional<SteadyClock::time_point> timer;
    bool is_touched = false;  // may have completed transfers
  };

  /// What epoll and libcurl know of a descriptor; indexed by it.
  struct Slot {
    std::uint32_t events = 0;    // registered for; zero: not registered
    bool is_wanted = false;      // libcurl waits for it
    bool is_connection = false;  // opened by OnOpen and not closed yet
    Cell* cell = nullptr;
  };

  static int OnSocket(CURL* easy, curl_socket_t fd, int what, void* cell, void* unused);
  static int OnTimer(CURLM* multi, long millis, void* cell);
  static curl_socket_t OnOpen(void* reactor, curlsocktype purpose, curl_sockaddr* address);
  static int OnClose(void* reactor, curl_socket_t fd);

  std::size_t CellWithRoom();
  Slot& SlotOf(int fd);
  void Want(Cell* cell, int fd, int what);
  void Register(int operation, int fd, std::uint32_t events);
  void HandleEvent(int fd, std::uint32_t events);
  void FireTimers();
  void ReportCompleted(const Completed& completed);
  [[nodiscard]] int WaitMillis() const;

  Options options_;
  int epoll_ = -1;
  int wake_ = -1;  // eventfd
  std::atomic<bool> is_waiting_ = false;
  CURLSH* share_ = nullptr;
  std::vector<std::unique_ptr<Cell>> cells_;
  std::vector<Slot> slots_;
  std::uint64_t connections_opened_ = 0;
};

}  // namespace sluice::dispatch

// SPDX-License-Identifier: Apache-2.0
#include "engine/reads.h"

#include <functional>
#include <utility>

#include "base/time.h"
#include "engine/records.h"
#include "store/keys.h"

namespace sluice::engine {
namespace {

template <typename T>
T Require(StatusOr<T> value, std::string_view what) {
  SLUICE_CHECK(value.ok(), fmt::format("{}: {}", what, Message(value.status())));
  return *std::move(value);
}

constexpr std::size_t kScanChunkRows = 256;

store::KeyRange RangeOf(const core::LoadWindow& r) {
  return {store::KeyAfter(store::ScheduleKey(r.queue, ToMicros(r.after.time), r.after.sequence)),
          store::IncarnationRange(store::Family::kSchedule, r.queue).to};
}
store::KeyRange RangeOf(const ListRead& r) {
  return store::BodyRange(r.listing.queue, std::max(r.listing.first, r.after + 1));
}
store::KeyRange RangeOf(const core::FindOldest& r) { return store::BodyRange(r.queue, r.from); }
store::KeyRange RangeOf(const core::FindPurged& r) {
  return {store::BodyKey(r.queue, r.from), store::KeyAfter(store::BodyKey(r.queue, r.through))};
}
store::KeyRange RangeOf(const core::FindTombstones& r) {
  return store::ExpiryRange(ToMicros(r.from), ToMicros(r.until) + 1);
}

// Visits the rows of store and overlay together, in key order, until the
// visitor says no. Returns true when the range was read to its end.
bool MergedScan(const store::Store& store, const Capture& overlay, store::KeyRange range,
                const store::RowVisitor& visit) {
  auto changed = overlay.lower_bound(range.from);
  const auto changed_end = overlay.lower_bound(range.to);
  bool wants_more = true;
  const auto visit_changes_before = [&](std::string_view key) {
    for (; wants_more && changed != changed_end && changed->first < key; ++changed) {
      if (changed->second) wants_more = visit(changed->first, *changed->second);
    }
  };
  bool is_complete = false;
  while (wants_more && !is_complete) {
    std::string last;
    is_complete = Require(store.Scan({range.from, range.to, kScanChunkRows, kListBytesMax},
                                     [&](std::string_view key, std::string_view value) {
                                       last = key;
                                       visit_changes_before(key);
                                       if (!wants_more) return false;
                                       if (changed != changed_end && changed->first == key) {
                                         if (changed->second)
                                           wants_more = visit(key, *changed->second);
                                         ++changed;
                                       } else {
                                         wants_more = visit(key, value);
                                       }
                                       return wants_more;
                                     }),
                          "scanning the store");
    if (!is_complete && !last.empty()) range.from = store::KeyAfter(last);
  }
  if (wants_more) visit_changes_before(range.to);
  return wants_more;
}

void Warm(const store::Store& store, std::string_view key) {
  std::string value;
  Require(store.Get(key, store::ReadMode::kBlocking, &value), "reading the store");
}

// The progress of a task in a scan: from the overlay, else from the store, else as created.
core::TaskProgress ReadProgress(const store::Store& store, const Capture& overlay,
                                core::Incarnation queue, const core::TaskBody& body) {
  const std::string key = store::ProgressKey(queue, body.sequence);
  std::string value;
  bool is_found = false;
  if (const auto it = overlay.find(key); it != overlay.end()) {
    is_found = it->second.has_value();
    if (is_found) value = *it->second;
  } else {
    is_found = Require(store.Get(key, store::ReadMode::kBlocking, &value), "reading the store") ==
               store::Lookup::kFound;
  }
  if (is_found) return Require(DecodeProgress(value), "decoding a task's progress");
  core::TaskProgress progress;
  progress.schedule_time = body.schedule_time;
  return progress;
}

class Runner {
 public:
  Runner(const store::Store& store, const ReadRequest& request)
      : store_(store), overlay_(request.overlay) {
    result_.id = request.id;
    std::visit([this](const auto& what) { Run(what); }, request.what);
  }

  ReadResult Take() { return std::move(result_); }

 private:
  void Run(const WarmRead& read) {
    for (const std::string& key : read.keys) Warm(store_, key);
  }

  void Run(const core::LoadTasks& read) {
    for (const core::Sequence sequence : read.sequences) {
      Warm(store_, store::BodyKey(read.queue, sequence));
      Warm(store_, store::ProgressKey(read.queue, sequence));
    }
  }

  void Run(const core::LoadWindow& read) {
    const bool is_complete =
        MergedScan(store_, overlay_, RangeOf(read), [&](std::string_view key, std::string_view) {
          if (result_.schedule.size() == read.rows_max) return false;
          const auto decoded = Require(store::DecodeScheduleKey(key), "decoding a schedule entry");
          result_.schedule.push_back({FromMicros(decoded.schedule_us), decoded.sequence});
          return true;
        });
    result_.is_complete = is_complete;
  }

  void Run(const ListRead& read) {
    std::size_t bytes = 0;
    result_.is_complete =
        MergedScan(store_, overlay_, RangeOf(read), [&](std::string_view key, std::string_view v) {
          if (result_.tasks.size() == read.count_max || bytes > kListBytesMax) return false;
          const auto decoded = Require(store::DecodeBodyKey(key), "decoding a task key");
          auto body = std::make_shared<core::TaskBody>(
              Require(DecodeBody(decoded.sequence, v), "decoding a task body"));
          if (body->sequence <= read.listing.purged_through ||
              body->create_time <= read.listing.created_after) {
            return true;
          }
          bytes += v.size();
          core::TaskProgress progress = ReadProgress(store_, overlay_, read.listing.queue, *body);
          result_.tasks.push_back({std::move(body), std::move(progress)});
          return true;
        });
  }

  void Run(const core::FindOldest& read) {
    result_.is_complete =
        MergedScan(store_, overlay_, RangeOf(read), [&](std::string_view key, std::string_view v) {
          const auto decoded = Require(store::DecodeBodyKey(key), "decoding a task key");
          const auto body = Require(DecodeBody(decoded.sequence, v), "decoding a task body");
          result_.oldest = core::TaskMachine::Oldest{body.sequence, body.create_time};
          return false;
        });
  }

  void Run(const core::FindPurged& read) {
    result_.is_complete =
        MergedScan(store_, overlay_, RangeOf(read), [&](std::string_view key, std::string_view) {
          if (result_.sequences.size() == read.rows_max) return false;
          const auto decoded = Require(store::DecodeBodyKey(key), "decoding a task key");
          result_.sequences.push_back(decoded.sequence);
          return true;
        });
    Run(core::LoadTasks{read.queue, result_.sequences});
  }

  void Run(const core::FindTombstones& read) {
    result_.is_complete =
        MergedScan(store_, overlay_, RangeOf(read), [&](std::string_view key, std::string_view) {
          if (result_.tombstones.size() == read.rows_max) return false;
          const auto decoded = Require(store::DecodeExpiryKey(key), "decoding a tombstone");
          result_.tombstones.push_back(
              {decoded.incarnation, std::string(decoded.task_id), FromMicros(decoded.expiry_us)});
          return true;
        });
    for (const core::TaskMachine::Tombstone& tombstone : result_.tombstones) {
      Warm(store_, store::NameKey(tombstone.queue, tombstone.task_id));
    }
  }

  const store::Store& store_;
  const Capture& overlay_;
  ReadResult result_;
};

}  // namespace

void CaptureFor(const Overlay& overlay, ReadRequest* request) {
  std::visit(
      [&](const auto& what) {
        using What = std::decay_t<decltype(what)>;
        if constexpr (!std::is_same_v<What, WarmRead> && !std::is_same_v<What, core::LoadTasks>) {
          overlay.CaptureRange(RangeOf(what), &request->overlay);
        }
        if constexpr (std::is_same_v<What, ListRead>) {
          overlay.CaptureRange(
              store::IncarnationRange(store::Family::kProgress, what.listing.queue),
              &request->overlay);
        }
      },
      request->what);
}

ReadResult RunRead(const store::Store& store, const ReadRequest& request) {
  return Runner(store, request).Take();
}

}  // namespace sluice::engine

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The way of every call through a service object: observer, gate, the work, gate,
// observer, answer. The one wrapper that all methods of all services go through;
// with neither gate nor observer it is two null checks.
//
// Threading: thread-safe. Ownership: gate, observer and flow outlive every call.

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "front/call_gate.h"

namespace sluice::front {

class CallFlow {
 public:
  /// What a call carries from its start to its end; copied freely.
  struct Context {
    Call* call = nullptr;
    const Method* method = nullptr;
    std::string_view resource;  // lies in the request
    std::uint64_t started = 0;  // the observer's
  };

  CallFlow(CallGate* gate, CallObserver* observer) : gate_(gate), observer_(observer) {}

  /// Starts a call: `work(context)` runs, now or when the gate lets it, and leads
  /// to exactly one End.
  template <typename Work>
  void Begin(const Method& method, std::string_view resource, Call& call, Work work) {
    Context context{&call, &method, resource, 0};
    if (observer_ != nullptr) context.started = observer_->Started(method);
    if (gate_ == nullptr) return work(context);
    gate_->Before(CallInfo{&method, resource},
                  [this, context, work = std::move(work)](Status status) mutable {
                    if (!status.ok()) return Answer(context, std::move(status));
                    work(context);
                  });
  }

  /// Ends a call with what its work came to. Request and response may be gone
  /// when it returns.
  void End(const Context& context, Status status) {
    if (gate_ == nullptr) return Answer(context, std::move(status));
    gate_->After(CallInfo{context.method, context.resource}, status,
                 [this, context, status](Status verdict) {
                   Answer(context, verdict.ok() ? status : verdict);
                 });
  }

 private:
  void Answer(const Context& context, Status status) {
    if (observer_ != nullptr) {
      observer_->Finished(*context.method, context.started, status.code());
    }
    context.call->Finish(std::move(status));
  }

  CallGate* const gate_;
  CallObserver* const observer_;
};

}  // namespace sluice::front

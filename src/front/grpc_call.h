// SPDX-License-Identifier: Apache-2.0
#pragma once

// A unary call of gRPC's callback API as the service objects see it, and the step
// that starts one. The request object belongs to gRPC and is not used again after
// the handler, so the service may take its strings.
//
// Threading: Finish from any thread. Ownership: the call deletes itself when gRPC
// is done with it.

#include <utility>

#include "front/call_gate.h"
#include "front/errors_grpc.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

namespace sluice::front {

class GrpcUnaryCall final : public grpc::ServerUnaryReactor, public Call {
 public:
  explicit GrpcUnaryCall(grpc::CallbackServerContext* context) : context_(context) {}

  [[nodiscard]] bool IsCancelled() const override { return context_->IsCancelled(); }

  void Finish(Status status) override {
    if (status.ok()) return ServerUnaryReactor::Finish(grpc::Status::OK);
    if (IsDropCall(status)) context_->TryCancel();
    ServerUnaryReactor::Finish(ToGrpcStatus(status));
  }

  /// Tells gRPC that OnDone and OnCancel may run where they come up instead of on
  /// an executor's thread. They do next to nothing, and a hand-over for each call
  /// costs a tenth of a create. gRPC keeps this for its own reactors of that kind;
  /// it is used here knowingly, on the pinned version, with its own override check.
  bool InternalInlineable() override { return true; }

 private:
  void OnDone() override { delete this; }
  // The engine goes on with what it was given; its answer finds nobody.
  void OnCancel() override {}

  grpc::CallbackServerContext* const context_;
};

/// Runs one method of a service object for one call.
template <typename Service, typename Request, typename Response>
grpc::ServerUnaryReactor* StartUnary(Service* service,
                                     void (Service::*method)(Request&, Response&, Call&),
                                     grpc::CallbackServerContext* context, const Request* request,
                                     Response* response) {
  auto* call = new GrpcUnaryCall(context);
  (service->*method)(const_cast<Request&>(*request), *response, *call);
  return call;
}

}  // namespace sluice::front

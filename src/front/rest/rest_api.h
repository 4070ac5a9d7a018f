// SPDX-License-Identifier: Apache-2.0
#pragma once

// REST for the methods of our services: routes from their google.api.http
// annotations, requests and responses by protobuf's JSON mapping, errors as
// Google's error body. It holds no state of a call but the call itself; what a
// method does is the service object's business, as for gRPC.
//
// A body must say that it is JSON. A web page can make a browser send anything
// else to a loopback port unasked, so a request with an Origin and without that
// type is refused too, an empty body included.
//
// Threading: Handle on the HTTP thread, which only decodes; services answer from
// any thread, and answers are rendered by `worker`.
// Ownership: services and `worker` outlive this, and this its last call.
// Failure: statuses as JSON. A call that fault injection drops is answered with
// 503, since the HTTP layer has no way to hang up in the middle.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "env/executor.h"
#include "front/call_gate.h"
#include "front/net/http.h"
#include "front/rest/path_template.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace sluice::front {

class RestApi final : public net::HttpHandler {
 public:
  using Message = google::protobuf::Message;

  explicit RestApi(env::Executor* worker) : worker_(worker) {}
  RestApi(const RestApi&) = delete;
  RestApi& operator=(const RestApi&) = delete;

  /// Serves `name` of `descriptor` by a method of a service object. Dies when there
  /// is no such method or its annotation is not understood: that is decided at build.
  template <typename Service, typename Request, typename Response>
  void Add(const google::protobuf::ServiceDescriptor& descriptor, std::string_view name,
           Service* service, void (Service::*method)(Request&, Response&, Call&)) {
    AddRoutes(descriptor, name, MethodOf(service, method));
  }

  /// The same at a path that no annotation gives, as `GET /v2/{name=projects/*}/locations`.
  template <typename Service, typename Request, typename Response>
  void AddGet(std::string path, Service* service,
              void (Service::*method)(Request&, Response&, Call&)) {
    methods_.push_back(MethodOf(service, method));
    AddRoute("GET", path, {});
  }

  /// True for a path that belongs to an API served here, known or not.
  [[nodiscard]] bool Owns(std::string_view path) const;
  void Handle(net::HttpRequest request, net::HttpResponder responder) override;

 private:
  struct Method {
    const Message* request = nullptr;  // prototypes
    const Message* response = nullptr;
    std::function<void(Message&, Message&, Call&)> run;
  };
  struct Route {
    std::string verb;  // "GET"
    PathTemplate path;
    std::string body;  // "", "*" or the name of a field
    std::size_t method = 0;
  };

  template <typename Service, typename Request, typename Response>
  static Method MethodOf(Service* service, void (Service::*method)(Request&, Response&, Call&)) {
    return {&Request::default_instance(), &Response::default_instance(),
            [service, method](Message& request, Message& response, Call& call) {
              (service->*method)(static_cast<Request&>(request), static_cast<Response&>(response),
                                 call);
            }};
  }

  void AddRoutes(const google::protobuf::ServiceDescriptor& descriptor, std::string_view name,
                 Method method);

  /// A way to the method added last.
  void AddRoute(std::string_view verb, std::string_view path, std::string_view body);

  env::Executor* const worker_;
  std::vector<Method> methods_;
  std::vector<Route> routes_;
  std::vector<std::string> versions_;  // "/v2/"
};

}  // namespace sluice::front

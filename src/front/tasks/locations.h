// SPDX-License-Identifier: Apache-2.0
#pragma once

// google.cloud.location.Locations: the locations that the operator names, and
// every other one that has a queue (../shared/spec: cloud tasks 1.12). A queue may
// be created in a location that is not listed.
//
// Threading: calls from any thread, answers on the engine's lane.
// Ownership: engine, clock, gate and observer outlive it; it outlives its calls.

#include <span>
#include <string>
#include <vector>

#include "front/call_flow.h"
#include "front/tasks/service.h"
#include "google/cloud/location/locations.pb.h"

namespace sluice::front {

namespace location = google::cloud::location;

inline constexpr std::int32_t kLocationsPageMax = 1000;

class LocationsService {
 public:
  /// `ids`: last segments of names, in every project.
  LocationsService(const TasksDependencies& dependencies, std::vector<std::string> ids)
      : engine_(dependencies.engine),
        clock_(dependencies.clock),
        flow_(dependencies.gate, dependencies.observer),
        ids_(std::move(ids)) {}
  LocationsService(const LocationsService&) = delete;
  LocationsService& operator=(const LocationsService&) = delete;

  [[nodiscard]] static std::span<const Method> Methods();

  /// `filter` as in front/tasks/filter.h. Errors: INVALID_ARGUMENT.
  void ListLocations(location::ListLocationsRequest& request,
                     location::ListLocationsResponse& response, Call& call);
  /// Errors: INVALID_ARGUMENT; NOT_FOUND.
  void GetLocation(location::GetLocationRequest& request, location::Location& response, Call& call);

 private:
  /// Hands `then(context, ids)` what the project has, sorted.
  template <typename Then>
  void WithLocations(const CallFlow::Context& context, std::string project, Then then);

  engine::Engine* const engine_;
  env::Clock* const clock_;
  CallFlow flow_;
  const std::vector<std::string> ids_;
};

}  // namespace sluice::front

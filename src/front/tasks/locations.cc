// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/locations.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "env/clock.h"
#include "front/errors.h"
#include "front/tasks/engine_call.h"
#include "front/tasks/filter.h"
#include "front/tasks/page_token.h"

namespace sluice::front {
namespace {

using Context = CallFlow::Context;

constexpr std::array<Method, 2> kMethods{{
    {"google.cloud.location.Locations", "ListLocations"},
    {"google.cloud.location.Locations", "GetLocation"},
}};

void EncodeLocation(const LocationName& name, location::Location* out) {
  out->set_name(name.ToString());
  out->set_location_id(name.location);
  out->set_display_name(name.location);
  (*out->mutable_labels())["cloud.googleapis.com/region"] = name.location;
}

struct LocationListing {
  std::string project;
  Filter filter;
  std::size_t page_size = 0;
  std::string after;
};

Listing ListingOf(const location::ListLocationsRequest& request) {
  return {"locations.ListLocations", request.name(), request.filter()};
}

// The project of `projects/{project}`.
StatusOr<std::string> ReadProject(const std::string& name) {
  StatusOr<LocationName> as_location = LocationName::Parse(name + "/locations/l");
  if (as_location.ok()) return std::move(as_location->project);
  return AtField("name",
                 InvalidArgument("name \"{}\" does not have the form projects/PROJECT", name));
}

StatusOr<LocationListing> Decode(const location::ListLocationsRequest& request, Time now) {
  LocationListing listing;
  SLUICE_ASSIGN_OR_RETURN(listing.project, ReadProject(request.name()));
  SLUICE_ASSIGN_OR_RETURN(listing.page_size, PageSize(request.page_size(), kLocationsPageMax));
  SLUICE_ASSIGN_OR_RETURN(listing.filter,
                          Filter::Parse(request.filter(), *location::Location::descriptor()));
  SLUICE_ASSIGN_OR_RETURN(listing.after,
                          ReadPageToken(ListingOf(request), request.page_token(), now));
  return listing;
}

// Fills a page and answers with the id it ends at; empty when the listing is complete.
std::string EncodePage(const std::set<std::string>& ids, const LocationListing& listing,
                       location::ListLocationsResponse& response) {
  std::string last;
  for (auto it = ids.upper_bound(listing.after); it != ids.end(); ++it) {
    location::Location found;
    EncodeLocation({listing.project, *it}, &found);
    if (!listing.filter.Matches(found)) continue;
    if (static_cast<std::size_t>(response.locations_size()) == listing.page_size) return last;
    *response.add_locations() = std::move(found);
    last = *it;
  }
  return {};
}

}  // namespace

std::span<const Method> LocationsService::Methods() { return kMethods; }

template <typename Then>
void LocationsService::WithLocations(const Context& context, std::string project, Then then) {
  SubmitCommand(*engine_, flow_, context, engine::CollectStats{}, kLocationType,
                [this, project = std::move(project), then = std::move(then)](
                    const Context& going_on, engine::Result& result) mutable {
                  std::set<std::string> ids(ids_.begin(), ids_.end());
                  for (const auto& queue : Expect<std::vector<engine::NamedStats>>(result)) {
                    const LocationName& at = queue.name.location;
                    if (at.project == project) ids.insert(at.location);
                  }
                  then(going_on, ids);
                });
}

void LocationsService::ListLocations(location::ListLocationsRequest& request,
                                     location::ListLocationsResponse& response, Call& call) {
  const auto work = [this, &request, &response](const Context& context) {
    const Time now = clock_->Now();
    StatusOr<LocationListing> listing = Decode(request, now);
    if (!listing.ok()) return flow_.End(context, listing.status());
    std::string project = listing->project;
    WithLocations(context, std::move(project),
                  [this, now, &request, &response, listing = *std::move(listing)](
                      const Context& ending, const std::set<std::string>& ids) {
                    const std::string last = EncodePage(ids, listing, response);
                    if (!last.empty()) {
                      response.set_next_page_token(MakePageToken(ListingOf(request), last, now));
                    }
                    flow_.End(ending, absl::OkStatus());
                  });
  };
  flow_.Begin(kMethods[0], request.name(), call, work);
}

void LocationsService::GetLocation(location::GetLocationRequest& request,
                                   location::Location& response, Call& call) {
  const auto work = [this, &request, &response](const Context& context) {
    StatusOr<LocationName> name = ReadLocationName(request.name(), "name");
    if (!name.ok()) return flow_.End(context, name.status());
    WithLocations(
        context, name->project,
        [this, &response, name = *name](const Context& ending, const std::set<std::string>& ids) {
          if (!ids.contains(name.location)) {
            return flow_.End(ending,
                             AboutResource(NotFound("location {} does not exist", name.ToString()),
                                           kLocationType, ending.resource));
          }
          EncodeLocation(name, &response);
          flow_.End(ending, absl::OkStatus());
        });
  };
  flow_.Begin(kMethods[1], request.name(), call, work);
}

}  // namespace sluice::front

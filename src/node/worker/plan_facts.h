// What a worker needs to know of a plan that its shares run in other processes.
#pragma once

#include <string_view>
#include <vector>

#include "account/window_codec.h"
#include "base/result.h"
#include "base/time.h"

namespace bellwether::node {

struct PlanFacts {
  account::Shape shape;
  std::vector<Duration> graceful_stops;  // one for each workflow
};

// Of the bytes of a bundle (dispatch/codec/bundle_codec.h). What is wrong with them otherwise.
Result<PlanFacts> facts_of(std::string_view bundle);

}  // namespace bellwether::node

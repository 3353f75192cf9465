// Templates to text.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/base/prng.h"
#include "core/base/time.h"
#include "load/plan/plan.h"
#include "load/vuser/values.h"

namespace bellwether::vuser {

// What a template may mention besides the values.
struct RenderContext {
  const Values& values;
  uint32_t vu = 1;
  uint64_t iteration = 0;
  WallTime now;
  Prng& prng;
  std::span<const std::string> tokens = {};  // by plan::HttpCall::token; an empty one: there is none
};

// Appends the text to `out`. False when a value is missing or does not fit its surroundings (a line break in a header):
// the step then fails as `template` and is not sent.
bool render(const plan::Template& source, const RenderContext& context, std::string& out);

// True when the template mentions the wall clock, which then must be read for it.
bool mentions_time(const plan::Template& source);

}  // namespace bellwether::vuser

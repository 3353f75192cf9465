// Figures that come from elsewhere, and between what they may lie.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace bellwether::context_lead {

struct Bounded {
  std::string_view name;
  double value = 0;
  double least = 0;
  double most = 1;
  std::string_view unit = {};
};

// Errors: kInvalid for the first that is no number or lies outside.
Status within_bounds(std::span<const Bounded> figures);

// The shortest text that means this number.
std::string number_text(double value);
// With so many decimals, at most 20.
std::string number_text(double value, int decimals);

}  // namespace bellwether::context_lead

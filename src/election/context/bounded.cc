#include "election/context/bounded.h"

#include <array>
#include <charconv>
#include <cmath>

namespace bellwether::context_lead {
namespace {

// Of a double: a sign, 309 digits before the point, the point, and decimals.
using Buffer = std::array<char, 352>;

// Of which people like to see all digits.
bool is_everyday(double value) { return value == 0 || (std::abs(value) >= 1e-6 && std::abs(value) < 1e16); }

}  // namespace

std::string number_text(double value) {
  Buffer buffer;
  const auto format = is_everyday(value) ? std::chars_format::fixed : std::chars_format::general;
  return {buffer.data(), std::to_chars(buffer.begin(), buffer.end(), value, format).ptr};
}

std::string number_text(double value, int decimals) {
  Buffer buffer;
  return {buffer.data(), std::to_chars(buffer.begin(), buffer.end(), value, std::chars_format::fixed, decimals).ptr};
}

Status within_bounds(std::span<const Bounded> figures) {
  for (const Bounded& one : figures) {
    // Written so that what is no number is refused.
    if (one.value >= one.least && one.value <= one.most) continue;
    const std::string unit = one.unit.empty() ? "" : " " + std::string(one.unit);
    return fail(Errc::kInvalid, std::string(one.name) + " is " + number_text(one.value) + unit + "; it must be from " +
                                    number_text(one.least) + " to " + number_text(one.most) + unit);
  }
  return {};
}

}  // namespace bellwether::context_lead

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/units.h"
#include "load/results/compare/compare.h"

namespace bellwether::results {
namespace {

constexpr double kMaxTimes = 10;       // longer runs are no advice
constexpr double kMaxTolerance = 1.0;  // a greater one is no advice

bool is_fraction(Figure figure) { return figure == Figure::kErrors || figure == Figure::kDropped; }

// 0.4231 is "43": rounded up, so that a change of this size is surely shown, and tolerated.
std::string percent_up(double ratio) {
  const double percent = ratio * 100;
  const double step = percent < 1 ? 0.01 : percent < 10 ? 0.1 : 1;
  return fmt::format("{:g}", step * std::ceil(percent / step - 1e-9));
}

// The unclear figure whose interval is the widest, of fractions or of the others.
struct Widest {
  std::string name;
  double reach = 0;  // half of the width of its interval
  double most = 0;   // its greatest change that these runs do not exclude, over all unclear figures
};

std::optional<Widest> widest_of(const Comparison& of, bool fractions) {
  std::optional<Widest> out;
  double most = 0;
  for (const StepComparison& step : of.steps) {
    for (const Difference& one : step.differences) {
      if (one.judgement != Judgement::kUnclear || is_fraction(one.figure) != fractions) continue;
      most = std::max({most, std::abs(one.low), std::abs(one.high)});
      const double reach = (one.high - one.low) / 2;
      if (out && reach <= out->reach) continue;
      const std::string whose = step.step.empty() ? " of all steps" : " of " + step.step;
      out = {std::string(to_string(one.figure)) + whose, reach, 0};
    }
  }
  if (out) out->most = most;
  return out;
}

bool may_be_chance(const Comparison& of) {
  return std::ranges::any_of(of.steps, [](const StepComparison& step) {
    return std::ranges::any_of(step.differences, [](const Difference& one) {
      return one.judgement == Judgement::kUnclear && one.low <= 0 && one.high >= 0;
    });
  });
}

}  // namespace

std::string advice_of(const Comparison& of, const Tolerance& tolerance) {
  const std::size_t unclear = of.count(Judgement::kUnclear);
  if (unclear == 0) return {};
  std::string out = fmt::format("{} {} unclear: ", format_count(unclear, "figure"), unclear == 1 ? "is" : "are");
  out += may_be_chance(of) ? "the difference found is smaller than these runs can show."
                           : "the difference found is real, and may be greater than the tolerance.";
  std::string wider;
  for (const bool fractions : {false, true}) {
    const auto widest = widest_of(of, fractions);
    if (!widest) continue;
    const char* unit = fractions ? " percentage points" : "%";
    out += fmt::format(" They show a change of {}{} in {} (tolerance: {:g}{}).", percent_up(widest->reach), unit,
                       widest->name, 100 * (fractions ? tolerance.errors : tolerance.relative), unit);
    if (widest->most > kMaxTolerance) continue;
    wider += fmt::format("{}{} {}%", wider.empty() ? "" : " ", fractions ? "--errors" : "--tolerance",
                         percent_up(widest->most));
  }
  const double longer = std::ceil(of.longer(tolerance) - 1e-6);
  if (longer <= kMaxTimes) {
    out += fmt::format(" Runs about {:.0f} times as long give a clear answer", longer);
    out += wider.empty() ? "." : ", and so does " + wider + ".";
  } else if (!wider.empty()) {
    out += fmt::format(" {} gives a clear answer; a smaller one needs steadier or much longer runs.", wider);
  } else {
    out += " The runs are too short, or too uneven, to be compared.";
  }
  return out;
}

}  // namespace bellwether::results

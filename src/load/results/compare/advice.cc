#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/base/units.h"
#include "load/results/compare/compare.h"

namespace bellwether::results {
namespace {

constexpr double kMaxTimes = 10;       // longer runs are no advice
constexpr double kMaxTolerance = 1.0;  // a greater one is no advice

bool is_fraction(Figure figure) { return figure == Figure::kErrors || figure == Figure::kDropped; }

// 0.4231 is 43: rounded up, so that a change of this size is surely shown, and tolerated.
double percent_up(double ratio) {
  const double percent = ratio * 100;
  const double step = percent < 1 ? 0.01 : percent < 10 ? 0.1 : 1;
  return step * std::ceil(percent / step - 1e-9);
}

// Of fractions or of the others.
std::vector<const Difference*> judged(const Comparison& of, bool fractions) {
  std::vector<const Difference*> out;
  for (const StepComparison& step : of.steps) {
    for (const Difference& one : step.differences) {
      const bool is_judged = one.judgement != Judgement::kNotJudged;
      if (is_judged && is_fraction(one.figure) == fractions) out.push_back(&one);
    }
  }
  return out;
}

// The unclear figure whose interval is the widest.
struct Widest {
  std::string name;
  double reach = 0;  // half of the width of its interval
};

std::optional<Widest> widest_of(const Comparison& of, bool fractions) {
  std::optional<Widest> out;
  for (const StepComparison& step : of.steps) {
    for (const Difference& one : step.differences) {
      if (one.judgement != Judgement::kUnclear || is_fraction(one.figure) != fractions) continue;
      const double reach = (one.high - one.low) / 2;
      if (out && reach <= out->reach) continue;
      const std::string whose = step.step.empty() ? " of all steps" : " of " + step.step;
      out = {std::string(to_string(one.figure)) + whose, reach};
    }
  }
  return out;
}

// The least tolerance, in percent, that leaves no figure unclear. It tolerates each unclear one as a whole, and so each
// worse or better one whose change it no longer exceeds.
double enough_for(const std::vector<const Difference*>& figures) {
  double percent = 0;
  for (bool grows = true; grows;) {
    grows = false;
    for (const Difference* one : figures) {
      const bool is_clear = one->judgement != Judgement::kUnclear && std::abs(one->change) > percent / 100;
      const double needed = percent_up(std::max(std::abs(one->low), std::abs(one->high)));
      if (is_clear || one->judgement == Judgement::kSame || needed <= percent) continue;
      percent = needed;
      grows = true;
    }
  }
  return percent;
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
  bool is_enough = true;
  for (const bool fractions : {false, true}) {
    const auto widest = widest_of(of, fractions);
    if (!widest) continue;
    const char* unit = fractions ? " percentage points" : "%";
    out += fmt::format(" They show a change of {:g}{} in {} (tolerance: {:g}{}).", percent_up(widest->reach), unit,
                       widest->name, 100 * (fractions ? tolerance.errors : tolerance.relative), unit);
    const double percent = enough_for(judged(of, fractions));
    is_enough = is_enough && percent <= 100 * kMaxTolerance;
    wider += fmt::format("{}{} {:g}%", wider.empty() ? "" : " ", fractions ? "--errors" : "--tolerance", percent);
  }
  if (!is_enough) wider.clear();
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

#include "load/plan/delay.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace bellwether::plan {
namespace {

// In (0, 1], so that it has a logarithm.
double above_zero(Prng& prng) { return 1 - prng.unit(); }

// Standard normal: G. E. P. Box, M. E. Muller, "A Note on the Generation of Random Normal Deviates" (1958). The second
// value of the pair is not kept, so that a draw depends on nothing but the generator.
double normal(Prng& prng) {
  const double radius = std::sqrt(-2 * std::log(above_zero(prng)));
  return radius * std::cos(2 * std::numbers::pi * prng.unit());
}

// With mean 1, by inversion: L. Devroye, "Non-Uniform Random Variate Generation" (1986), II.2.
double exponential(Prng& prng) { return -std::log(above_zero(prng)); }

double seconds(const Delay& delay, Prng& prng) {
  const double centre = delay.centre.seconds_f();
  switch (delay.law) {
    case Delay::Law::kNormal: return centre + delay.spread * normal(prng);
    case Delay::Law::kExponential: return centre * exponential(prng);
    // The logarithm is normal with mean ln(median): Devroye, XI.2.
    case Delay::Law::kLognormal: return centre * std::exp(delay.spread * normal(prng));
    case Delay::Law::kUniform: break;
  }
  return centre;
}

}  // namespace

Duration draw(const Delay& delay, Prng& prng) {
  if (delay.low == delay.high) return delay.low;
  if (delay.law == Delay::Law::kUniform) return prng.between(delay.low, delay.high);
  const double drawn = seconds(delay, prng);
  if (drawn <= delay.low.seconds_f()) return delay.low;
  if (drawn >= delay.high.seconds_f()) return delay.high;
  return std::clamp(Duration::from_seconds_f(drawn), delay.low, delay.high);
}

}  // namespace bellwether::plan

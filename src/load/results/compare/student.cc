#include "load/results/compare/student.h"

#include <cmath>
#include <numbers>

#include "core/base/check.h"

namespace bellwether::results {

double student_within(double t, int freedom) {
  check(t >= 0 && freedom >= 1 && freedom <= 10'000, "a t of whole degrees of freedom");
  const double theta = std::atan(t / std::sqrt(static_cast<double>(freedom)));
  const double cos = std::cos(theta);
  const double sin = std::sin(theta);
  const bool odd = freedom % 2 == 1;
  double term = odd ? cos : 1;
  double sum = freedom == 1 ? 0 : term;
  for (int k = odd ? 3 : 2; k < freedom; k += 2) {
    // From 1 on 1/2, 3/4, …; from cos on 2/3, 4/5, …
    term *= cos * cos * (k - 1) / k;
    sum += term;
  }
  return odd ? 2 / std::numbers::pi * (theta + sin * sum) : sin * sum;
}

double student_quantile(double alpha, int freedom) {
  check(alpha > 0 && alpha < 1, "a share");
  double low = 0;
  double high = 1;
  while (student_within(high, freedom) < 1 - alpha && high < 1e12) high *= 2;
  for (int i = 0; i < 100 && high - low > 1e-9 * high; ++i) {
    const double middle = (low + high) / 2;
    (student_within(middle, freedom) < 1 - alpha ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace bellwether::results

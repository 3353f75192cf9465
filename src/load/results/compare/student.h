// Student's t distribution, for intervals of confidence from few batches.
#pragma once

namespace bellwether::results {

// P(|T| <= t) with `freedom` degrees of freedom: Abramowitz and Stegun, Handbook of Mathematical Functions (1964),
// 26.7.3 and 26.7.4, which are exact for whole degrees. REQUIRES t >= 0 and 1 <= freedom <= 10,000.
double student_within(double t, int freedom);

// The t with student_within(t, freedom) == 1 - alpha, to nine digits. REQUIRES 0 < alpha < 1.
double student_quantile(double alpha, int freedom);

}  // namespace bellwether::results

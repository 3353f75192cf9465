#include "load/results/compare/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>

#include "core/base/check.h"
#include "core/base/enum_names.h"
#include "core/base/prng.h"
#include "core/base/units.h"
#include "load/metrics/histogram.h"

namespace bellwether::results {

namespace {

constexpr std::array kFigures{Figure::kRate, Figure::kErrors, Figure::kP50,
                              Figure::kP95,  Figure::kP99,    Figure::kDropped};
constexpr int kResamples = 400;

bool is_ratio(Figure figure) { return figure == Figure::kErrors || figure == Figure::kDropped; }

using Values = std::array<double, kFigures.size()>;

// The batches of one step as rows of numbers, for frequent sums.
class Sample {
 public:
  Sample(const std::vector<StepBatch>& batches, const std::vector<Duration>& covered)
      : batches_(batches), covered_(covered) {
    for (const StepBatch& batch : batches) {
      for (const auto& [bucket, count] : batch.times) values_.push_back(bucket);
    }
    std::sort(values_.begin(), values_.end());
    values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
    for (const StepBatch& batch : batches) {
      std::vector<double> row(values_.size());
      for (const auto& [bucket, count] : batch.times) {
        const auto at = std::lower_bound(values_.begin(), values_.end(), bucket) - values_.begin();
        row[static_cast<std::size_t>(at)] = static_cast<double>(count);
      }
      rows_.push_back(std::move(row));
    }
    sum_.resize(values_.size());
  }

  std::size_t size() const { return batches_.size(); }
  double requests() const { return requests_; }
  double timed() const { return timed_; }

  // The values of the batches, each repeated by its number in `times`.
  Values values(const std::vector<int>& times) {
    double covered = 0;
    double failed = 0;
    double due = 0;
    double dropped = 0;
    requests_ = timed_ = 0;
    std::fill(sum_.begin(), sum_.end(), 0.0);
    for (std::size_t b = 0; b < size(); ++b) {
      if (times[b] == 0) continue;
      const double weight = times[b];
      covered += weight * covered_[b].seconds_f();
      requests_ += weight * static_cast<double>(batches_[b].count);
      failed += weight * static_cast<double>(batches_[b].failed);
      due += weight * static_cast<double>(batches_[b].due);
      dropped += weight * static_cast<double>(batches_[b].dropped);
      const std::vector<double>& row = rows_[b];
      for (std::size_t v = 0; v < row.size(); ++v) sum_[v] += weight * row[v];
    }
    for (const double count : sum_) timed_ += count;
    return {covered > 0 ? requests_ / covered : 0,
            requests_ > 0 ? failed / requests_ : 0,
            percentile(0.5),
            percentile(0.95),
            percentile(0.99),
            due > 0 ? dropped / due : 0};
  }

 private:
  double percentile(double ratio) const {
    double upto = 0;
    for (std::size_t v = 0; v < sum_.size(); ++v) {
      upto += sum_[v];
      if (upto > 0 && upto >= ratio * timed_) {
        return static_cast<double>(metrics::Histogram::middle_of(values_[v])) / 1e6;
      }
    }
    return 0;
  }

  const std::vector<StepBatch>& batches_;
  const std::vector<Duration>& covered_;
  std::vector<uint32_t> values_;  // buckets
  std::vector<std::vector<double>> rows_;
  std::vector<double> sum_;
  double requests_ = 0;
  double timed_ = 0;
};

struct Estimate {
  Values value{};
  Values error{};  // standard errors
  double requests = 0;
  double timed = 0;
  std::size_t batches = 0;
};

Estimate estimate(const Batches& run, std::size_t step, Prng& prng) {
  Sample sample(run.of[step], run.covered);
  Estimate out;
  out.batches = sample.size();
  if (out.batches == 0) return out;
  std::vector<int> times(sample.size(), 1);
  out.value = sample.values(times);
  out.requests = sample.requests();
  out.timed = sample.timed();
  if (out.batches < kMinBatches) return out;
  Values sum{};
  Values squares{};
  for (int r = 0; r < kResamples; ++r) {
    std::fill(times.begin(), times.end(), 0);
    for (std::size_t i = 0; i < sample.size(); ++i) ++times[prng.below(sample.size())];
    const Values drawn = sample.values(times);
    for (std::size_t f = 0; f < drawn.size(); ++f) {
      const double off = drawn[f] - out.value[f];
      sum[f] += off;
      squares[f] += off * off;
    }
  }
  const auto n = static_cast<double>(out.batches);
  for (std::size_t f = 0; f < sum.size(); ++f) {
    const double mean = sum[f] / kResamples;
    const double variance = std::max(0.0, squares[f] / kResamples - mean * mean);
    // Resampling n of n gives a spread that is too small by (n - 1) / n.
    out.error[f] = std::sqrt(variance * n / (n - 1));
  }
  return out;
}

bool can_be_judged(Figure figure, const Estimate& of) {
  // A run whose arrivals were all dropped made no requests.
  if (of.batches < kMinBatches || (of.requests <= 0 && figure != Figure::kDropped)) return false;
  switch (figure) {
    case Figure::kRate:
    case Figure::kErrors:
    case Figure::kDropped: return true;
    case Figure::kP50: return of.timed * 0.5 >= kMinBeyond;
    case Figure::kP95: return of.timed * 0.05 >= kMinBeyond;
    case Figure::kP99: break;
  }
  return of.timed * 0.01 >= kMinBeyond;
}

Judgement judge(const Difference& of, double tolerated) {
  // Of a rate, less is worse; of all others, more.
  const double sign = of.figure == Figure::kRate ? -1 : 1;
  const bool surely = of.low > 0 || of.high < 0;
  if (surely && sign * of.change > tolerated) return Judgement::kWorse;
  if (surely && -sign * of.change > tolerated) return Judgement::kBetter;
  return of.low >= -tolerated && of.high <= tolerated ? Judgement::kSame : Judgement::kUnclear;
}

// Without its interval; `error` is that of the change.
Difference difference_of(std::size_t f, const Estimate& before, const Estimate& after, double& error) {
  Difference out;
  out.figure = kFigures[f];
  out.before = before.value[f];
  out.after = after.value[f];
  if (is_ratio(out.figure)) {
    out.change = out.after - out.before;
    error = std::hypot(before.error[f], after.error[f]);
  } else if (out.before > 0) {
    const double ratio = out.after / out.before;
    out.change = ratio - 1;
    error = std::hypot(after.error[f] / out.before, ratio * before.error[f] / out.before);
  }
  const bool compares = is_ratio(out.figure) || out.before > 0;
  if (compares && can_be_judged(out.figure, before) && can_be_judged(out.figure, after)) {
    out.judgement = Judgement::kUnclear;
  }
  return out;
}

}  // namespace

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
  check(alpha > 0 && alpha < 1, "a ratio");
  double low = 0;
  double high = 1;
  while (student_within(high, freedom) < 1 - alpha && high < 1e12) high *= 2;
  for (int i = 0; i < 100 && high - low > 1e-9 * high; ++i) {
    const double middle = (low + high) / 2;
    (student_within(middle, freedom) < 1 - alpha ? low : high) = middle;
  }
  return (low + high) / 2;
}

Batcher::Batcher(std::vector<Step> steps, uint64_t seconds, uint64_t coarsest)
    : steps_(std::move(steps)), seconds_(seconds) {
  const uint64_t unit = std::max<uint64_t>(1, coarsest);
  // A whole number of the longest intervals, so that each of them lies in one batch.
  const uint64_t units = std::max<uint64_t>(1, seconds / unit);
  batch_ = unit * ((units + kMaxBatches - 1) / kMaxBatches);
  for (const Step& step : steps_) {
    out_.steps.push_back(step.name);
    workflows_.insert(step.workflow);
  }
  out_.of.resize(steps_.size() + 1);
}

void Batcher::add(const metrics::Window& window, uint64_t span) {
  if (window.second >= seconds_ || window.covered < Duration::millis(100)) return;
  const auto at = static_cast<std::size_t>(window.second / batch_);
  if (at >= out_.covered.size()) {
    out_.covered.resize(at + 1);
    spans_.resize(at + 1);
    for (auto& batches : out_.of) batches.resize(at + 1);
  }
  out_.covered[at] += window.covered;
  spans_[at] += span;
  StepBatch& all = out_.of.back()[at];
  for (const std::size_t w : workflows_) {
    const metrics::WorkflowWindow& from = window.workflows[w];
    all.due += std::max(from.on_time + from.late, from.iterations) + from.dropped;
    all.dropped += from.dropped;
  }
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const metrics::StepWindow& from = window.steps[steps_[s].index];
    StepBatch& to = out_.of[s][at];
    to.count += from.count;
    to.failed += from.failed;
    all.count += from.count;
    all.failed += from.failed;
    from.response.answered.each_bucket([&](uint32_t bucket, uint64_t count) {
      to.times[bucket] += count;
      all.times[bucket] += count;
    });
  }
}

Batches Batcher::take() {
  if (spans_.size() > 1 && 2 * spans_.back() < batch_) {
    out_.covered.pop_back();
    for (auto& batches : out_.of) batches.pop_back();
  }
  return std::move(out_);
}

std::string_view to_string(Figure figure) {
  static constexpr EnumNames<Figure> kNames("rate", "errors", "p50", "p95", "p99", "dropped");
  return kNames[figure];
}

std::string_view to_string(Judgement judgement) {
  static constexpr EnumNames<Judgement> kNames("worse", "better", "same", "unclear", "not judged");
  return kNames[judgement];
}

std::size_t Comparison::count(Judgement judgement) const {
  std::size_t out = 0;
  for (const StepComparison& step : steps) {
    out += static_cast<std::size_t>(std::ranges::count(step.differences, judgement, &Difference::judgement));
  }
  return out;
}

// The width of an interval falls with the square root of the length of the runs. It has to be as narrow as the
// tolerance, or as the change if that is greater.
double Comparison::longer(const Tolerance& tolerance) const {
  double out = 1;
  for (const StepComparison& step : steps) {
    for (const Difference& one : step.differences) {
      if (one.judgement != Judgement::kUnclear) continue;
      const double allowed = is_ratio(one.figure) ? tolerance.errors : tolerance.relative;
      const double needed = std::max({allowed, std::abs(one.change), 1e-6});
      out = std::max({out, 2.0, std::pow((one.high - one.low) / 2 / needed, 2)});
    }
  }
  return out;
}

Comparison compare(const Batches& before, const Batches& after, const Tolerance& tolerance) {
  check(before.steps == after.steps, "runs are compared by the steps that both have");
  Comparison out;
  out.batches_before = before.covered.size();
  out.batches_after = after.covered.size();
  Prng prng(tolerance.seed);
  std::vector<double> errors;
  const std::size_t all = before.steps.size();
  // The sum of a single step is that step.
  for (std::size_t i = 0; i < (all == 1 ? 1 : all + 1); ++i) {
    const std::size_t step = i == 0 ? all : i - 1;
    StepComparison one;
    if (const std::size_t named = all == 1 ? 0 : step; named < all) one.step = before.steps[named];
    const Estimate of_before = estimate(before, step, prng);
    const Estimate of_after = estimate(after, step, prng);
    for (std::size_t f = 0; f < kFigures.size(); ++f) {
      if (kFigures[f] == Figure::kDropped && of_before.value[f] + of_after.value[f] == 0) continue;
      double error = 0;
      one.differences.push_back(difference_of(f, of_before, of_after, error));
      errors.push_back(error);
      out.judged += one.differences.back().judgement == Judgement::kNotJudged ? 0 : 1;
    }
    out.steps.push_back(std::move(one));
  }
  if (out.judged == 0) return out;
  const auto freedom = static_cast<int>(std::min(out.batches_before, out.batches_after)) - 1;
  const double t = student_quantile((1 - tolerance.confidence) / static_cast<double>(out.judged), freedom);
  std::size_t at = 0;
  for (StepComparison& step : out.steps) {
    for (Difference& one : step.differences) {
      const double reach = t * errors[at++];
      one.low = one.change - reach;
      one.high = one.change + reach;
      if (one.judgement == Judgement::kNotJudged) continue;
      one.judgement = judge(one, is_ratio(one.figure) ? tolerance.errors : tolerance.relative);
    }
  }
  return out;
}

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

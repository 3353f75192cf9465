// The times that users waited for responses, also where no response came. Each figure is a lower bound and, if known,
// an upper one:
//   - A request without a response (a timeout, a reset) counts as slower than every response.
//   - The wait of a request that was dropped before it was sent, or cut off by the end of the run, is a lower bound of
//     its response time. Upper bounds take it as slower than every response.
//   - No figure is below that of the responses alone.
// So failing, dropping or ending early never improves a figure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/time.h"
#include "load/metrics/histogram.h"

namespace bellwether::metrics {

struct ResponseFigure {
  Duration value;                // a lower bound
  std::optional<Duration> most;  // none: unknown, because requests without a response decide it
  // `most` is no more than a rounding away from `value`.
  bool known() const;
  bool operator==(const ResponseFigure&) const = default;
};

struct ResponseTimes {
  explicit ResponseTimes(PiecePool* pool = nullptr) : answered(pool), unanswered(pool), unfinished(pool) {}

  Histogram answered;    // due → end of the response
  Histogram unanswered;  // due → failure
  Histogram unfinished;  // due → drop or end of the run

  void merge(const ResponseTimes& other);
  void clear();
  bool empty() const { return answered.empty() && all_answered(); }
  uint64_t count() const { return answered.count() + unanswered.count() + unfinished.count(); }

  // The lower bounds of all; those of requests without a response are at least the longest response.
  Histogram waits() const;
  // Zero if there was no request. `percent`: 0 to 100. `most` of the mean is known only if all were answered.
  ResponseFigure percentile(double percent) const { return percentiles(std::array{percent})[0]; }
  // Merges the waits once for all of them.
  template <std::size_t N>
  std::array<ResponseFigure, N> percentiles(const std::array<double, N>& percents) const {
    const std::optional<Histogram> all = all_answered() ? std::nullopt : std::optional(waits());
    std::array<ResponseFigure, N> out;
    for (std::size_t i = 0; i < N; ++i) out[i] = percentile_among(percents[i], all ? &*all : nullptr);
    return out;
  }
  ResponseFigure mean() const;
  ResponseFigure max() const;
  // The least of them; a drop or the end of the run does not make it less than that of the responses.
  Duration min() const { return answered.empty() ? waits().min() : answered.min(); }

  bool operator==(const ResponseTimes&) const = default;

 private:
  bool all_answered() const { return unanswered.empty() && unfinished.empty(); }
  // `all`: waits(); null when all were answered.
  ResponseFigure percentile_among(double percent, const Histogram* all) const;
};

}  // namespace bellwether::metrics

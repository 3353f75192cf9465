// Whether this node is overloaded: its observations (how long operations take, how full it is) go in, and one of four
// states comes out. The state decides which messages the node accepts (below, and in request_limiter.h).
//
// Three views, of which the worst wins:
//   - the duration of operations against a baseline: the average of the last ten samples against a moving average that
//     is learnt, and whether it grows, by linear regression over the last twenty. So it learns the normal state of a
//     machine. It says nothing before the third sample.
//   - the absolute duration of operations, because the baseline may have been learnt in a slow state;
//   - the load of processor, memory and queues, which rises before operations take longer.
//
// The baseline is not learnt while the node is stressed or worse: else the bad state would become normal.
//
// A state gets worse after two samples in a row that say so, and better after ten, with a margin, so that it does not
// flap. A kernel: no clock; the sampler samples at even intervals.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "core/base/time.h"

namespace bellwether::resilience {

enum class LoadState : unsigned char { kHealthy, kBusy, kStressed, kOverloaded };
std::string_view to_string(LoadState state);  // "healthy", "busy", "stressed", "overloaded"

// The bounds of busy, stressed and overloaded. REQUIRES that they ascend.
using LoadBounds = std::array<double, 3>;

struct OverloadSettings {
  double learning = 0.1;            // the share of a sample in the baseline
  LoadBounds above{0.2, 0.5, 1.0};  // by how much the average exceeds the baseline: 1 is twice as long
  double slope = 0.1;               // growth of that from sample to sample, above which alone it is overloaded
  // A baseline below this counts as this: near zero, a small increase is no sign of load.
  Duration least_baseline = Duration::millis(1);
  LoadBounds latency_ms{200, 500, 2000};
  LoadBounds cpu{0.7, 0.85, 0.95};     // averaged too, for a processor that is used now and then is no bad sign
  LoadBounds memory{0.7, 0.85, 0.95};  // of the usable memory
  LoadBounds queue{0.7, 0.85, 0.95};   // of its capacity
  double margin = 0.9;                 // it is better below this share of a bound
  unsigned worse_after = 2;
  unsigned better_after = 10;
};

class OverloadDetector {
 public:
  static constexpr std::size_t kAverageOver = 10;
  static constexpr std::size_t kTrendOver = 20;
  static constexpr std::size_t kMinSamples = 3;  // for a verdict by the baseline

  // REQUIRES 0 < learning <= 1, 0 < margin <= 1, a least baseline above zero, and counts above zero.
  explicit OverloadDetector(const OverloadSettings& settings = {});

  // The known load of the resources, in [0, 1]; counts from the next sample of latency on. Only the resources of the
  // control plane belong in it: the cores that make load are to be at their limit.
  void resources(double cpu, double memory);
  void queue(double fill) { queue_ = fill; }
  // One sample of a duration, and the verdict with it. A negative one counts as zero.
  void latency(Duration latency);

  LoadState state() const { return state_; }
  // The cause, for people: "latency", "trend", "cpu", "memory", "queue"; empty while healthy.
  std::string_view reason() const { return reason_; }
  Duration baseline() const { return Duration::from_seconds_f(baseline_ms_ / 1000); }

 private:
  // The last values, oldest forgotten first.
  template <std::size_t kMaxValues>
  class Recent {
   public:
    void add(double value);
    std::size_t size() const { return size_; }
    double average() const;
    double slope() const;  // of the line through them, for a step from one to the next; REQUIRES two

   private:
    std::array<double, kMaxValues> values_{};
    std::size_t next_ = 0;
    std::size_t size_ = 0;
  };
  struct Verdict {
    LoadState state = LoadState::kHealthy;
    std::string_view reason;
  };
  Verdict judge(double ratio) const;
  double excess() const;
  void settle(Verdict now, Verdict relaxed);

  OverloadSettings settings_;
  double baseline_ms_ = 0;
  bool has_baseline_ = false;
  Recent<kAverageOver> latency_ms_;
  Recent<kTrendOver> excess_;
  Recent<kAverageOver> cpu_;
  double memory_ = 0;
  double queue_ = 0;

  LoadState state_ = LoadState::kHealthy;
  std::string_view reason_;
  unsigned worse_ = 0;
  unsigned better_ = 0;
  Verdict mildest_;   // of the samples in a row that are worse
  Verdict harshest_;  // of the better samples
};

// The messages that an overloaded node refuses. Each message has one of four urgencies (cluster/net/message_classes.h),
// and a state of load accepts those that it can bear. Critical messages always pass: without them a cluster could
// neither obey a stop order nor recover.
enum class Urgency : unsigned char {
  kCritical,  // never shed: ends work, keeps the cluster together, or carries results
  kHigh,      // brings work: shed when overloaded
  kNormal,    // shed when stressed: reports and questions about work
  kLow,       // shed when busy: mere information
};
inline constexpr std::size_t kUrgencies = 4;
std::string_view to_string(Urgency urgency);  // "critical", "high", "normal", "low"

constexpr bool sheds(LoadState state, Urgency urgency) {
  return static_cast<std::size_t>(urgency) + static_cast<std::size_t>(state) >= kUrgencies &&
         urgency != Urgency::kCritical;
}

// How long a refused client waits, before the spread: until an improvement can show.
Duration shed_for(LoadState state);

}  // namespace bellwether::resilience

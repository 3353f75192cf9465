#include "node/local/local_run.h"

#include "aggregate/thresholds.h"

namespace bellwether::node {
namespace {
// Threads need a moment to wake up; the schedule starts when all are there.
constexpr Duration kHeadStart = Duration::millis(20);
}  // namespace

LocalRun::LocalRun(runtime::EpollRuntime& control, const plan::Plan& plan, LocalOptions options, Observer* observer)
    : control_(control),
      plan_(plan),
      cores_(options.cores),
      observer_(observer),
      totals_(plan),
      group_(control, plan,
             {.threads = options.cores, .parts = options.cores, .pin = std::move(options.pin), .seed = options.seed},
             *this) {}

Status LocalRun::prepare() { return group_.prepare(); }

runtime::task<void> LocalRun::run() {
  start_ = control_.read_clock() + kHeadStart;
  started_at_ = control_.wall_now();
  co_await group_.run(start_);
}

void LocalRun::interrupt(aggregate::Ending why, std::string detail) {
  if (!group_.running()) return;
  if (interrupts_ == 0) {
    ending_ = why;
    note("stopping", std::move(detail));
  }
  if (++interrupts_ == 1) {
    group_.stop();
  } else {
    group_.kill();
  }
}

void LocalRun::second_over(const metrics::Window& window, Duration covered) {
  totals_.add(window, covered);
  if (!group_.running()) return;
  if (observer_ != nullptr) observer_->second_over(totals_);
  if (interrupts_ > 0) return;
  if (const auto failed = aggregate::abort_due(totals_)) {
    const plan::Threshold& threshold = plan_.thresholds[*failed];
    interrupt(aggregate::Ending::kThreshold,
              "threshold " + threshold.metric_text + " " + threshold.expression + " failed");
  }
}

void LocalRun::aborted_by(const std::string& step) {
  if (interrupts_ == 0) interrupt(aggregate::Ending::kOnError, "step " + step + " failed and says on_error: abort");
}

void LocalRun::note(std::string kind, std::string detail) {
  events_.push_back({control_.now() - start_, std::move(kind), std::move(detail)});
}

}  // namespace bellwether::node

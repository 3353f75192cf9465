#include "node/local/local_run.h"

#include <algorithm>

#include "aggregate/thresholds.h"

namespace bellwether::node {
namespace {
// Threads need a moment to wake up; the schedule starts when all are there.
constexpr Duration kHeadStart = Duration::millis(20);
}  // namespace

LocalRun::LocalRun(runtime::EpollRuntime& control, const plan::Plan& plan, LocalOptions options, Observer* observer)
    : control_(control), plan_(plan), options_(std::move(options)), observer_(observer), totals_(plan) {}

LocalRun::~LocalRun() = default;

Status LocalRun::prepare() {
  const uint64_t seed = options_.seed != 0 ? options_.seed : control_.prng().next();
  for (uint32_t i = 0; i < options_.cores; ++i) {
    std::optional<int> cpu;
    if (!options_.pin.empty()) cpu = options_.pin[i % options_.pin.size()];
    threads_.push_back(std::make_unique<LoadThread>(plan_, i, options_.cores, cpu, seed + i, control_, *this));
    if (auto prepared = threads_.back()->prepare(); !prepared) return prepared;
    delivered_[threads_.back().get()] = 0;
  }
  return {};
}

runtime::task<void> LocalRun::run() {
  start_ = control_.read_clock() + kHeadStart;
  started_at_ = control_.wall_now();
  running_ = threads_.size();
  for (const auto& thread : threads_) thread->start(start_);
  co_await all_ended_.wait();

  Instant last = start_;
  for (const auto& thread : threads_) last = std::max(last, thread->ended());
  elapsed_ = last - start_;
  close_seconds(UINT64_MAX);
}

void LocalRun::interrupt(aggregate::Ending why, std::string detail) {
  if (running_ == 0) return;
  if (interrupts_ == 0) {
    ending_ = why;
    note("stopping", std::move(detail));
  }
  ++interrupts_;
  for (const auto& thread : threads_) {
    if (interrupts_ == 1) {
      thread->stop();
    } else {
      thread->kill();
    }
  }
}

void LocalRun::window_ready(LoadThread& thread) {
  while (metrics::Window* window = thread.next_full()) {
    std::unique_ptr<metrics::Window>& second = open_seconds_[window->second];
    if (second == nullptr) {
      if (spare_.empty()) {
        second =
            std::make_unique<metrics::Window>(plan_.steps.size(), plan_.workflows.size(), plan_.checks.size(), nullptr);
      } else {
        second = std::move(spare_.back());
        spare_.pop_back();
      }
      second->second = window->second;
    }
    second->merge(*window);
    delivered_[&thread] = window->second + 1;
    thread.release(window);
  }
  uint64_t complete_to = UINT64_MAX;
  for (const auto& [ignored, seconds] : delivered_) complete_to = std::min(complete_to, seconds);
  // The last second of a run is a short one: it is closed when all threads have ended and its length is known.
  if (complete_to > 0)
    close_seconds(std::min(complete_to, static_cast<uint64_t>((control_.now() - start_).ns() / 1'000'000'000)));
}

// Adds the seconds before `complete_to`, which no thread will add to any more, to the totals.
void LocalRun::close_seconds(uint64_t complete_to) {
  while (!open_seconds_.empty() && open_seconds_.begin()->first < complete_to) {
    auto window = std::move(open_seconds_.begin()->second);
    open_seconds_.erase(open_seconds_.begin());
    Duration covered = Duration::seconds(1);
    if (complete_to == UINT64_MAX) {
      const Duration begins = Duration::seconds(static_cast<int64_t>(window->second));
      covered = std::clamp(elapsed_ - begins, Duration::nanos(1), Duration::seconds(1));
    }
    totals_.add(*window, covered);
    window->clear();
    spare_.push_back(std::move(window));
    if (observer_ != nullptr && complete_to != UINT64_MAX) observer_->second_over(totals_);
    if (interrupts_ > 0) continue;
    if (const auto failed = aggregate::abort_due(totals_)) {
      const plan::Threshold& threshold = plan_.thresholds[*failed];
      interrupt(aggregate::Ending::kThreshold,
                "threshold " + threshold.metric_text + " " + threshold.expression + " failed");
    }
  }
}

void LocalRun::aborted_by(const std::string& step) {
  if (interrupts_ == 0) interrupt(aggregate::Ending::kOnError, "step " + step + " failed and says on_error: abort");
}

void LocalRun::thread_ended(LoadThread& thread) {
  delivered_.erase(&thread);
  if (--running_ == 0) all_ended_.set();
}

void LocalRun::note(std::string kind, std::string detail) {
  events_.push_back({control_.now() - start_, std::move(kind), std::move(detail)});
}

}  // namespace bellwether::node

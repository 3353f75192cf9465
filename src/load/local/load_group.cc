#include "load/local/load_group.h"

#include <algorithm>

#include "core/base/check.h"
#include "load/aggregate/totals.h"
#include "load/plan/context.h"

namespace bellwether::node {

LoadGroup::LoadGroup(runtime::EpollRuntime& control, const plan::Plan& plan, GroupOptions options, Listener& listener)
    : control_(control),
      plan_(plan),
      options_(std::move(options)),
      listener_(listener),
      ran_most_(plan.workflows.size()),
      ran_told_(plan.workflows.size()) {
  check(!options_.assignments.empty(), "a group runs something");
}

LoadGroup::~LoadGroup() = default;

Status LoadGroup::prepare() {
  const uint64_t seed = options_.seed != 0 ? options_.seed : control_.prng().next();
  uint32_t parts = 1;
  for (const vuser::EngineAssignment& one : options_.assignments) parts = std::max(parts, one.parts);
  // Parts that may move to another process keep their arrivals: the number that came due tells the rows they took.
  const bool reported = options_.assignments.front().reported;
  if (parts > 1 && !reported) spare_users_ = std::make_unique<vuser::SpareUsers>(plan_.workflows.size(), parts);
  for (std::size_t i = 0; i < options_.assignments.size(); ++i) {
    LoadThread::Options one;
    one.assignment = options_.assignments[i];
    if (!options_.pin.empty()) one.cpu = options_.pin[i % options_.pin.size()];
    // Each workflow has its own random sequence.
    const uint64_t first = one.assignment.workflows.empty() ? 0 : one.assignment.workflows.front();
    one.seed = seed + one.assignment.part + (first << 32U);
    one.tally_every = options_.tally_every;
    one.programs = options_.programs;
    one.instruments.watch = options_.watch;
    one.permit = options_.permit;
    one.spare = spare_users_.get();
    if (options_.request_log != nullptr) one.instruments.requests = &options_.request_log->new_pages();
    threads_.push_back(std::make_unique<LoadThread>(plan_, one, control_, *this));
    BW_RETURN_IF_ERROR(threads_.back()->prepare());
  }
  return {};
}

runtime::task<void> LoadGroup::run(Instant start, vuser::Resume resume, uint64_t base) {
  start_ = start;
  base_ = base;
  resume_at_ = resume.at;
  next_second_ = static_cast<uint64_t>(resume.at / Duration::seconds(1));
  running_ = threads_.size();
  for (const auto& thread : threads_) {
    delivered_[thread.get()] = next_second_;
    thread->start(start, resume);
  }
  co_await all_ended_.wait();

  Instant last = start_;
  for (const auto& thread : threads_) last = std::max(last, thread->ended());
  elapsed_ = std::max(last - start_, resume.at);
  // A delayed thread may have ended in seconds that it did not report.
  const auto lived = static_cast<uint64_t>((elapsed_ + Duration::nanos(999'999'999)) / Duration::seconds(1));
  close_seconds(std::max(lived, open_seconds_.empty() ? 0 : open_seconds_.rbegin()->first + 1));
}

void LoadGroup::stop() {
  if (!running()) return;
  for (const auto& thread : threads_) thread->stop();
}

void LoadGroup::hand_over(Duration at) {
  if (!running()) return;
  for (const auto& thread : threads_) thread->hand_over(at);
}

void LoadGroup::applied(uint64_t seconds) {
  if (!running()) return;
  for (const auto& thread : threads_) thread->applied(seconds);
}

void LoadGroup::pause() {
  for (const auto& thread : threads_) thread->pause();
}

void LoadGroup::resume() {
  for (const auto& thread : threads_) thread->resume();
}

void LoadGroup::scale(uint16_t workflow, uint32_t vus) {
  for (const auto& thread : threads_) thread->scale(workflow, vus);
}

void LoadGroup::kill() {
  if (!running()) return;
  for (const auto& thread : threads_) thread->kill();
}

void LoadGroup::tell_what_is_over() {
  if (!running()) return;
  const Duration lived = std::max(Duration::zero(), control_.read_clock() - start_);
  // Threads may have ended in a second that is over, and this thread has not heard of that.
  uint64_t last = 0;
  for (const auto& thread : threads_) last = std::max(last, thread->last_second());
  close_seconds(std::min(last, static_cast<uint64_t>(lived / Duration::seconds(1))));
}

vuser::Tally LoadGroup::tally() const {
  vuser::Tally sum;
  for (const auto& thread : threads_) sum += thread->tally();
  return sum;
}

vuser::Headway LoadGroup::headway() const {
  vuser::Headway sum;
  for (const auto& thread : threads_) sum += thread->headway();
  return sum;
}

std::vector<plan::Provided> LoadGroup::provided(uint16_t workflow) const {
  std::vector<plan::Provided> out;
  std::map<uint16_t, plan::Collection> lists;
  for (const auto& thread : threads_) {
    for (const plan::Provided& one : thread->provided(workflow)) {
      if (one.listed) {
        lists[one.provide].add(one);
      } else {
        plan::merge(out, one);
      }
    }
  }
  plan::cut_to_size(out);
  for (const auto& [provide, list] : lists) {
    const std::vector<plan::Provided> values = list.provided(provide);
    out.insert(out.end(), values.begin(), values.end());
  }
  return out;
}

Duration LoadGroup::elapsed(uint16_t workflow) const {
  Instant end = start_;
  for (const auto& thread : threads_) end = std::max(end, thread->ended(workflow));
  return std::min(end - start_, elapsed_);
}

void LoadGroup::window_ready(LoadThread& thread) {
  while (metrics::Window* window = thread.next_full()) {
    const uint64_t number = std::max(window->second, next_second_);
    std::unique_ptr<metrics::Window>& second = open_seconds_[number];
    if (second == nullptr) {
      second = empty_window();
      second->second = number;
    }
    second->merge(*window);
    std::vector<Duration>& ran = ran_[&thread];
    ran.resize(window->workflows.size());
    for (std::size_t w = 0; w < ran.size(); ++w) {
      ran[w] += window->workflows[w].ran;
      ran_most_[w] = std::max(ran_most_[w], ran[w]);
    }
    // Its last second may be a short one: the length is known when the thread has ended.
    delivered_[&thread] = window->second + (thread.is_last(window->second) ? 0 : 1);
    thread.release(window);
  }
  uint64_t complete_to = UINT64_MAX;
  for (const auto& [ignored, second] : delivered_) complete_to = std::min(complete_to, second);
  // The last second of a run is a short one: it is closed when all threads have ended and its length is known.
  const Duration lived = std::max(Duration::zero(), control_.now() - start_);
  close_seconds(std::min(complete_to, static_cast<uint64_t>(lived / Duration::seconds(1))));
}

std::unique_ptr<metrics::Window> LoadGroup::empty_window() {
  if (spare_.empty()) {
    return std::make_unique<metrics::Window>(aggregate::shape_of(plan_));
  }
  auto window = std::move(spare_.back());
  spare_.pop_back();
  return window;
}

// Reports the seconds before `complete_to`, to which no thread adds any more. A thread that was delayed for seconds
// reports them in one window; its other seconds exist and are empty.
void LoadGroup::close_seconds(uint64_t complete_to) {
  while (next_second_ < complete_to) {
    auto found = open_seconds_.extract(next_second_);
    auto window = found.empty() ? empty_window() : std::move(found.mapped());
    window->second = base_ + next_second_;
    window->covered = covered(next_second_);
    set_ran(*window);
    listener_.second_over(*window, window->covered);
    window->clear();
    spare_.push_back(std::move(window));
    ++next_second_;
  }
}

// The threads begin a workflow at one moment, so it runs as long as on the thread that ends it last. The times of their
// windows do not say in which second: a window of a delayed thread has several seconds, which others reported one by
// one.
void LoadGroup::set_ran(metrics::Window& window) {
  const Duration end = Duration::seconds(static_cast<int64_t>(next_second_) + 1);
  for (std::size_t w = 0; w < ran_most_.size(); ++w) {
    const Duration from = std::max(plan_.workflows[w].start_time, resume_at_);
    window.workflows[w].ran = std::max(std::min(ran_most_[w], end - from) - ran_told_[w], Duration::zero());
    ran_told_[w] += window.workflows[w].ran;
  }
}

Duration LoadGroup::covered(uint64_t second) const {
  const Duration begins = Duration::seconds(static_cast<int64_t>(second));
  Duration ends = begins + Duration::seconds(1);
  if (!running()) ends = std::min(ends, elapsed_);
  return std::clamp(ends - std::max(begins, resume_at_), Duration::nanos(1), Duration::seconds(1));
}

void LoadGroup::thread_ended(LoadThread& thread) {
  delivered_.erase(&thread);
  if (--running_ == 0) all_ended_.set();
}

}  // namespace bellwether::node

#include "sim/datacenter/sim_assignments.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "core/runtime/event.h"

namespace bellwether::sim {

using node::AssignmentEnd;
using runtime::task;

namespace {

constexpr Duration kSecond = Duration::seconds(1);
constexpr Duration kPreparedSoon = Duration::millis(1);
constexpr Duration kPreparedLate = Duration::millis(1500);
constexpr Duration kToldLate = Duration::millis(30);
constexpr Duration kStopsWithin = Duration::millis(150);
constexpr Duration kMaxOnce = Duration::seconds(8);
constexpr int64_t kMaxRequests = 12;
constexpr uint64_t kMaxPace = 12;  // iterations of a part in a second, where they are counted

// The measured data of some parts in a second.
metrics::Window make_window(Prng& prng, const JobStory& job, uint16_t workflow, uint32_t parts) {
  metrics::Window window(job.shape);
  for (std::size_t i = 0; i < job.plan->steps.size(); ++i) {
    if (job.plan->steps[i].workflow != workflow) continue;
    metrics::StepWindow& step = window.steps[i];
    const auto requests = prng.between(0, kMaxRequests * int64_t{parts});
    for (int64_t n = 0; n < requests; ++n) {
      const Duration took = prng.between(Duration::nanos(1), Duration::micros(int64_t{1} << prng.below(22)));
      ++step.count;
      step.bytes_sent += prng.below(1'000'000);
      step.bytes_received += prng.below(1'000'000);
      if (prng.chance(0.1)) {
        ++step.failed;
        ++step.errors[prng.below(http1::kErrorKinds)];
        continue;
      }
      step.status.add(prng.chance(0.9) ? 200 : 503, 1);
      step.service.record(took);
      step.response.answered.record(took + Duration::nanos(static_cast<int64_t>(prng.below(1000))));
      step.phases[prng.below(metrics::kPhases)].record(took / 2);
    }
  }
  metrics::WorkflowWindow& of = window.workflows[workflow];
  of.iterations = prng.below(10);
  of.vus_active = static_cast<int64_t>(prng.below(5));
  of.vus_allocated = of.vus_active;
  of.scheduled = of.on_time = prng.below(10);
  if (of.iterations > 0) of.iteration.record(Duration::millis(3), of.iterations);
  window.cpu = Duration::nanos(static_cast<int64_t>(prng.below(1'000'000'000)));
  return window;
}

}  // namespace

class SimAssignment final : public node::AssignmentProcess {
 public:
  SimAssignment(SimAssignments& all, SimAssignments::Key key, JobStory& job, node::ChildOrder order, Listener listener)
      : all_(all),
        runtime_(all.runtime_),
        key_(std::move(key)),
        job_(job),
        story_(job.assignments[key_.second]),
        workflow_(order.workflow),
        parts_(order.count),
        first_(order.first),
        listener_(listener),
        prng_(all.runtime_.prng().fork()),
        tell_end_(&ended, this) {
    const auto& counted = job_.spec[workflow_].counted;
    left_ = order.iterations;
    for (uint32_t part = first_; counted && is("begins-anew") && part < first_ + parts_; ++part) {
      left_ = (part == first_ ? 0 : *left_) + counted->planned(part, order.of);
    }
    all_.alive_.insert(key_);
    ++all_.place_.children;
    const DatacenterStage& stage = *all_.place_.stage;
    fails_ = stage.assignments_fail && prng_.chance(0.02);
    crashes_ = stage.assignments_fail && prng_.chance(0.03);
    is_deaf_ = prng_.chance(0.05);
    stands_still_ = stage.assignments_fail && prng_.chance(0.03);
    life_ = live();
  }
  ~SimAssignment() override {
    all_.alive_.erase(key_);
    --all_.place_.children;
  }

  void begin(Instant start, Duration resume_at) override {
    start_ = start;
    next_second_ = static_cast<uint64_t>(resume_at / kSecond);
    resumed_at_ = resume_at;
    story_.begun = true;
    story_.resumed = resume_at > Duration::zero();
    const dispatch::WorkflowSpec& spec = job_.spec[workflow_];
    const bool once = spec.length == Duration::zero();
    ends_ = start + (once ? prng_.between(Duration::millis(200), kMaxOnce) : spec.length);
    if (!once && prng_.chance(0.3)) ends_ = ends_ + prng_.between(Duration::zero(), spec.graceful_stop);
    if (crashes_) crash_at_ = runtime_.now() + prng_.between(Duration::zero(), Duration::seconds(20));
    begun_.set();
  }
  void stop(bool graceful) override {
    if ((is_deaf_ || stands_still_) && story_.begun) return;
    const Duration most = graceful ? job_.spec[workflow_].graceful_stop : kStopsWithin;
    const Instant end = runtime_.now() + prng_.between(Duration::zero(), most);
    if (ends_ <= end) return;
    ends_ = end;
    how_ = AssignmentEnd::How::kStopped;
    begun_.set();
    if (nap_ != nullptr) nap_->cancel();
  }
  void hand_over(Duration at) override {
    if (ends_ <= start_ + at) return;
    ends_ = start_ + at;
    if (nap_ != nullptr) nap_->cancel();
  }
  void scale(uint32_t) override {}
  void save() override {}
  void kill() override {
    if (is("never-dies")) return;
    how_ = AssignmentEnd::How::kKilled;
    over_.cancel();
    begun_.set();
  }
  int64_t pid() const override { return 1; }

 private:
  bool is(MistakeIn<kDatacenterMistakes> mistake) const { return all_.place_.stage->is(mistake); }
  static void ended(void* self) {
    auto* assignment = static_cast<SimAssignment*>(self);
    const Duration lived = std::max(assignment->runtime_.now() - assignment->start_, assignment->resumed_at_);
    AssignmentEnd end{assignment->how_, {}, assignment->story_.begun ? lived : Duration::zero()};
    if (assignment->story_.begun && end.how != AssignmentEnd::How::kCrashed) assignment->provide(end);
    assignment->listener_.on_ended(end);
  }

  // Values that name their assignment. Now and then it provides none.
  void provide(AssignmentEnd& end) {
    const std::vector<std::string>& names = job_.spec[workflow_].provides;
    if (prng_.chance(0.2)) return;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string text = fmt::format("{} of assignment {}", names[i], key_.second);
      end.provided.push_back({static_cast<uint16_t>(i), first_ + 1, end.elapsed, text});
      story_.provided.push_back(text);
    }
  }

  task<void> live() {
    co_await runtime_.sleep(prng_.between(kPreparedSoon, prng_.chance(0.2) ? kPreparedLate : kToldLate), &over_);
    if (!over_.cancelled()) {
      if (fails_) {
        how_ = AssignmentEnd::How::kNotPrepared;
        listener_.on_prepared(fail(Errc::kNoSpace, "the simulated machine has no room for the assignment"));
      } else {
        listener_.on_prepared({});
        co_await begun_.wait();
        if (story_.begun) co_await measure();
      }
    }
    runtime_.timers().arm(tell_end_, runtime_.now());
  }

  task<void> measure() {
    if (stands_still_) {
      BW_PROBE("datacenter: an assignment stands still");
      co_await runtime_.sleep_until(Instant::never(), &over_);
      co_return;
    }
    // There are no loops in this model that could turn, or not.
    listener_.on_counters({});
    while (!over_.cancelled()) {
      const Instant border = start_ + kSecond * static_cast<int64_t>(next_second_ + 1);
      const Instant until = std::min({border + prng_.between(Duration::zero(), kToldLate), ends_, crash_at_});
      {
        runtime::Cancellation nap(&over_);
        nap_ = &nap;
        co_await runtime_.sleep_until(until, &nap);
        nap_ = nullptr;
      }
      const Instant now = runtime_.now();
      if (over_.cancelled()) co_return;
      if (crash_at_ <= now) {
        BW_PROBE("datacenter: an assignment crashes");
        how_ = AssignmentEnd::How::kCrashed;
        story_.crashed = true;
        co_return;
      }
      if (border <= std::min(now, ends_)) {
        tell(kSecond);
        if (left_ == 0) co_return;
      } else if (ends_ <= now) {
        const Duration left = ends_ - (border - kSecond);
        if (left > Duration::zero()) tell(left);
        co_return;
      }
      if (ends_ <= std::min(now, border)) co_return;
    }
  }

  void tell(Duration covered) {
    metrics::Window window = make_window(prng_, job_, workflow_, parts_);
    window.second = next_second_;
    window.covered = covered;
    if (left_) {
      metrics::WorkflowWindow& of = window.workflows[workflow_];
      of.iterations = std::min(*left_, prng_.below(kMaxPace * parts_));
      of.vus_active = 0;
      *left_ -= of.iterations;
    }
    const std::string bytes = ingest::encode_window(window);
    story_.told.push_back({next_second_, bytes});
    const uint64_t second = next_second_++;
    if (is("loses-second") && prng_.chance(0.05)) return;
    listener_.on_second(second, bytes, covered);
    if (is("tells-twice") && prng_.chance(0.05)) listener_.on_second(second, bytes, covered);
  }

  SimAssignments& all_;
  runtime::Runtime& runtime_;
  SimAssignments::Key key_;
  JobStory& job_;
  AssignmentStory& story_;
  uint16_t workflow_;
  uint32_t parts_;
  uint32_t first_;
  Listener listener_;
  Prng prng_;
  bool fails_ = false;
  bool crashes_ = false;
  bool is_deaf_ = false;
  std::optional<uint64_t> left_;  // iterations, where they are counted
  bool stands_still_ = false;     // its process does nothing any more, from its begin on
  Instant start_;
  Instant ends_ = Instant::never();
  Instant crash_at_ = Instant::never();
  Duration resumed_at_;
  uint64_t next_second_ = 0;
  AssignmentEnd::How how_ = AssignmentEnd::How::kCompleted;
  runtime::Cancellation over_;
  runtime::Cancellation* nap_ = nullptr;
  runtime::Event begun_;
  runtime::Timer tell_end_;
  task<void> life_;
};

// The assignment that the kernel has just admitted.
SimAssignments::Key SimAssignments::key_of(const JobStory& job) const {
  for (const dispatch::WorkerReport::Held& held : place_.worker->service().kernel().report().held) {
    if (held.job != job.id || held.phase != dispatch::AssignmentPhase::kPreparing) continue;
    Key key(held.job, held.assignment.value());
    if (!alive_.contains(key)) return key;
  }
  check(false, "an assignment is started that the kernel has admitted");
  return {};
}

std::unique_ptr<node::AssignmentProcess> SimAssignments::start(node::ChildOrder order,
                                                               node::AssignmentProcess::Listener listener) {
  DatacenterStage& stage = *place_.stage;
  JobStory& job = *stage.jobs.at(order.seed >> 48U);
  Key key = key_of(job);
  AssignmentStory& story = job.assignments[key.second];
  if (story.begun && stage.violation.empty()) {
    stage.violation = fmt::format("assignment {} of job '{}' was started twice", key.second, job.id);
  }
  story = AssignmentStory();
  story.worker = place_.name;
  story.life = place_.worker->service().life();
  story.workflow = order.workflow;
  story.parts = {order.first, order.count, order.of};
  story.given = stage.is("loses-values") ? std::vector<plan::Given>() : order.given;
  return std::make_unique<SimAssignment>(*this, std::move(key), job, std::move(order), listener);
}

}  // namespace bellwether::sim

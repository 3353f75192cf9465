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
    all_.alive_[key_] = this;
    ++all_.place_.children;
    const DatacenterStage& stage = *all_.place_.stage;
    fails_ = stage.assignments_fail && prng_.chance(0.02);
    crashes_ = stage.assignments_fail && prng_.chance(0.03);
    is_deaf_ = prng_.chance(0.05);
    stands_still_ = stage.assignments_fail && prng_.chance(0.03);
    life_ = live();
  }
  ~SimAssignment() override {
    advance();
    all_.alive_.erase(key_);
    --all_.place_.children;
  }

  void begin(Instant start, Duration resume_at, plan::RowPoint) override {
    start_ = start;
    next_second_ = static_cast<uint64_t>(resume_at / kSecond);
    resumed_at_ = resume_at;
    story_.begun = true;
    story_.resumed = resume_at > Duration::zero();
    const dispatch::WorkflowSpec& spec = job_.spec[workflow_];
    const bool once = spec.length == Duration::zero();
    ends_ = start + (once ? prng_.between(Duration::millis(200), kMaxOnce) : spec.length);
    sends_until_ = once || spec.counted ? Instant::never() : ends_;
    if (!once && prng_.chance(0.3)) ends_ = ends_ + prng_.between(Duration::zero(), spec.graceful_stop);
    if (spec.timeout) times_out_ = start + *spec.timeout;
    ends_ = std::min(ends_, times_out_);
    if (crashes_) crash_at_ = runtime_.now() + prng_.between(Duration::zero(), Duration::seconds(20));
    // One that continues another makes up for nothing.
    sent_ = start + resume_at;
    if (story_.resumed) sent_ = std::max(sent_, runtime_.now());
    const Callback<void()>& taking_over = all_.place_.stage->on_take_over;
    if (start + resume_at > runtime_.now() && story_.resumed && taking_over) taking_over();
    began_ = sent_;
    story_.begins_at = sent_ - start_;
    sends_after_ = all_.place_.home.now();
    sends_ = !stands_still_;
    draw_iterations();
    begun_.set();
  }
  void stop(bool graceful) override {
    if ((is_deaf_ || stands_still_) && story_.begun) return;
    const Duration most = graceful ? job_.spec[workflow_].graceful_stop : kStopsWithin;
    const Instant end = runtime_.now() + prng_.between(Duration::zero(), most);
    if (ends_ <= end) return;
    advance();
    ends_ = end;
    how_ = AssignmentEnd::How::kStopped;
    begun_.set();
    if (nap_ != nullptr) nap_->cancel();
  }
  void hand_over(Duration at) override {
    if (ends_ <= start_ + at) return;
    advance();
    ends_ = start_ + at;
    if (nap_ != nullptr) nap_->cancel();
  }
  void applied(uint64_t) override {}
  void scale(uint32_t) override {}
  void save() override {}
  void kill() override {
    if (is("never-dies")) return;
    cease();
    end(AssignmentEnd::How::kKilled);
  }
  void permit(Instant until) override {
    if (is("outlives-permit")) return;
    advance();
    const Instant now = runtime_.now();
    if (story_.begun && permit_ <= now) return;  // it has ended
    if (is("permit-from-arrival") && until != Instant::never()) {
      if (until == given_) return;
      given_ = until;
      until = runtime_.boot_now() + dispatch::JobRules().permit;
    }
    const Instant before =
        std::exchange(permit_, until == Instant::never() ? until : now + (until - runtime_.boot_now()));
    if (permit_ < before && nap_ != nullptr) nap_->cancel();
  }
  int64_t pid() const override { return 1; }

  // --- its machine, whether its worker gets turns or not
  // The target gets all that was due until now.
  void advance() {
    const Clock& clock = all_.place_.machine.clock();
    const Instant until = std::min({clock.monotonic(all_.place_.home.now()), last(), sends_until_});
    if (!sends_ || frozen_ || until <= sent_) return;
    const Instant from = std::max(clock.world_at(sent_), sends_after_);
    const Instant to = std::max(clock.world_at(until), from + Duration::nanos(1));
    send(story_.sent, {from, to, sent_ - start_, until - start_});
    sent_ = until;
    if (left_) story_.iterations = iterated_ + begun_until(until);
  }
  void freeze() {
    advance();
    frozen_ = true;
  }
  // It looks at its permit before it makes up for what was due.
  void thaw() {
    if (!std::exchange(frozen_, false)) return;
    const Clock& clock = all_.place_.machine.clock();
    if (sends_ && permit_ <= clock.monotonic(all_.place_.home.now())) permit_ = std::min(permit_, sent_);
    sends_after_ = all_.place_.home.now();
  }
  // It sends nothing any more.
  void cease() {
    advance();
    sends_ = false;
  }
  bool sends() const { return sends_; }
  void die() {
    cease();
    killed_ = true;
    crash_at_ = std::min(crash_at_, all_.place_.machine.clock().monotonic(all_.place_.home.now()));
  }
  // Its worker learns of it in this turn.
  void be_found_dead() {
    if (killed_ && nap_ != nullptr) nap_->cancel();
  }

 private:
  bool is(MistakeIn<kDatacenterMistakes> mistake) const { return all_.place_.stage->is(mistake); }
  static void ended(void* self) {
    auto* assignment = static_cast<SimAssignment*>(self);
    const Instant last = std::min(assignment->runtime_.now(), assignment->last());
    const Duration lived = std::max(last - assignment->start_, assignment->resumed_at_);
    AssignmentEnd end{assignment->how_, {}, assignment->story_.begun ? lived : Duration::zero()};
    using How = AssignmentEnd::How;
    const bool is_cut = end.how == How::kCrashed || end.how == How::kFenced || end.how == How::kLost;
    if (assignment->story_.begun && !is_cut) assignment->provide(end);
    assignment->listener_.on_ended(end);
  }
  // When its load ends, at the latest.
  Instant last() const { return std::min({ends_, crash_at_, permit_}); }
  void end(AssignmentEnd::How how) {
    how_ = how;
    over_.cancel();
    begun_.set();
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
        cease();
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
      {
        runtime::Cancellation nap(&over_);
        nap_ = &nap;
        co_await runtime_.sleep_until(std::min(border + prng_.between(Duration::zero(), kToldLate), last()), &nap);
        nap_ = nullptr;
      }
      if (over_.cancelled()) co_return;
      advance();
      const Instant now = runtime_.now();
      if (border <= std::min(now, last())) {
        tell(kSecond);
        if (left_ == 0) co_return;
        if (border < last()) continue;
      }
      if (now < last()) continue;
      if (crash_at_ == last()) {
        BW_PROBE("datacenter: an assignment crashes");
        how_ = killed_ ? AssignmentEnd::How::kLost : AssignmentEnd::How::kCrashed;
        story_.crashed = true;
        co_return;
      }
      if (permit_ < ends_) {
        BW_PROBE("datacenter: an assignment stops because its permit has ended");
        how_ = AssignmentEnd::How::kFenced;
      } else if (ends_ == times_out_) {
        BW_PROBE("datacenter: an assignment reaches the timeout of its workflow");
        how_ = AssignmentEnd::How::kTimedOut;
      }
      const Duration left = last() - (start_ + kSecond * static_cast<int64_t>(next_second_));
      if (left > Duration::zero() && last() > began_) tell(left);
      co_return;
    }
  }

  void tell(Duration covered) {
    metrics::Window window = make_window(prng_, job_, workflow_, parts_);
    window.second = next_second_;
    window.covered = covered;
    if (left_) {
      metrics::WorkflowWindow& of = window.workflows[workflow_];
      of.iterations = of.begun = begun_until(std::min(runtime_.now(), last()));
      of.pace = kMaxPace;
      of.vus_active = 0;
      *left_ -= of.iterations;
      iterated_ += of.iterations;
      story_.iterations = std::max(story_.iterations, iterated_);
    }
    const std::string bytes = ingest::encode_window(window);
    story_.told.push_back({next_second_, bytes});
    const uint64_t second = next_second_++;
    draw_iterations();
    if (is("loses-second") && prng_.chance(0.05)) return;
    listener_.on_second(second, bytes, covered);
    if (is("tells-twice") && prng_.chance(0.05)) listener_.on_second(second, bytes, covered);
  }

  // Where iterations are counted: those of the next second, which begin evenly in it and end with it.
  void draw_iterations() {
    if (left_) coming_ = std::min(*left_, prng_.below(kMaxPace * parts_));
  }
  uint64_t begun_until(Instant until) const {
    const Instant second = start_ + kSecond * static_cast<int64_t>(next_second_);
    const Duration span = std::clamp(until - std::max(second, began_), Duration::zero(), kSecond);
    return coming_ * static_cast<uint64_t>(span.ns()) / static_cast<uint64_t>(kSecond.ns());
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
  uint64_t iterated_ = 0;         // that are reported
  uint64_t coming_ = 0;           // of the present second
  bool stands_still_ = false;     // its process does nothing any more, from its begin on
  Instant start_;
  Instant ends_ = Instant::never();
  Instant times_out_ = Instant::never();
  Instant crash_at_ = Instant::never();
  Instant permit_ = Instant::never();
  Instant given_;  // with the mistake permit-from-arrival
  Duration resumed_at_;
  // Its load, by the monotonic clock of its machine.
  bool sends_ = false;
  bool frozen_ = false;
  bool killed_ = false;
  Instant began_;
  Instant sent_;         // what was due before it
  Instant sends_until_;  // by the plan
  Instant sends_after_;  // in world time
  uint64_t next_second_ = 0;
  AssignmentEnd::How how_ = AssignmentEnd::How::kCompleted;
  runtime::Cancellation over_;
  runtime::Cancellation* nap_ = nullptr;
  runtime::Event begun_;
  runtime::Timer tell_end_;
  task<void> life_;
};

void SimAssignments::advance() {
  for (const auto& [key, one] : alive_) one->advance();
}
void SimAssignments::freeze() {
  for (const auto& [key, one] : alive_) one->freeze();
}
void SimAssignments::thaw() {
  for (const auto& [key, one] : alive_) one->thaw();
}

bool SimAssignments::kill_one(Prng& prng) {
  std::vector<SimAssignment*> sending;
  for (const auto& [key, one] : alive_) {
    if (one->sends()) sending.push_back(one);
  }
  if (sending.empty()) return false;
  sending[prng.below(sending.size())]->die();
  runtime_.post(&SimAssignments::bury, this);
  return true;
}

void SimAssignments::bury(void* self) {
  for (const auto& [key, one] : static_cast<SimAssignments*>(self)->alive_) one->be_found_dead();
}

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

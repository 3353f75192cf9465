// Random messages of managers, of other workers and events of processes, in any order: cores are given once, attempts
// run once, no effect is for a missing assignment, nothing runs without a permit, a witness keeps its denials, and in
// the end all cores are free.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <rapidcheck/gtest.h>
#include <set>
#include <vector>

#include "core/base/prng.h"
#include "jobs/dispatch/worker_kernel.h"

namespace bellwether::dispatch {
namespace {

constexpr uint32_t kCores = 5;
constexpr uint64_t kThisLife = 1;  // of lives 1 to 3

// Three managers, two jobs, and the world around a worker's kernel, which checks each effect.
class KernelWorld {
 public:
  explicit KernelWorld(uint64_t seed)
      : prng_(seed), kernel_({.cores = kCores, .assignments_most = 12, .jobs_most = 13, .life = kThisLife}) {}

  void live(int steps) {
    for (int i = 0; i < steps; ++i) {
      const Instant next = now_ + (prng_.chance(0.1) ? Duration::seconds(static_cast<int64_t>(prng_.below(40)))
                                                     : Duration::millis(static_cast<int64_t>(prng_.below(500))));
      for (int ticks = 0; kernel_.wake() <= next; ++ticks) {
        RC_ASSERT(ticks < 1'000);
        now_ = std::max(now_, kernel_.wake());
        step(kernel_event::Tick{});
      }
      now_ = next;
      something_happens();
    }
  }
  void retire_all() {
    for (const char* job : {"a", "b"}) write(RetireMessage{job, JobFence(1'000)});
    while (!processes_.empty()) end(processes_.begin()->first, AssignmentOutcome::kKilled);
    RC_ASSERT(kernel_.free_cores() == kCores);
    RC_ASSERT(kernel_.unfinished() == 0u);
    RC_ASSERT(kernel_.report().held.empty());
    RC_ASSERT(here_.empty());
    RC_ASSERT(waiting_.empty());
    while (kernel_.jobs() > 0) {
      now_ = std::max(now_, kernel_.wake());
      step(kernel_event::Tick{});
    }
    RC_ASSERT(kernel_.wake() == Instant::never());
  }
  std::size_t begun() const { return begun_.size(); }

 private:
  struct Process {
    std::vector<uint32_t> cores;
    bool squeezed = false;
    bool ready = false;
    bool begun = false;
    bool killed = false;
    bool stopped = false;               // at once
    Instant permit = Instant::never();  // if it has one
    bool needs_permit = false;
  };
  // Of a life of a worker for a job, as its witness.
  struct Promise {
    AssignmentId denied;
    Instant permit;
  };

  AssignmentOrder any_order() {
    AssignmentOrder order;
    order.job = any_job();
    order.assignment = prng_.chance(0.7) ? AssignmentId(++last_assignment_) : any_assignment();
    order.fence = any_fence();
    order.workflow = static_cast<uint16_t>(order.assignment.value() % 2);
    const auto count = 1 + static_cast<uint32_t>(prng_.below(3));
    order.parts = {order.assignment.value() % 4, count, 8};
    order.cores = 1 + static_cast<uint32_t>(prng_.below(count));
    order.squeeze = prng_.chance(0.3);
    order.bundle = prng_.chance(0.95) ? "b0" : "b1";
    if (prng_.chance(0.5)) order.execution_limit = prng_.between(Duration::millis(100), Duration::seconds(60));
    if (prng_.chance(0.7)) order.permit = prng_.between(Duration::millis(500), Duration::seconds(10));
    for (uint64_t life = 1 + prng_.below(3); life <= 3; ++life) order.witnesses.push_back({"w", life});
    order.on_overtime = static_cast<plan::OnOvertime>(prng_.below(plan::kOnOvertimes));
    return order;
  }
  std::string any_job() { return prng_.chance(0.5) ? "a" : "b"; }
  JobFence any_fence() {
    if (prng_.chance(0.02)) ++last_fence_;
    return JobFence(last_fence_ - (prng_.chance(0.1) ? 1 : 0));
  }
  AssignmentId any_assignment() {
    return AssignmentId(last_assignment_ - std::min<uint32_t>(last_assignment_ - 1, prng_.below(8)));
  }
  uint64_t any_life() { return 1 + prng_.below(3); }
  Instant any_time() { return now_ - prng_.between(Duration::zero(), Duration::seconds(2)); }
  std::string any_manager() { return "m" + std::to_string(prng_.below(3)); }
  AssignmentKey any_key() {
    if (here_.empty() || prng_.chance(0.1)) return {any_job(), any_assignment()};
    auto at = here_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(prng_.below(here_.size())));
    return *at;
  }

  void something_happens() {
    const AssignmentKey key = any_key();
    switch (prng_.below(25)) {
      case 0:
      case 1:
      case 2: return repeat(Offer{any_order()});
      case 3:
      case 4:
      case 5: return repeat(BeginMessage{key.job, any_fence(), key.assignment, Duration::zero(), false, 0});
      case 6: {
        const StopHow how = prng_.chance(0.5) ? StopHow::kGraceful : StopHow::kAtOnce;
        return repeat(StopMessage{key.job, any_fence(), key.assignment, how, "stop", prng_.chance(0.1)});
      }
      case 20:
      case 21: {
        kernel_event::PermitGiven given{key.job, any_manager(), any_fence(), any_time(), {}};
        if (prng_.chance(0.1)) given.denied = {any_assignment(), key.assignment};
        return step(given);
      }
      case 22: return step(kernel_event::WitnessAnswered{key.job, any_life(), any_time() + Duration::seconds(3)});
      case 23:
        return repeat(RenewMessage{key.job, any_life(), any_life(), any_assignment(),
                                   prng_.between(Duration::millis(1), Duration::seconds(20))});
      case 24: return repeat(DenyMessage{key.job, any_fence(), any_life(), {"w", any_life()}, any_assignment()});
      case 19: return repeat(ScaleMessage{key.job, any_fence(), key.assignment, 3});
      case 7: return write(BundleMessage{key.job, "b0", "bytes"});
      case 8: return repeat(AdoptMessage{key.job, any_fence(), {{key.assignment, prng_.below(5)}}});
      case 9: return prng_.chance(0.1) ? repeat(RetireMessage{key.job, any_fence()}) : end_one();
      case 10:
      case 11:
      case 12: return prepare_one();
      case 13: return step(kernel_event::Measured{key, prng_.below(50)});
      case 14: return step(kernel_event::OwnerAnswered{key.job, any_manager()});
      case 15: {
        const bool waits = prng_.below(2) == 0;
        return repeat(TakeOverMessage{key.job, any_fence(), key.assignment, {}, prng_.below(5), waits});
      }
      case 16: return repeat(HandOverMessage{key.job, any_fence(), key.assignment, 1 + prng_.below(5)});
      case 17: {
        const Duration more =
            prng_.chance(0.7) ? prng_.between(Duration::millis(1), Duration::seconds(15)) : Duration();
        return step(kernel_event::TimeGiven{key, {more, 1, prng_.chance(0.3), prng_.chance(0.3), {}}});
      }
      default:
        return step(prng_.chance(0.3) ? KernelEvent(kernel_event::Excess{key})
                                      : KernelEvent(kernel_event::Delivered{key}));
    }
  }
  void repeat(const JobMessage& message) {
    write(message);
    if (prng_.chance(0.2)) write(message);
  }
  void prepare_one() {
    for (auto& [key, process] : processes_) {
      if (process.ready || process.killed) continue;
      if (prng_.chance(0.2)) return step(kernel_event::NotPrepared{key, {Errc::kInvalid, "broken"}});
      process.ready = true;
      return step(kernel_event::Prepared{key, Duration::seconds(1)});
    }
  }
  void end_one() {
    if (processes_.empty()) return;
    auto at = processes_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(prng_.below(processes_.size())));
    end(at->first, at->second.killed ? AssignmentOutcome::kKilled
                                     : static_cast<AssignmentOutcome>(prng_.below(kAssignmentOutcomes)));
  }
  void end(AssignmentKey key, AssignmentOutcome outcome) {
    processes_.erase(key);
    step(kernel_event::Ended{key, {outcome, {}, 0, {}}});
  }
  void write(JobMessage message) {
    waiting_.emplace(++ticket_, message);
    step(kernel_event::Asked{ticket_, any_manager(), std::move(message)});
  }

  void step(const KernelEvent& event) {
    KernelEffects effects;
    kernel_.step(now_, event, effects);
    for (const KernelEffect& effect : effects) {
      std::visit([this](const auto& one) { check(one); }, effect);
    }
    check_cores();
    for (const auto& [key, process] : processes_) {
      RC_ASSERT(!process.begun || process.killed || process.stopped || now_ < process.permit);
    }
  }
  void check_cores() {
    std::map<uint32_t, uint32_t> parts;
    for (const auto& [key, process] : processes_) {
      for (const uint32_t core : process.cores) ++parts[core];
    }
    uint32_t free = 0;
    for (uint32_t core = 0; core < kCores; ++core) {
      RC_ASSERT(kernel_.parts_on(core) == parts[core]);
      free += parts[core] == 0 ? 1 : 0;
    }
    RC_ASSERT(kernel_.free_cores() == free);
    RC_ASSERT(kernel_.unfinished() == processes_.size());
  }

  void check(const kernel_effect::Answer& effect) {
    const auto asked = waiting_.extract(effect.ticket);
    RC_ASSERT(!asked.empty());
    const auto* renewal = std::get_if<RenewMessage>(&asked.mapped());
    if (renewal != nullptr && std::holds_alternative<Noted>(effect.response)) {
      RC_ASSERT(renewal->life == kThisLife);
      promise(renewal->job, renewal->asker, renewal->first, renewal->permit);
    }
    const auto* denied = std::get_if<Denied>(&effect.response);
    if (denied == nullptr) return;
    const auto& denial = std::get<DenyMessage>(asked.mapped());
    RC_ASSERT(denial.life == kThisLife);
    Promise& known = promises_[{denial.job, denial.silent.life}];
    known.denied = std::max(known.denied, denial.last);
    RC_ASSERT(known.permit < now_ + denied->rest || known.permit <= now_);
  }
  void promise(const std::string& job, uint64_t life, AssignmentId first, Duration permit) {
    Promise& known = promises_[{job, life}];
    RC_ASSERT(first > known.denied);
    known.permit = std::max(known.permit, now_ + permit);
  }
  void check(const kernel_effect::Start& effect) {
    const AssignmentOrder& order = effect.order;
    RC_ASSERT(!processes_.contains(effect.assignment));
    RC_ASSERT(started_.insert({effect.assignment, order.fence}).second);
    RC_ASSERT(effect.core_of_part.size() == order.parts.count);
    for (const auto& [key, process] : processes_) {
      for (const uint32_t core : process.cores) {
        const bool taken = std::count(effect.core_of_part.begin(), effect.core_of_part.end(), core) > 0;
        RC_ASSERT(!taken || order.squeeze);
      }
    }
    Process& process = processes_[effect.assignment] = {effect.core_of_part, order.squeeze};
    process.needs_permit = order.permit > Duration::zero();
    here_.insert(effect.assignment);
  }
  void check(const kernel_effect::Begin& effect) {
    RC_ASSERT(processes_.contains(effect.assignment));
    Process& process = processes_[effect.assignment];
    RC_ASSERT(process.ready && !process.begun && !process.killed);
    RC_ASSERT(process.needs_permit == (process.permit != Instant::never()));
    RC_ASSERT(begun_.insert(effect.assignment).second);
    process.begun = true;
  }
  void check(const kernel_effect::HandOver& effect) {
    RC_ASSERT(processes_.contains(effect.assignment));
    RC_ASSERT(processes_[effect.assignment].begun && !processes_[effect.assignment].killed);
    RC_ASSERT(handed_over_.insert(effect.assignment).second);
  }
  void check(const kernel_effect::Scale& effect) { RC_ASSERT(processes_.contains(effect.assignment)); }
  void check(const kernel_effect::Stop& effect) {
    RC_ASSERT(processes_.contains(effect.assignment));
    RC_ASSERT(processes_[effect.assignment].begun && !processes_[effect.assignment].killed);
    processes_[effect.assignment].stopped |= effect.how == StopHow::kAtOnce;
  }
  void check(const kernel_effect::Kill& effect) {
    RC_ASSERT(processes_.contains(effect.assignment));
    processes_[effect.assignment].killed = true;
  }
  void check(const kernel_effect::Permit& effect) {
    RC_ASSERT(processes_.contains(effect.assignment));
    Process& process = processes_[effect.assignment];
    RC_ASSERT(process.needs_permit && !process.killed && !process.stopped);
    // A follower gives back what it has for the time after its hand-over.
    RC_ASSERT(!process.begun || process.permit == Instant::never() || process.permit < effect.until);
    RC_ASSERT(!process.begun || now_ < process.permit);
    process.permit = effect.until;
  }
  void check(const kernel_effect::AskWitnesses& effect) {
    RC_ASSERT(effect.permit > Duration::zero());
    for (const Witness& witness : effect.witnesses) RC_ASSERT(witness.life != kThisLife);
  }
  void check(const kernel_effect::AskForTime& effect) {
    RC_ASSERT(processes_.contains(effect.assignment) && !processes_[effect.assignment].killed);
    RC_ASSERT(effect.left > Duration::zero());
  }
  void check(const kernel_effect::Warn& effect) {
    RC_ASSERT(processes_.contains(effect.assignment));
    RC_ASSERT(processes_[effect.assignment].begun && !processes_[effect.assignment].killed);
  }
  void check(const kernel_effect::TellEnd& effect) {
    RC_ASSERT(here_.contains(effect.assignment) && !processes_.contains(effect.assignment));
  }
  void check(const kernel_effect::Resume& effect) { RC_ASSERT(begun_.contains(effect.assignment)); }
  void check(const kernel_effect::Discard& effect) { RC_ASSERT(here_.contains(effect.assignment)); }
  void check(const kernel_effect::Forget& effect) {
    RC_ASSERT(here_.erase(effect.assignment) == 1u);
    RC_ASSERT(!processes_.contains(effect.assignment));
  }
  void check(const kernel_effect::Follow&) {}
  void check(const kernel_effect::Report&) {}
  void check(const kernel_effect::Idle&) {}
  void check(const kernel_effect::Note&) {}

  Prng prng_;
  WorkerKernel kernel_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  uint64_t ticket_ = 0;
  uint32_t last_assignment_ = 1;
  uint64_t last_fence_ = 2;
  std::map<uint64_t, JobMessage> waiting_;
  std::map<std::pair<std::string, uint64_t>, Promise> promises_;
  std::map<AssignmentKey, Process> processes_;
  std::set<AssignmentKey> here_;
  std::set<std::pair<AssignmentKey, JobFence>> started_;
  std::set<AssignmentKey> handed_over_;
  std::set<AssignmentKey> begun_;  // an assignment of a job begins once in all its life
};

RC_GTEST_PROP(WorkerKernelProperty, cores_and_attempts_are_given_once_and_all_is_free_in_the_end, (uint64_t seed)) {
  KernelWorld world(seed);
  world.live(600);
  world.retire_all();
}

TEST(WorkerKernelProperty, many_assignments_begin_in_such_a_world) {
  std::size_t begun = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    KernelWorld world(seed);
    world.live(1'200);
    begun += world.begun();
  }
  EXPECT_GT(begun, 100u);
}

}  // namespace
}  // namespace bellwether::dispatch

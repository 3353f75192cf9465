// Random messages of managers and events of processes, in any order: cores are given once, attempts run once, no effect
// is for a missing assignment, and in the end all cores are free.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <rapidcheck/gtest.h>
#include <set>
#include <vector>

#include "core/base/prng.h"
#include "jobs/dispatch/worker_desk.h"

namespace bellwether::dispatch {
namespace {

constexpr uint32_t kCores = 5;

// Three managers, two jobs, and the world around a worker's desk, which checks each effect.
class DeskWorld {
 public:
  explicit DeskWorld(uint64_t seed) : prng_(seed), desk_({.cores = kCores, .shares_most = 12, .jobs_most = 13}) {}

  void live(int steps) {
    for (int i = 0; i < steps; ++i) {
      now_ += prng_.chance(0.1) ? Duration::seconds(static_cast<int64_t>(prng_.below(40)))
                                : Duration::millis(static_cast<int64_t>(prng_.below(500)));
      if (desk_.wake() <= now_) step(desk_event::Tick{});
      something_happens();
    }
  }
  void retire_all() {
    for (const char* job : {"a", "b"}) write(RetireLetter{job, JobFence(1'000)});
    while (!processes_.empty()) end(processes_.begin()->first, ShareOutcome::kKilled);
    RC_ASSERT(desk_.free_cores() == kCores);
    RC_ASSERT(desk_.unfinished() == 0u);
    RC_ASSERT(desk_.report().held.empty());
    RC_ASSERT(here_.empty());
    RC_ASSERT(waiting_.empty());
    while (desk_.jobs() > 0) {
      now_ = std::max(now_, desk_.wake());
      step(desk_event::Tick{});
    }
    RC_ASSERT(desk_.wake() == Instant::never());
  }
  std::size_t begun() const { return begun_.size(); }

 private:
  struct Process {
    std::vector<uint32_t> cores;
    bool squeezed = false;
    bool ready = false;
    bool begun = false;
    bool killed = false;
  };

  ShareOrder any_order() {
    ShareOrder order;
    order.job = any_job();
    order.share = prng_.chance(0.7) ? ShareId(++last_share_) : any_share();
    order.fence = any_fence();
    order.workflow = static_cast<uint16_t>(order.share.value() % 2);
    const auto count = 1 + static_cast<uint32_t>(prng_.below(3));
    order.parts = {order.share.value() % 4, count, 8};
    order.cores = 1 + static_cast<uint32_t>(prng_.below(count));
    order.squeeze = prng_.chance(0.3);
    order.bundle = prng_.chance(0.95) ? "b0" : "b1";
    if (prng_.chance(0.5)) order.execution_limit = prng_.between(Duration::millis(100), Duration::seconds(60));
    order.on_overtime = static_cast<plan::OnOvertime>(prng_.below(plan::kOnOvertimes));
    return order;
  }
  std::string any_job() { return prng_.chance(0.5) ? "a" : "b"; }
  JobFence any_fence() {
    if (prng_.chance(0.02)) ++last_fence_;
    return JobFence(last_fence_ - (prng_.chance(0.1) ? 1 : 0));
  }
  ShareId any_share() { return ShareId(last_share_ - std::min<uint32_t>(last_share_ - 1, prng_.below(8))); }
  std::string any_manager() { return "m" + std::to_string(prng_.below(3)); }
  ShareKey any_key() {
    if (here_.empty() || prng_.chance(0.1)) return {any_job(), any_share()};
    auto at = here_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(prng_.below(here_.size())));
    return *at;
  }

  void something_happens() {
    const ShareKey key = any_key();
    switch (prng_.below(20)) {
      case 0:
      case 1:
      case 2: return repeat(Offer{any_order()});
      case 3:
      case 4:
      case 5: return repeat(BeginLetter{key.job, any_fence(), key.share, Duration::zero(), false, 0});
      case 6: {
        const StopHow how = prng_.chance(0.5) ? StopHow::kGraceful : StopHow::kAtOnce;
        return repeat(StopLetter{key.job, any_fence(), key.share, how, "stop"});
      }
      case 19: return repeat(ScaleLetter{key.job, any_fence(), key.share, 3});
      case 7: return write(BundleLetter{key.job, "b0", "bytes"});
      case 8: return repeat(AdoptLetter{key.job, any_fence(), {{key.share, prng_.below(5)}}});
      case 9: return prng_.chance(0.1) ? repeat(RetireLetter{key.job, any_fence()}) : end_one();
      case 10:
      case 11:
      case 12: return prepare_one();
      case 13: return step(desk_event::Measured{key, prng_.below(50)});
      case 14: return step(desk_event::OwnerAnswered{key.job, any_manager()});
      case 15: return repeat(TakeOverLetter{key.job, any_fence(), key.share, Duration::zero(), prng_.below(5)});
      case 16: return repeat(HandOverLetter{key.job, any_fence(), key.share, 1 + prng_.below(5)});
      case 17: {
        const Duration more =
            prng_.chance(0.7) ? prng_.between(Duration::millis(1), Duration::seconds(15)) : Duration();
        return step(desk_event::TimeGiven{key, {more, 1, prng_.chance(0.3), prng_.chance(0.3), {}}});
      }
      default:
        return step(prng_.chance(0.3) ? DeskEvent(desk_event::Excess{key}) : DeskEvent(desk_event::Delivered{key}));
    }
  }
  void repeat(const Letter& letter) {
    write(letter);
    if (prng_.chance(0.2)) write(letter);
  }
  void prepare_one() {
    for (auto& [key, process] : processes_) {
      if (process.ready || process.killed) continue;
      if (prng_.chance(0.2)) return step(desk_event::NotPrepared{key, {Errc::kInvalid, "broken"}});
      process.ready = true;
      return step(desk_event::Prepared{key, Duration::seconds(1)});
    }
  }
  void end_one() {
    if (processes_.empty()) return;
    auto at = processes_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(prng_.below(processes_.size())));
    end(at->first, at->second.killed ? ShareOutcome::kKilled : static_cast<ShareOutcome>(prng_.below(kShareOutcomes)));
  }
  void end(ShareKey key, ShareOutcome outcome) {
    processes_.erase(key);
    step(desk_event::Ended{key, {outcome, {}, 0, {}}});
  }
  void write(Letter letter) {
    waiting_.insert(++ticket_);
    step(desk_event::Asked{ticket_, any_manager(), std::move(letter)});
  }

  void step(const DeskEvent& event) {
    DeskEffects effects;
    desk_.step(now_, event, effects);
    for (const DeskEffect& effect : effects) {
      std::visit([this](const auto& one) { check(one); }, effect);
    }
    check_cores();
  }
  void check_cores() {
    std::map<uint32_t, uint32_t> parts;
    for (const auto& [key, process] : processes_) {
      for (const uint32_t core : process.cores) ++parts[core];
    }
    uint32_t free = 0;
    for (uint32_t core = 0; core < kCores; ++core) {
      RC_ASSERT(desk_.parts_on(core) == parts[core]);
      free += parts[core] == 0 ? 1 : 0;
    }
    RC_ASSERT(desk_.free_cores() == free);
    RC_ASSERT(desk_.unfinished() == processes_.size());
  }

  void check(const desk_effect::Answer& effect) { RC_ASSERT(waiting_.erase(effect.ticket) == 1u); }
  void check(const desk_effect::Start& effect) {
    const ShareOrder& order = effect.order;
    RC_ASSERT(!processes_.contains(effect.share));
    RC_ASSERT(started_.insert({effect.share, order.fence}).second);
    RC_ASSERT(effect.core_of_part.size() == order.parts.count);
    for (const auto& [key, process] : processes_) {
      for (const uint32_t core : process.cores) {
        const bool taken = std::count(effect.core_of_part.begin(), effect.core_of_part.end(), core) > 0;
        RC_ASSERT(!taken || order.squeeze);
      }
    }
    processes_[effect.share] = {effect.core_of_part, order.squeeze};
    here_.insert(effect.share);
  }
  void check(const desk_effect::Begin& effect) {
    RC_ASSERT(processes_.contains(effect.share));
    Process& process = processes_[effect.share];
    RC_ASSERT(process.ready && !process.begun && !process.killed);
    RC_ASSERT(begun_.insert(effect.share).second);
    process.begun = true;
  }
  void check(const desk_effect::HandOver& effect) {
    RC_ASSERT(processes_.contains(effect.share));
    RC_ASSERT(processes_[effect.share].begun && !processes_[effect.share].killed);
    RC_ASSERT(handed_over_.insert(effect.share).second);
  }
  void check(const desk_effect::Scale& effect) { RC_ASSERT(processes_.contains(effect.share)); }
  void check(const desk_effect::Stop& effect) {
    RC_ASSERT(processes_.contains(effect.share));
    RC_ASSERT(processes_[effect.share].begun && !processes_[effect.share].killed);
  }
  void check(const desk_effect::Kill& effect) {
    RC_ASSERT(processes_.contains(effect.share));
    processes_[effect.share].killed = true;
  }
  void check(const desk_effect::AskForTime& effect) {
    RC_ASSERT(processes_.contains(effect.share) && !processes_[effect.share].killed);
    RC_ASSERT(effect.left > Duration::zero());
  }
  void check(const desk_effect::Warn& effect) {
    RC_ASSERT(processes_.contains(effect.share));
    RC_ASSERT(processes_[effect.share].begun && !processes_[effect.share].killed);
  }
  void check(const desk_effect::TellEnd& effect) {
    RC_ASSERT(here_.contains(effect.share) && !processes_.contains(effect.share));
  }
  void check(const desk_effect::Resume& effect) { RC_ASSERT(begun_.contains(effect.share)); }
  void check(const desk_effect::Discard& effect) { RC_ASSERT(here_.contains(effect.share)); }
  void check(const desk_effect::Forget& effect) {
    RC_ASSERT(here_.erase(effect.share) == 1u);
    RC_ASSERT(!processes_.contains(effect.share));
  }
  void check(const desk_effect::Follow&) {}
  void check(const desk_effect::Report&) {}
  void check(const desk_effect::Idle&) {}
  void check(const desk_effect::Note&) {}

  Prng prng_;
  WorkerDesk desk_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  uint64_t ticket_ = 0;
  uint32_t last_share_ = 1;
  uint64_t last_fence_ = 2;
  std::set<uint64_t> waiting_;
  std::map<ShareKey, Process> processes_;
  std::set<ShareKey> here_;
  std::set<std::pair<ShareKey, JobFence>> started_;
  std::set<ShareKey> handed_over_;
  std::set<ShareKey> begun_;  // an assignment of a job begins once in all its life
};

RC_GTEST_PROP(WorkerDeskProperty, cores_and_attempts_are_given_once_and_all_is_free_in_the_end, (uint64_t seed)) {
  DeskWorld world(seed);
  world.live(600);
  world.retire_all();
}

TEST(WorkerDeskProperty, many_shares_begin_in_such_a_world) {
  std::size_t begun = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    DeskWorld world(seed);
    world.live(600);
    begun += world.begun();
  }
  EXPECT_GT(begun, 100u);
}

}  // namespace
}  // namespace bellwether::dispatch

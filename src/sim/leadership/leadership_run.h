// The run of one leadership world: see leadership_world.h for what it is. Split by what happens: contenders and their
// effects (leadership_run.cc), what goes wrong (leadership_faults.cc), and the two phases (leadership_world.cc).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "election/fence_guard.h"
#include "sim/leadership/contender.h"
#include "sim/leadership/leadership_checker.h"
#include "sim/leadership/leadership_world.h"
#include "sim/timeline.h"

namespace bellwether::sim {

class LeadershipWorld {
 public:
  LeadershipWorld(Mechanism mechanism, uint64_t seed, LeadershipMistake mistake, bool trace);
  LeadershipRun live();

 private:
  // --- contenders
  void start(Contender& c);
  void crash(Contender& c, bool machine);
  void pause(Contender& c, bool machine);
  void resume(Contender& c);
  void deliver(Contender& c, const election::Event& event);
  void step(Contender& c, const election::Event& event);
  void carry_out(Contender& c, const election::Effect& effect);
  void expect_evidence(const election::Effect& effect);
  void set_wake(Contender& c);
  void ask(Contender& c, const election::Effect& question);
  void answer(Contender& c, uint32_t life, uint64_t question, election::Event event);
  void at_store(Contender& c, uint32_t life, uint64_t question, const election::Effect& asked,
                const std::string& token);

  // --- terms and work
  void elected(Contender& c, const election::Elected& elected);
  void term_ended(Contender& c, const election::TermEnded& ended);
  void drain(Contender& c);
  void stop_work_within(Contender& c, Duration at_most, bool only_elector_believes);
  void work_ended(Contender& c, uint64_t work);
  void guardian(Contender& c, uint64_t work);
  void work_acts(Contender& c, uint64_t work);
  void arrives(election::Epoch epoch);

  // --- faults
  void something_goes_wrong();
  void break_contender(Contender& c);
  void break_store();
  void change_lease(Contender& c);
  void set_lease(Contender& c, double share);
  void make_whole();

  // --- phases
  bool run_until(Instant end);
  Contender* leader();
  Duration takeover_budget() const;
  void expect_leader_that_stays();
  void expect_takeover_in_budget();

  bool is(LeadershipMistake mistake) const { return mistake_ == mistake; }
  void say(const Contender& c, const std::string& text);
  Duration draw(Duration low, Duration high) { return timeline_.prng().between(low, high); }
  Prng& prng() { return timeline_.prng(); }
  Instant now() const { return timeline_.now(); }

  Mechanism mechanism_;
  LeadershipMistake mistake_;
  bool tracing_;
  std::string trace_;

  Timeline timeline_;
  StoreModel store_;
  double worst_drift_;  // of any clock from true time
  election::LeaseTiming timing_;
  std::vector<Contender> contenders_;
  LeadershipChecker checker_;
  election::FenceGuard resource_;
  bool work_checks_guard_ = true;
  bool stubborn_work_ = false;  // does not stop when asked to at the end of a term: it must be killed
  bool cross_region_ = false;
  bool damping_flaps_ = false;
  bool backing_off_ = false;
  uint32_t refused_acts_ = 0;
  uint32_t events_ = 0;

  // How the world is at the moment.
  bool store_up_ = true;
  double loss_ = 0;
  Duration slowest_;           // of one message
  std::vector<bool> cut_off_;  // from the store, by contender
  std::vector<bool> late_;     // answers take nearly as long as anybody waits for them
  std::vector<bool> deaf_;     // requests arrive, answers do not
};

}  // namespace bellwether::sim

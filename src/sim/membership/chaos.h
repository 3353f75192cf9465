// The run of one membership world: see membership_run.h for what it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/membership/member_world.h"
#include "sim/membership/membership_checker.h"
#include "sim/membership/membership_run.h"

namespace bellwether::sim {

class MembershipChaos final : public Watcher, public Tamperer {
 public:
  MembershipChaos(uint64_t seed, MembershipMistake mistake, bool trace);
  MembershipRun live();

  void saw(std::size_t node, const membership::Effect& effect, Instant world) override;
  bool passes(std::size_t from, std::size_t to, std::string& bytes) override;

 private:
  // What a node keeps over a crash: its last incarnation and a view of some time ago.
  struct Memory {
    uint32_t incarnation = 0;
    std::vector<membership::Update> view;
  };

  void something_goes_wrong();
  void break_process();
  void break_network();
  void start(std::size_t node);
  void start_clone();
  void isolate_groups(bool bridge);
  void ring_of_majorities();
  void clog_some();
  void unclog_one();
  void make_whole();
  void run_until(Instant end);
  void reap_processes();
  void driver_errs();
  void note(const std::string& text);
  std::size_t any() { return world_.prng().below(world_.size()); }
  Duration between(int64_t low_ms, int64_t high_ms) { return Duration::millis(world_.prng().between(low_ms, high_ms)); }

  MembershipMistake mistake_;
  bool trace_;
  MemberWorld world_;
  MembershipChecker checker_;
  MembershipRun run_;
  std::size_t names_ = 0;
  std::vector<Memory> memories_;
  std::vector<std::size_t> ended_;  // processes that have left or were refused
  std::vector<std::size_t> clogged_;
};

}  // namespace bellwether::sim

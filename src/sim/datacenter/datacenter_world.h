// A datacenter on simulated machines where everything breaks, and the rules that hold then: see sim/all_worlds.h.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/register/small.h"
#include "sim/datacenter/datacenter_place.h"
#include "sim/datacenter/worker_faults.h"
#include "sim/harness/machine_world.h"

namespace bellwether::sim {

inline constexpr Duration kLookEvery = Duration::millis(250);

struct DatacenterWorld : MachineWorld {
  using Kind = DatacenterPlace::Kind;

  enum class Size : uint8_t { kUsual, kLarge, kThousand, kFence };

  DatacenterWorld(const RunSettings& settings, Size size);
  ~DatacenterWorld() override { end_processes(); }

  void add_place(Kind kind, const std::string& name);
  // The operators' settings of all nodes.
  void introduce();
  void add_jobs();
  void add_contexts();

  // --- processes
  DatacenterPlace& any_manager() { return *places_[prng().below(managers_)]; }
  DatacenterPlace& any_worker() { return *places_[managers_ + prng().below(workers_)]; }
  void start(Node& node) override;
  bool leaves(const Node& node) const override;
  // An operator restarts processes that have ended by themselves, or cannot use their disk any more.
  void start_what_ended();

  // --- rules that always hold
  void look();
  void look_at_contexts();
  void look_at_registers();
  bool run_for(Duration span) override;

  // --- faults
  bool links_break() const override { return !gentle_; }
  Node& victim() override;
  DatacenterPlace& any_to_leave() { return gentle_ || chance(0.4) ? any_manager() : any_worker(); }
  void lose_power(Node& node) override;
  bool strike(bool (WorkerFaults::*fault)()) { return !gentle_ && (workers_break_.*fault)(); }
  bool strike_all_managers();
  bool cut_among_managers();
  bool press(DatacenterPlace& place);
  // In place of MachineWorld's: what was due before is sent by the clocks of before.
  bool let_clocks_drift(Node& node);
  bool drain(DatacenterPlace& place);
  void make_whole() override;

  // --- phases
  Pace pace() const override;
  void begin() override;
  void expect_recovery() override;
  // The open work; empty: everything is at rest.
  std::string unrest();
  void expect_no_excess();
  void expect_rest();
  void hold_inquest(const JobStory& job);
  // A majority of the managers has the record that the client was shown.
  void expect_kept(const JobStory& job);
  // A job does not run if its client got the answer that its id is used up, or no answer.
  void expect_no_others();
  // The final states of a run that went wrong.
  void tell_states() override;
  std::vector<Run::Count> counts() const override;

  bool is_large_;       // 41 workers or more
  bool is_fence_;       // one or two faults a run
  bool arrivals_once_;  // see excess_of()
  DatacenterStage stage_;
  std::vector<std::unique_ptr<DatacenterPlace>> places_;  // managers, workers, the client
  std::size_t managers_ = 0;
  std::size_t workers_ = 0;
  bool gentle_ = false;                                                                         // only managers break
  std::map<std::pair<std::size_t, std::string>, std::pair<registers::Place, bool>> looked_at_;  // by manager and job
  std::map<std::string, dispatch::JobRecord> ends_;  // of jobs, as managers may show them
  uint64_t seconds_ = 0;
  uint64_t lost_ = 0;
  WorkerFaults workers_break_{*this, world_, places_};
};

}  // namespace bellwether::sim

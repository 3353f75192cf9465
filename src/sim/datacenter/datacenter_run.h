// The run of one simulated datacenter: see datacenter_world.h for what it is. Phases are in datacenter_world.cc, what
// goes wrong is in datacenter_faults.cc.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "dispatch/job_register.h"
#include "sim/datacenter/datacenter_stage.h"
#include "sim/datacenter/datacenter_world.h"
#include "sim/world.h"

namespace bellwether::sim {

class DatacenterWorld final : private DatacenterWatcher {
 public:
  DatacenterWorld(uint64_t seed, DatacenterMistake mistake, bool trace, DatacenterSize size);
  ~DatacenterWorld() override;
  DatacenterRun live();

 private:
  enum class Kind : uint8_t { kManager, kWorker, kClient };

  void saw(const DatacenterPlace& place, const std::string& text) override;

  // --- phases: datacenter_world.cc
  void add_place(Kind kind, const std::string& name);
  void add_jobs();
  Kind kind_of(std::size_t index) const;
  void start(DatacenterPlace& place);
  void look();
  void look_at_registers();
  std::string unrest();
  void expect_rest();
  void hold_inquest(const JobStory& job);
  void expect_kept(const JobStory& job);
  void expect_no_others();
  bool run_for(Duration span);
  void tell_states();
  void fail(const std::string& text);
  void say(const std::string& text);

  // --- faults: datacenter_faults.cc
  void something_goes_wrong();
  void manager_trouble();
  void strike(DatacenterPlace& place);
  void lose_power(DatacenterPlace& place);
  void strike_all_managers();
  void cut();
  void cut_among_managers();
  void spoil_links();
  void spoil_disk(DatacenterPlace& place);
  void set_clocks(DatacenterPlace& place);
  void ask_to_leave(DatacenterPlace& place);
  void press(DatacenterPlace& place);
  void start_later(DatacenterPlace& place);
  void start_what_ended();
  void make_whole();

  Node& node_of(const DatacenterPlace& place) { return world_.node(place.index); }
  DatacenterPlace& any_manager() { return *places_[prng().below(managers_)]; }
  DatacenterPlace& any_worker() { return *places_[managers_ + prng().below(workers_)]; }
  DatacenterPlace& any_place() { return *places_[prng().below(places_.size())]; }
  Prng& prng() { return world_.prng(); }
  Duration draw(Duration low, Duration high) { return prng().between(low, high); }

  bool tracing_;
  bool large_;
  World world_;
  DatacenterStage stage_;
  std::vector<std::unique_ptr<StoredKeys>> stored_;
  std::vector<std::unique_ptr<DatacenterPlace>> places_;  // managers, workers, the client
  std::size_t managers_ = 0;
  std::size_t workers_ = 0;
  bool gentle_ = false;  // only managers break
  std::set<std::size_t> starting_;
  std::map<std::pair<std::size_t, std::string>, dispatch::Place> looked_at_;  // by manager and job
  DatacenterRun run_;
};

}  // namespace bellwether::sim

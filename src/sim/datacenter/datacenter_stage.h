// What the processes of a simulated datacenter are told, and what is seen of them from outside. It outlives them all.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "account/window_codec.h"
#include "base/host_port.h"
#include "base/prng.h"
#include "dispatch/job_sheet.h"
#include "dispatch/job_spec.h"
#include "plan/plan.h"
#include "runtime/address.h"
#include "sim/cluster/sim_kv.h"
#include "sim/datacenter/datacenter_mistake.h"

namespace bellwether::sim {

class MemberProcess;
class SimManager;

// One second of some parts of a workflow, as a share has told it to its worker.
struct ToldSecond {
  uint64_t second = 0;  // of the workflow's clock
  std::string window;
};

// One share in a process of its own.
struct ShareStory {
  std::string worker;
  uint64_t life = 0;  // of the worker
  uint16_t workflow = 0;
  dispatch::PartRange parts;
  bool begun = false;
  bool resumed = false;
  bool crashed = false;
  std::vector<ToldSecond> told;
  std::vector<plan::Given> given;     // values of other workflows, with which it was prepared
  std::vector<std::string> provided;  // for others, when it ended
};

// One job: what it is, what its client has heard of it, and what its shares have done.
struct JobStory {
  std::string id;
  uint64_t number = 0;  // in the upper half of its seed
  std::string bundle;
  std::unique_ptr<plan::Plan> plan;
  dispatch::JobSpec spec;
  account::Shape shape;
  Duration submit_after;                 // the start of its client
  std::optional<Duration> cancel_after;  // its acknowledgement
  dispatch::StopHow cancel_how = dispatch::StopHow::kAtOnce;

  bool acknowledged = false;
  bool cancelled = false;  // a manager has noted it
  std::string refused;
  bool followed = false;     // to its end
  dispatch::JobSheet sheet;  // the last that its client has seen
  std::string totals;        // and what it counts

  std::map<uint32_t, ShareStory> shares;
};

// What is asked of a manager at the end.
struct Inquest {
  SimManager* manager = nullptr;
  std::string job;
  bool answered = false;
  std::string account;  // its last copy; empty: there is none
  std::string trouble;
};

struct DatacenterPlace;

class DatacenterWatcher {
 public:
  virtual ~DatacenterWatcher() = default;
  virtual void saw(const DatacenterPlace& place, const std::string& text) = 0;
};

struct DatacenterStage {
  DatacenterMistake mistake = DatacenterMistake::kNone;
  std::vector<HostPort> seeds;
  std::vector<std::string> voters;
  std::vector<HostPort> managers;
  std::vector<std::unique_ptr<JobStory>> jobs;
  bool shares_fail = false;  // some of them
  DatacenterWatcher* watcher = nullptr;
  uint32_t owners = 0;
  std::string violation;  // that a process has seen itself
};

struct DatacenterPlace {
  std::size_t index = 0;
  std::string name;
  runtime::Endpoint at;
  DatacenterStage* stage = nullptr;
  bool founds = false;           // an operator says that this is the first node
  StoredKeys* votes = nullptr;   // of a manager
  StoredKeys* copies = nullptr;  // of a manager
  uint32_t cores = 0;            // of a worker
  bool pressed = false;          // a worker whose machine has too much to do
  uint32_t starts = 0;
  MemberProcess* process = nullptr;  // nullptr: none runs
  std::size_t children = 0;          // processes of shares
};

}  // namespace bellwether::sim

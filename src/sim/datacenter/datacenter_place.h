// The place of a node of a simulated datacenter (sim/cluster/node_place.h): its purpose, with the product's own roles
// (node/roles), and the world's view of these.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jobs/roles/job_roles.h"
#include "sim/cluster/node_place.h"
#include "sim/datacenter/datacenter_stage.h"

namespace bellwether::sim {

// A question to a manager at the end.
struct Inquest {
  std::string job;
  bool answered = false;
  std::string ingest;  // its last copy; empty: none
  std::string trouble;
};

class ContextMaker;
class SimAssignments;
class Sight;

struct DatacenterPlace final : NodePlace {
  enum class Kind : uint8_t { kManager, kWorker, kClient };  // the last one is no node

  DatacenterPlace(Node& on, FaultyWorld& lives_in, DatacenterStage& of, Kind what);
  std::vector<std::shared_ptr<node::NodeRole>> make_roles(runtime::Runtime& runtime) override;
  node::NodeSupplies make_supplies(runtime::Runtime& runtime) override;
  bool is_new() const override;
  // Also when its manager has given up on a disk that failed for a moment, until a new start.
  bool disk_is_broken() const override;
  void on_line(std::string_view event, const std::string& text, const Journal::Fields& fields) override;

  // Why a worker is busy, or keeps data; empty: it does neither.
  std::string business() const;
  // Has a manager fill in the answer, in its next turn. REQUIRES a manager with prepared roles.
  void hold(Inquest& inquest);
  void post_drain();

  DatacenterStage* stage;
  Kind kind;
  uint32_t cores = 0;        // of a worker
  Instant joins;             // not started before
  bool pressed = false;      // a worker on an overloaded machine
  std::size_t children = 0;  // processes of assignments
  StoredKeys blobs;          // of a manager

  // Of a process whose roles are prepared; nullptr: it has no such role.
  node::ManagerRole* manager = nullptr;
  node::RegisterRole* registers = nullptr;
  node::WorkerRole* worker = nullptr;
  Sight* sight = nullptr;
  SimKv* kept = nullptr;  // its blobs
  ContextMaker* maker = nullptr;
  SimAssignments* assignments = nullptr;

 private:
  Inquest* inquest_ = nullptr;
};

}  // namespace bellwether::sim

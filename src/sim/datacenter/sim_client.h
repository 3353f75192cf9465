// The simulated client of a datacenter, and what it asks for: jobs and contexts. It submits the jobs of the stage,
// follows each to its end, and cancels some. After a restart of its process it goes on with the jobs that it has not
// followed to their end.
#pragma once

#include <memory>

#include "cluster/node/node_roles.h"
#include "cluster/vote/vote_driver.h"
#include "core/base/prng.h"
#include "core/runtime/runtime.h"
#include "lead/context_driver/context_jobs.h"
#include "sim/datacenter/datacenter_place.h"
#include "sim/datacenter/datacenter_stage.h"

namespace bellwether::sim {

// A job that is not submitted yet, of a real scenario that is drawn at random. `number` is below 2^16, and no other job
// of the world has it.
std::unique_ptr<JobStory> draw_job(Prng& prng, uint64_t number, int64_t most_vus);

// One that sends for half a minute at a steady rate, and is submitted at once.
std::unique_ptr<JobStory> draw_steady_job(Prng& prng, int64_t most_vus);

// For Node::start(); `context` is a DatacenterPlace.
runtime::task<void> run_client_process(runtime::Runtime& runtime, void* context);

// Requests for contexts: the settings of nodes, the context manager of each node, and the requests of the client. The
// leadership of contexts is the product's (lead/roles/context_role.h); a context is a text that names its request.

// In quick times, of nodes that are all able.
cluster::ContextChoice context_settings_of_nodes();

std::unique_ptr<cluster::ResourceSource> able_machine();

// Makes contexts on a manager, one after the other; its jobs do not outlive the term.
class ContextMaker final : public cluster::ContextManager {
 public:
  ContextMaker(runtime::Runtime& runtime, DatacenterPlace& place);
  ~ContextMaker() override;
  const context_lead::ManagerConfig& config() const override { return config_; }
  runtime::task<cluster::ContextJobEnd> run(cluster::ContextJob job, runtime::Cancellation* stop,
                                            runtime::Cancellation* kill) override;
  void set_term_end(Instant end) override { term_end_ = end; }
  // By the boot clock of its machine.
  bool may_act(Instant boot) const { return running_ > 0 && (place_.stage->is("makes-on") || boot < term_end_); }

 private:
  runtime::Runtime& runtime_;
  DatacenterPlace& place_;
  context_lead::ManagerConfig config_{"simulated", 1};
  Instant term_end_;
  std::size_t running_ = 0;
};

// Asks the leader for the contexts of the stage, until each is made.
runtime::task<void> ask_for_contexts(const node::NodeTools& tools, DatacenterStage& stage,
                                     runtime::Cancellation* cancel);

}  // namespace bellwether::sim

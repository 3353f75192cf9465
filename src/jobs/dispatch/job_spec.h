// What a plan means for the one who hands it out: which workflows there are, what they wait for, how long they take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/resilience/extension.h"
#include "load/plan/plan.h"
#include "load/plan/provision.h"
#include "load/plan/sequence.h"

namespace bellwether::dispatch {

struct WorkflowSpec : plan::Links {
  plan::Priority priority = plan::Priority::kAuto;
  bool is_test = true;
  uint32_t vus = 1;  // the most at once
  Duration length;   // of its clock, to its planned end; zero: it runs once, for as long as that takes
  Duration graceful_stop;
  // It does a number of iterations: what others go on with when a worker is lost is what is left of them.
  std::optional<plan::Iterations> counted;
  // How many users it begins with, where somebody says that while it runs; then `vus` is the most.
  std::optional<uint32_t> told_vus;
  bool endless = false;    // it runs until it is stopped, and has then done what it was to do
  bool rebalance = false;  // its parts spread onto workers that come while it runs
  plan::OnOvertime on_overtime = plan::OnOvertime::kKill;
  std::optional<Duration> timeout;  // of its clock, from its begin: then its workers end it at once
};
using JobSpec = std::vector<WorkflowSpec>;

JobSpec spec_of(const plan::Plan& plan);

// What is the same for all jobs of a cluster, but for the timeout.
struct JobRules {
  Duration worker_wait = Duration::seconds(60);       // with no worker at all, a job fails after so long
  Duration dispatch_limit = Duration::seconds(300);   // a share that nobody can be found for fails its workflow then
  uint32_t dispatch_attempts = 5;                     // of a group of workflows, before they fail
  Duration dispatch_pause = Duration::millis(500);    // after the first of them; it doubles with each
  Duration exclusion = Duration::seconds(10);         // of a worker that died, refused, or was not reached
  uint32_t retries_most = 3;                          // of a part, because its workers died
  Duration offer_limit = Duration::seconds(15);       // for the answer to an offer
  Duration adopt_limit = Duration::seconds(5);        // a new owner waits so long for what workers say
  Duration head_start = Duration::millis(25);         // from the last share's being ready to the begin of all
  Duration layer_sync_limit = Duration::seconds(30);  // for a quorum, before what depends on others may begin
  Duration hand_over_lead = Duration::millis(1500);   // from when all are ready to when a share hands over, at least
  Duration hand_over_least = Duration::millis(300);   // before that, all that take over must have said that they will
  Duration rebalance_least = Duration::seconds(5);    // before the end of a workflow nothing is spread any more
  Duration rebalance_pause = Duration::seconds(10);   // after a try that came to nothing
  Duration kill_grace = Duration::seconds(5);
  Duration isolation_limit = Duration::seconds(60);
  Duration overtime = Duration::seconds(60);        // beyond the planned end and graceful_stop
  Duration result_limit = Duration::seconds(30);    // beyond that, for the result of a worker that does not die
  std::optional<Duration> timeout;                  // of this job, from the start of its run: then it is ended at once
  resilience::ExtensionSettings extensions;         // of a share beyond that all, when its worker asks
  Duration teardown_limit = Duration::minutes(10);  // of a job that is stopped, from the end of its load
};

}  // namespace bellwether::dispatch

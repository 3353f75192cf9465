// The rules for the jobs of a simulated datacenter, judged from outside: from the reports of their assignments, the
// data of the managers, and the observations of a client. Each function returns the fault; empty: none.
#pragma once

#include <string>

#include "jobs/dispatch/job_record.h"
#include "sim/datacenter/datacenter_stage.h"

namespace bellwether::sim {

struct CountedSeconds {
  uint64_t counted = 0;
  uint64_t lost = 0;
};

// Of any record that a quorum may have accepted: no part of a workflow is in two hands.
std::string fault_of(const dispatch::JobRecord& record);

// Of a job that was followed to its end. `ingest`: the copy that managers keep.
std::string fault_of(const JobStory& job, const std::string& ingest, CountedSeconds& seconds);

// Of one in a world in which nothing could be lost.
std::string loss_of(const JobStory& job);

}  // namespace bellwether::sim

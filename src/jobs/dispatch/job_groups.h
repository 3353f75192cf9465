// Assigns the workflows of a job, group by group: the workflows of a group wait until cores are free for all their
// parts, and begin at one instant. Later it assigns the parts that have lost their worker. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/dispatch/job_layers.h"
#include "jobs/dispatch/job_pool.h"

namespace bellwether::dispatch {

// How often this part lost its worker. A worker that left, or an assignment that was cut off or had handed over, does
// not count.
uint32_t deaths(const JobBook& book, uint16_t workflow, uint32_t part);

class JobGroups {
 public:
  // All must outlive it.
  JobGroups(JobBook& book, JobPool& pool, JobLayers& layers) : book_(book), pool_(pool), layers_(layers) {}

  // Assigns the next group.
  void plan(Instant now, JobEffects& out);
  // Assigns the parts of assigned workflows that no worker runs.
  void fill_gaps(Instant now, JobEffects& out);
  // No worker will run the parts that do not run now.
  bool hopeless(Instant now, uint16_t workflow) const;
  // A worker of the group had no cores after all.
  void busy() { busy_ = true; }
  // The group has begun.
  void begun() { attempts_ = 0, busy_ = false; }
  Instant wake() const;

 private:
  std::vector<uint16_t> ready() const;
  void take_back(Instant now, const std::string& why, bool counts, JobEffects& out);

  JobBook& book_;
  JobPool& pool_;
  JobLayers& layers_;
  JobRecord& record_ = book_.record;
  const JobSpec& spec_ = book_.spec;
  const JobRules& rules_ = book_.rules;
  std::optional<Instant> no_workers_since_;
  std::optional<Instant> again_;  // not before, after the attempt to assign a group failed
  uint32_t attempts_ = 0;
  bool busy_ = false;
  std::map<uint16_t, Instant> gap_since_;  // of workflows that lack workers to begin, or of which nothing runs
};

}  // namespace bellwether::dispatch

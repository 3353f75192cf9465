// The layers of a job's workflows: the values of one layer for the next, and the border between them. A quorum
// keeps the values before a dependent workflow begins, within a time limit. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/dispatch/job_book.h"

namespace bellwether::dispatch {

class JobLayers {
 public:
  // `book` must outlive it.
  explicit JobLayers(JobBook& book) : book_(book) {}

  const plan::Values& context() const { return context_; }
  void restore(plan::Values context) {
    context_ = std::move(context);
    context_kept_ = context_.version;
  }
  void kept(uint64_t version) { context_kept_ = std::max(context_kept_, version); }

  // A report of an assignment at its end.
  void hear_notes(Instant now, const std::vector<std::string>& notes);
  void hear_findings(Instant now, const AssignmentRecord& assignment, const std::vector<plan::Finding>& findings);
  void hear_values(Instant now, const AssignmentRecord& assignment, const std::vector<plan::Provided>& provided,
                   JobEffects& out);
  bool is_awaited(uint16_t workflow) const;
  // False: no workflow may begin yet; or, without a quorum in time, none will, and all workflows have ended.
  bool pass_border(Instant now, JobEffects& out);
  Instant wake() const { return border_since_ ? *border_since_ + rules_.layer_sync_limit : Instant::never(); }

 private:
  JobBook& book_;
  JobRecord& record_ = book_.record;
  const JobSpec& spec_ = book_.spec;
  const JobRules& rules_ = book_.rules;
  plan::Values context_;
  uint64_t context_kept_ = 0;            // of the version that a quorum has
  std::optional<Instant> border_since_;  // end of the layer that waits at the border
};

}  // namespace bellwether::dispatch

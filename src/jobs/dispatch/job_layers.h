// What is handed from one layer of a job's workflows to the next, and the border between the two: what workflows left
// for others is made safe before anybody begins with it, and nobody waits for that for ever.
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

  // What a share tells with its end.
  void hear_notes(Instant now, const std::vector<std::string>& notes);
  void hear_findings(Instant now, const ShareSheet& share, const std::vector<plan::Finding>& findings);
  void hear_values(Instant now, const ShareSheet& share, const std::vector<plan::Provided>& provided, JobEffects& out);
  bool is_awaited(uint16_t workflow) const;
  // False: nothing may begin yet, or, for want of a quorum, nothing will: then all workflows have ended.
  bool pass_border(Instant now, JobEffects& out);
  Instant wake() const { return border_since_ ? *border_since_ + rules_.layer_sync_limit : Instant::never(); }

 private:
  JobBook& book_;
  JobSheet& sheet_ = book_.sheet;
  const JobSpec& spec_ = book_.spec;
  const JobRules& rules_ = book_.rules;
  plan::Values context_;
  uint64_t context_kept_ = 0;            // version that a quorum has
  std::optional<Instant> border_since_;  // when the layer ended after which nothing could begin yet
};

}  // namespace bellwether::dispatch

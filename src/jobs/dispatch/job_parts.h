// Who runs which parts of a job, as its sheet has it, and what nobody ran or measured: the losses in the sheet, which
// are written while the run goes on (docs/decisions/018-losses.md).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "jobs/dispatch/job_sheet.h"

namespace bellwether::dispatch {

class JobParts {
 public:
  // Both must outlive it.
  JobParts(const JobSpec& spec, JobSheet& sheet) : spec_(spec), sheet_(sheet) {}

  const ShareSheet* find(ShareId share) const;
  ShareSheet* find(ShareId share) { return const_cast<ShareSheet*>(std::as_const(*this).find(share)); }
  bool has_live(uint16_t workflow) const;
  uint32_t parts_on(const std::string& worker) const;
  // Those that are to go on with parts of this share.
  std::vector<ShareId> followers_of(ShareId from) const;
  // Parts that no share stands for.
  std::vector<uint32_t> gaps(uint16_t workflow) const;
  // How often whoever ran this part was lost.
  uint32_t deaths(uint16_t workflow, uint32_t part) const;
  // That nobody has begun, of a part which somebody is to run.
  uint64_t iterations_of(uint16_t workflow, uint32_t part) const;

  static std::string how_lost(const ShareSheet& share);
  void add_loss(uint16_t workflow, const std::string& how, uint32_t parts, Duration from, Duration to);
  // What nobody measured of these parts from when their last share was lost until now; from the workflow's begin where
  // no share of theirs is known to have begun. What runs once begins whenever somebody runs it, and of iterations time
  // is no loss: lose_iterations() has told of those.
  void write_losses(uint16_t workflow, const std::vector<uint32_t>& parts, Duration until);
  // Nobody will run these parts any more.
  void lose_gaps(uint16_t workflow, const std::vector<uint32_t>& parts, Duration until);
  // How many of its parts another share has gone on with.
  uint32_t succeeded(const ShareSheet& share) const;

 private:
  const JobSpec& spec_;
  JobSheet& sheet_;
};

}  // namespace bellwether::dispatch

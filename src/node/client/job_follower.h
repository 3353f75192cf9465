// Follows a job from outside: its sheet, and its totals, made of the same seconds in the same order as its owner's. A
// follower that was away for long is given the whole. One thread, that of the client's runtime.
#pragma once

#include <string>

#include "account/totals_codec.h"
#include "aggregate/totals.h"
#include "node/client/job_client.h"
#include "report/run_report.h"

namespace bellwether::node {

class JobFollower {
 public:
  // Both must outlive it.
  JobFollower(JobClient& client, const plan::Plan& plan, std::string job)
      : client_(client), plan_(plan), job_(std::move(job)), totals_(plan) {}

  // Waits for news for at most `wait`. True: there are some.
  runtime::task<Result<bool>> next(Duration wait, Instant deadline, runtime::Cancellation* cancel);

  // From now on counters that have changed are news too, this long apart (dispatch::kLiveLeast at least).
  void ask_for_live(Duration every) { live_every_ = every; }
  // What the shares have told last, and when that was heard. For screens only.
  const dispatch::LiveSum& live() const { return live_; }

  const dispatch::JobSheet& sheet() const { return sheet_; }
  const aggregate::Totals& totals() const { return totals_; }
  uint32_t position() const { return position_; }  // in the queue; 0: it does not wait
  const std::string& owner() const { return owner_; }
  bool final() const { return final_; }

 private:
  Status take(const dispatch::Watched& watched);

  JobClient& client_;
  const plan::Plan& plan_;
  std::string job_;
  dispatch::JobSheet sheet_;
  aggregate::Totals totals_;
  std::string owner_;
  uint32_t position_ = 0;
  uint64_t life_ = 0;
  uint64_t seconds_ = 0;
  Duration live_every_;
  dispatch::LiveSum live_;
  bool final_ = false;
};

// How a job went, for its report.
report::Course course_of(const dispatch::JobSheet& sheet);

}  // namespace bellwether::node

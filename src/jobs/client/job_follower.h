// Follows a job from outside: its sheet, and its totals, made of the same seconds in the same order as its owner's. A
// follower that was away for long is given the whole. One thread, that of the client's runtime.
#pragma once

#include <optional>
#include <string>

#include "core/base/callback.h"
#include "jobs/client/job_client.h"
#include "load/aggregate/totals.h"
#include "load/codec/totals_codec.h"
#include "load/report/run_report.h"

namespace bellwether::node {

class JobFollower {
 public:
  // Told within next(), before the sheet is the new one, of what the totals hold already.
  struct Observer {
    // One second more, or (`amends`) something of one that was told before.
    Callback<void(const metrics::Window& second, Duration covered, bool amends)> on_second;
    // They are others: nothing that was told before counts.
    Callback<void()> on_whole;
  };

  // All must outlive it. Nothing: nobody observes it.
  JobFollower(JobClient& client, const plan::Plan& plan, std::string job, std::optional<Observer> observer = {})
      : client_(client), plan_(plan), job_(std::move(job)), observer_(observer), totals_(plan) {}

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
  Status add(const dispatch::Watched& watched);

  JobClient& client_;
  const plan::Plan& plan_;
  std::string job_;
  std::optional<Observer> observer_;
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

// How long a workflow has run, by its own clock, as far as its shares have told.
Duration ran_of(const dispatch::JobSheet& sheet, std::size_t workflow);
// How a job went, for its report.
report::Course course_of(const dispatch::JobSheet& sheet);

}  // namespace bellwether::node

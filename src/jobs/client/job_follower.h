// Follows a job from a client: its record, and its totals, made of the same seconds in the same order as the owner's. A
// follower that is far behind gets the owner's totals. One thread, that of the client's runtime.
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
  // Called within next(), before the record is the new one, after the totals have changed.
  struct Observer {
    // A further second, or (`amends`) an amendment of a former one.
    Callback<void(const metrics::Window& second, Duration covered, bool amends)> on_second;
    // New totals: they replace everything before.
    Callback<void()> on_whole;
  };

  // All must outlive it. `observer`: nothing if none.
  JobFollower(JobClient& client, const plan::Plan& plan, std::string job, std::optional<Observer> observer = {})
      : client_(client), plan_(plan), job_(std::move(job)), observer_(observer), totals_(plan) {}

  // Waits for news for at most `wait`. True: it has some. `retry_until`: as for JobClient::ask().
  runtime::task<Result<bool>> next(Duration wait, Instant deadline, runtime::Cancellation* cancel,
                                   Instant retry_until = Instant::never());

  // From now on changed counters are news too, this long apart (dispatch::kMinLive at least).
  void ask_for_live(Duration every) { live_every_ = every; }
  // The last counters of the assignments, and their time of receipt. For screens only.
  const dispatch::LiveSum& live() const { return live_; }

  const dispatch::JobRecord& record() const { return record_; }
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
  dispatch::JobRecord record_;
  aggregate::Totals totals_;
  std::string owner_;
  uint32_t position_ = 0;
  uint64_t life_ = 0;
  uint64_t seconds_ = 0;
  Duration live_every_;
  dispatch::LiveSum live_;
  bool final_ = false;
};

// The time that a workflow has run by its own clock, according to its assignments.
Duration ran_of(const dispatch::JobRecord& record, std::size_t workflow);
// The events of a job. Where some were left out, one of the kind "events_left_out" says how many.
std::vector<dispatch::JobEvent> events_of(const dispatch::JobRecord& record);
// The course of a job, for its report.
report::Course course_of(const dispatch::JobRecord& record);
// The course of a job whose end its client does not know, for these reasons. The totals and the record are the last
// known ones; the record may be empty.
report::Course unconfirmed_course(const dispatch::JobRecord& record, const aggregate::Totals& totals, std::string why);

}  // namespace bellwether::node

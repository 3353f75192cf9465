// Who tidies up after a job that was stopped, or whose load failed: the teardown follows all the same, when nothing of
// the load runs any more. It does not where nothing had begun, after a second cancellation at once, or after the
// timeout of the job; and what was stopped waits for it only for so long.

#include <algorithm>

#include "base/probe.h"
#include "base/units.h"
#include "dispatch/job.h"

namespace bellwether::dispatch {

std::string Job::by_whom(const JobStop& stop) { return stop.by.empty() ? std::string() : ", by '" + stop.by + "'"; }

bool Job::take_stop(Instant now, const JobStop& stop) {
  if (!sheet_.stop) {
    sheet_.stop = stop;
    // A teardown that runs already is stopped as anything else.
    bool tears_down = false;
    for (uint16_t w = 0; w < spec_.size(); ++w) tears_down |= spec_[w].is_teardown && sheet_.workflows[w].begun;
    sheet_.stop->all = tears_down || stop.cause == JobStop::Cause::kTimeout;
    add_event(now, "stopping", stop.why + by_whom(stop) + what_runs());
    return true;
  }
  JobStop& known = *sheet_.stop;
  const bool at_once = stop.how == StopHow::kAtOnce;
  const bool second = at_once && (known.how != StopHow::kAtOnce || stop.number != known.number ||
                                  stop.cause == JobStop::Cause::kTimeout);
  if (known.how == StopHow::kAtOnce && (known.all || !second)) return false;
  known.how = stop.how;
  if (second && !known.all) {
    known.all = true;
    if (awaits_teardown()) add_event(now, "teardown_stopped", stop.why + by_whom(stop) + what_runs());
  }
  return true;
}

bool Job::was_stopped(uint16_t workflow) const {
  return std::any_of(sheet_.shares.begin(), sheet_.shares.end(), [&](const ShareSheet& share) {
    return share.workflow == workflow && share.end && share.end->outcome == ShareOutcome::kStopped;
  });
}

bool Job::awaits_teardown() const {
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (spec_[w].is_teardown && !is_final(sheet_.workflows[w].state)) return true;
  }
  return false;
}

bool Job::may_tear_down() const {
  if (!sheet_.stop || sheet_.stop->all) return false;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (!spec_[w].is_teardown && (!is_final(sheet_.workflows[w].state) || has_live(w))) return false;
  }
  return true;
}

void Job::look_at_teardown(Instant now, JobEffects& out) {
  if (!awaits_teardown()) return;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    const std::vector<uint16_t>& needs = spec_[w].depends;
    const bool waits = sheet_.workflows[w].state == WorkflowState::kPending && !zero_;
    const bool ended = std::all_of(needs.begin(), needs.end(),
                                   [this](uint16_t need) { return is_final(sheet_.workflows[need].state); });
    if (!spec_[w].is_teardown || !waits || !ended) continue;
    become(w, WorkflowState::kSkipped, "nothing had begun that it could tidy up after", out);
  }
  if (!may_tear_down() || !awaits_teardown()) return;
  if (!teardown_since_) {
    // Another owner may have been here before.
    teardown_since_ = adopted_ ? std::min(end_of_last(), now) : now;
    const bool told = std::any_of(sheet_.events.begin(), sheet_.events.end(),
                                  [](const JobEvent& one) { return one.kind == "teardown_follows"; });
    if (!told) add_event(now, "teardown_follows", "what was stopped has ended, and is tidied up after");
  }
  if (now < teardown_end()) return;
  BW_PROBE("dispatch: a teardown takes longer than a job that is stopped may");
  const std::string why = "a job that is stopped waits " + seconds_text(rules_.teardown_limit) + " for its teardown";
  sheet_.stop->all = true;
  add_event(now, "teardown_stopped", why + what_runs());
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (is_final(sheet_.workflows[w].state)) continue;
    become(w, WorkflowState::kTimedOut, why, out);
    stop_shares(now, w, StopHow::kAtOnce, why, out);
  }
}

Instant Job::teardown_end() const {
  return teardown_since_ && awaits_teardown() ? *teardown_since_ + rules_.teardown_limit : Instant::never();
}

}  // namespace bellwether::dispatch

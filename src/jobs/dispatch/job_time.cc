// What happens to a job because time passes. Shares that do not answer are lost. Those that run for longer than they
// may: their workers ask for more time, which is given a few times, and less each time. What then becomes of them their
// workers do by themselves; here it is written down, and what is paused is ended with the rest of the job. And the
// timeout of the whole.

#include <algorithm>
#include <set>

#include "core/base/probe.h"
#include "core/base/units.h"
#include "jobs/dispatch/job.h"
#include "jobs/dispatch/letters.h"

namespace bellwether::dispatch {
namespace {

std::string percent(double part) { return std::to_string(static_cast<int>(part * 100)) + " % done"; }

}  // namespace

// Of what is stopped, for the record.
std::string Job::what_runs() const {
  std::set<std::string> workers;
  std::size_t shares = 0;
  for (const ShareSheet& share : sheet_.shares) {
    if (!is_live(share)) continue;
    ++shares;
    workers.insert(share.worker);
  }
  return shares == 0 ? std::string()
                     : "; " + format_count(shares, "share") + " on " + format_count(workers.size(), "worker");
}

Duration Job::time_of(const ShareSheet& share) const {
  const WorkflowSpec& spec = spec_[share.workflow];
  if (spec.length == Duration::zero()) return Duration::hours(24) + share.extended;
  return spec.length + spec.graceful_stop + rules_.overtime + share.extended;
}

MoreTime Job::more_time(Instant now, const ExtendLetter& letter, bool suspect, JobEffects& out) {
  MoreTime answer;
  ShareSheet* share = parts_.find(letter.share);
  if (!owned_ || share == nullptr || share->state != ShareState::kRunning) {
    answer.why = "the share does not run";
    return answer;
  }
  // By the clock of its worker, which ends its time.
  const auto [at, first] = trackers_.try_emplace(letter.share, now + letter.left, share->extensions, rules_.extensions);
  const resilience::ExtensionAnswer said = at->second.ask(now, letter.request, suspect);
  answer.granted = said.granted;
  answer.remaining = said.remaining;
  answer.warning = said.warning;
  answer.over = said.deadline <= now;
  const std::string whose = "worker '" + share->worker + "', workflow '" + spec_[share->workflow].name + "', " +
                            percent(letter.request.progress);
  if (said.ok()) {
    ++share->extensions;
    share->extended += said.granted;
    add_event(
        now, "share_extended",
        whose + ": " + seconds_text(said.granted) + " more, for a " + std::string(to_string(letter.request.reason)));
  } else {
    answer.why = to_string(said.denial);
    if (answer.over) add_event(now, "share_not_extended", whose + ": " + answer.why);
  }
  flush(out);
  return answer;
}

// When its worker has given up asking, or never for one whose worker then ends it.
Instant Job::overdue_at(const ShareSheet& share) const {
  const auto since = share_since_.find(share.id);
  const bool ends = spec_[share.workflow].on_overtime == plan::OnOvertime::kKill;
  if (ends || share.state != ShareState::kRunning || since == share_since_.end() || overdue_.contains(share.id)) {
    return Instant::never();
  }
  return since->second + time_of(share) + rules_.extensions.grace;
}

Instant Job::timeout_at() const {
  const bool ends = concluding_ || (sheet_.stop && sheet_.stop->how == StopHow::kAtOnce && sheet_.stop->all);
  return zero_ && rules_.timeout && !ends ? *zero_ + *rules_.timeout : Instant::never();
}

void Job::look_at_timeout(Instant now, JobEffects& out) {
  if (timeout_at() > now) return;
  stop(now, {JobStop::Cause::kTimeout, StopHow::kAtOnce, {}, plan::timeout_text(*rules_.timeout)}, {}, out);
}

Instant Job::timeout_at(uint16_t workflow) const {
  const WorkflowSheet& one = sheet_.workflows[workflow];
  const bool goes_on = one.begun && !is_final(one.state) && !concluding_ && !is_stopped(workflow);
  if (!zero_ || !goes_on || !spec_[workflow].timeout) return Instant::never();
  return clock_of(workflow) + *spec_[workflow].timeout + rules_.kill_grace;
}

void Job::time_out(Instant now, uint16_t workflow, JobEffects& out) {
  const std::optional<Duration>& timeout = spec_[workflow].timeout;
  if (is_final(sheet_.workflows[workflow].state) || !timeout) return;
  const std::string why = plan::timeout_text(*timeout);
  add_event(now, "workflow_timed_out", "workflow '" + spec_[workflow].name + "': " + why);
  // What nobody measured until now is missing. What would have come later was not to be.
  if (const auto left = parts_.gaps(workflow); !left.empty()) parts_.lose_gaps(workflow, left, elapsed(now));
  become(workflow, WorkflowState::kTimedOut, why, out);
  stop_shares(now, workflow, StopHow::kAtOnce, "the timeout of its workflow is over", out);
}

void Job::look_for_overdue(Instant now) {
  for (const ShareSheet& share : sheet_.shares) {
    if (overdue_at(share) > now) continue;
    overdue_.insert(share.id);
    const WorkflowSpec& spec = spec_[share.workflow];
    const bool paused = spec.on_overtime == plan::OnOvertime::kPause;
    add_event(now, "share_overtime",
              "worker '" + share.worker + "', workflow '" + spec.name + "' has used its time, and " +
                  (paused ? "starts nothing new" : "runs on"));
  }
}

// When only what is paused is left of a job, it is ended.
void Job::end_paused(Instant now, JobEffects& out) {
  std::vector<uint16_t> paused;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (is_final(sheet_.workflows[w].state)) continue;
    const auto goes_on = [&](const ShareSheet& share) {
      return share.workflow == w && is_live(share) && !overdue_.contains(share.id);
    };
    if (spec_[w].on_overtime != plan::OnOvertime::kPause || !parts_.has_live(w)) return;
    if (std::any_of(sheet_.shares.begin(), sheet_.shares.end(), goes_on)) return;
    paused.push_back(w);
  }
  for (const uint16_t w : paused) {
    fail_workflow(now, w, WorkflowState::kTimedOut, "ran for longer than it may, and was paused", out);
  }
}

void Job::tick(Instant now, JobEffects& out) {
  if (!owned_ || over_) return;
  std::vector<ShareId> late;
  for (const ShareSheet& share : sheet_.shares) {
    if (is_live(share) && share_since_[share.id] + limit_of(share) <= now) late.push_back(share.id);
  }
  look_for_overdue(now);
  for (const ShareId id : late) {
    ShareSheet* share = parts_.find(id);
    if (share == nullptr || !is_live(*share)) continue;
    if (share->state == ShareState::kOffered) {
      offered(now, id, OfferAnswer::kNotNow, "it did not answer an offer in time", out);
      continue;
    }
    const uint16_t workflow = share->workflow;
    const bool asked_to_stop = share->state == ShareState::kStopping || share->handed_over || is_spare(*share);
    lose(now, *share, "it gave no result in time", out);
    if (!asked_to_stop && !is_final(sheet_.workflows[workflow].state)) {
      fail_workflow(now, workflow, WorkflowState::kFailed,
                    "no result of '" + spec_[workflow].name + "' from worker '" + share->worker + "'", out);
    }
  }
  look_at_timeout(now, out);
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (timeout_at(w) <= now) time_out(now, w, out);
  }
  advance(now, out);
}

Instant Job::wake() const {
  if (!owned_ || over_ || is_final(sheet_.state)) return Instant::never();
  Instant next = std::min({next_move(), timeout_at(), teardown_end()});
  if (!asking_.empty()) next = std::min(next, asked_until_);
  if (border_since_) next = std::min(next, *border_since_ + rules_.layer_sync_limit);
  for (const ShareSheet& share : sheet_.shares) {
    const auto since = share_since_.find(share.id);
    if (!is_live(share) || since == share_since_.end()) continue;
    next = std::min({next, since->second + limit_of(share), overdue_at(share)});
  }
  bool active = false;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    active = active || is_active(w);
    next = std::min(next, timeout_at(w));
    const auto since = gap_since_.find(w);
    if (since == gap_since_.end()) continue;
    next = std::min(next, since->second + rules_.dispatch_limit);
    if (zero_ && spec_[w].length > Duration::zero()) next = std::min(next, clock_of(w) + spec_[w].length);
  }
  if (!active && group_again_) next = std::min(next, *group_again_);
  if (!active && no_workers_since_) next = std::min(next, *no_workers_since_ + rules_.worker_wait);
  return next;
}

// Who tidies up after a job that was stopped, or whose load failed: the teardown follows all the same, when nothing of
// the load runs any more. It does not where nothing had begun, after a second cancellation at once, or after the
// timeout of the job; and what was stopped waits for it only for so long.

std::string Job::by_whom(const std::string& by) { return by.empty() ? std::string() : ", by '" + by + "'"; }

bool Job::take_stop(Instant now, const JobStop& stop) {
  if (!sheet_.stop) {
    sheet_.stop = stop;
    // A teardown that runs already is stopped as anything else.
    bool tears_down = false;
    for (uint16_t w = 0; w < spec_.size(); ++w) tears_down |= spec_[w].is_teardown && sheet_.workflows[w].begun;
    sheet_.stop->all = tears_down || stop.cause == JobStop::Cause::kTimeout;
    add_event(now, "stopping", stop.why + by_whom(stop.by) + what_runs());
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
    if (awaits_teardown()) add_event(now, "teardown_stopped", stop.why + by_whom(stop.by) + what_runs());
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
    if (!spec_[w].is_teardown && (!is_final(sheet_.workflows[w].state) || parts_.has_live(w))) return false;
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

#include "jobs/dispatch/job.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/probe.h"

namespace bellwether::dispatch {

namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

uint64_t seconds_up(Duration span) { return static_cast<uint64_t>((span.ns() + kSecondNs - 1) / kSecondNs); }

std::string cut(std::string text) {
  if (text.size() > kMostTextBytes) text.resize(kMostTextBytes);
  return text;
}

}  // namespace

Job::Job(JobSpec spec, JobRules rules, JobSheet sheet, Prng prng)
    : spec_(std::move(spec)), rules_(rules), sheet_(std::move(sheet)), prng_(prng) {
  if (sheet_.workflows.empty()) sheet_.workflows = new_workflows(spec_);
  check(sheet_.workflows.size() == spec_.size(), "a job has the workflows of its plan");
}

std::vector<WorkflowSheet> Job::new_workflows(const JobSpec& spec) {
  std::vector<WorkflowSheet> out;
  for (const WorkflowSpec& one : spec) out.push_back({.vus = one.told_vus.value_or(0)});
  return out;
}

// --- what it is told -------------------------------------------------------------------------------------------------

void Job::begin(Instant now, JobEffects& out) {
  owned_ = true;
  if (sheet_.state == JobState::kSubmitted) become(JobState::kQueued, {}, out);
  changed_ = true;
  advance(now, out);
}

void Job::adopt(Instant now, Duration ago, std::map<ShareId, uint64_t> applied, JobEffects& out) {
  applied_ = std::move(applied);
  owned_ = adopting_ = adopted_ = true;
  asked_until_ = now + rules_.adopt_limit;
  if (sheet_.started.unix_ns != 0) zero_ = now - ago;
  if (is_final(sheet_.state)) {
    over_ = true;
  } else {
    follow_account(now);
  }
  for (const ShareSheet& share : sheet_.shares) {
    share_since_[share.id] = now;
    const bool missed = is_live(share) && !has_all_of(share);
    if (missed || (share.end && is_awaited(share.workflow))) asking_.insert(share.worker);
  }
  // Its last owner had heard of the end and of all before it, and died between the two.
  for (std::size_t i = 0; i < sheet_.shares.size(); ++i) {
    ShareSheet& share = sheet_.shares[i];
    if (is_live(share) && has_all_of(share)) finish(now, share, out);
  }
  if (sheet_.state == JobState::kSubmitted) become(JobState::kQueued, {}, out);
  changed_ = !over_;
  advance(now, out);
}

// It has ended, and all that it measured is in the account.
bool Job::has_all_of(const ShareSheet& share) const {
  if (!share.end || !share.streams) return share.end.has_value();
  const auto known = applied_.find(share.id);
  return share.end->last_number <= (known == applied_.end() ? 0 : known->second);
}

void Job::kept(Instant now, uint64_t revision, JobEffects& out) {
  const auto later =
      std::partition(held_.begin(), held_.end(), [&](const Held& one) { return one.revision <= revision; });
  std::vector<Held> due(std::make_move_iterator(held_.begin()), std::make_move_iterator(later));
  held_.erase(held_.begin(), later);
  for (Held& one : due) {
    if (const auto* offer = std::get_if<job_effect::Offer>(&one.effect)) {
      ShareSheet* share = parts_.find(offer->share);
      if (share == nullptr || share->state != ShareState::kOffered) continue;
      share_since_[offer->share] = now;
    }
    if (const auto* taking = std::get_if<job_effect::TakeOver>(&one.effect)) {
      const ShareSheet* const share = find(taking->share);
      if (share == nullptr || !is_spare(*share)) continue;
    }
    if (const auto* stopping = std::get_if<job_effect::Stop>(&one.effect)) {
      const ShareSheet* share = find(stopping->share);
      if (share == nullptr || !is_live(*share)) continue;
      share_since_[stopping->share] = now;
    }
    if (std::holds_alternative<job_effect::Over>(one.effect)) over_ = true;
    out.push_back(std::move(one.effect));
  }
}

void Job::stop(Instant now, const JobStop& stop, const std::set<uint16_t>& workflows, JobEffects& out) {
  if (!owned_ || over_ || concluding_) return;
  const bool cancelled = stop.cause == JobStop::Cause::kCancelled;
  if (workflows.empty()) {
    if (!take_stop(now, stop)) return;
    if (cancelled && sheet_.state != JobState::kCancelling) become(JobState::kCancelling, stop.why, out);
  }
  std::string names;
  for (const uint16_t w : workflows) names += (names.empty() ? "'" : ", '") + spec_[w].name + "'";
  if (!names.empty()) add_event(now, "workflow_stopping", names + ": " + stop.why + by_whom(stop.by));
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (!workflows.empty() && !workflows.contains(w)) continue;
    const WorkflowState state = sheet_.workflows[w].state;
    if (is_final(state) || (workflows.empty() && !is_stopped(w))) continue;
    stop_shares(now, w, stop.how, stop.why, out);
    const bool begun = sheet_.workflows[w].begun;
    if (!workflows.empty() || (cancelled && !parts_.has_live(w)) || (!begun && cancelled)) {
      if (!workflows.empty()) lose_rest(now, w, "cancelled");
      become(w, WorkflowState::kCancelled, stop.why, out);
    } else if (!begun) {
      become(w, state == WorkflowState::kPending ? WorkflowState::kSkipped : WorkflowState::kCancelled, stop.why, out);
    }
  }
  changed_ = true;
  advance(now, out);
}

Status Job::scale(Instant now, const std::string& workflow, uint32_t vus, const std::string& by, JobEffects& out) {
  std::vector<plan::Told> told;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (spec_[w].told_vus) told.push_back({w, spec_[w].name, spec_[w].vus});
  }
  BW_TRY(const auto w, plan::find_told(told, workflow, vus));
  WorkflowSheet& one = sheet_.workflows[w];
  const std::string whose = "workflow '" + spec_[w].name + "'";
  if (is_final(one.state)) return fail(Errc::kClosed, whose + " has ended: it is " + std::string(to_string(one.state)));
  if (one.vus == vus) return {};
  add_event(now, "scaled",
            whose + ": " + std::to_string(one.vus) + " to " + std::to_string(vus) + " virtual users" + by_whom(by));
  one.vus = vus;
  changed_ = true;
  for (const ShareSheet& share : sheet_.shares) {
    const bool listens = share.state == ShareState::kReady || share.state == ShareState::kRunning;
    if (share.workflow == w && listens) to_hold_.push_back(job_effect::Scale{share.id});
  }
  advance(now, out);
  return {};
}

void Job::pool(Instant now, std::vector<WorkerSight> workers, JobEffects& out) {
  pool_ = std::move(workers);
  for (const WorkerSight& worker : pool_) {
    // A share of another life of its process is gone with it.
    const auto older = std::find_if(sheet_.shares.begin(), sheet_.shares.end(), [&](const ShareSheet& share) {
      return is_live(share) && share.worker == worker.name && share.life != worker.life;
    });
    if (older != sheet_.shares.end()) worker_gone(now, worker.name, older->life, "it was started again", out);
  }
  advance(now, out);
}

void Job::concluded(Instant now, JobEffects& out) {
  if (!concluding_ || is_final(sheet_.state)) return;
  const JobState to = outcome();
  sheet_.ended = wall(now);
  std::string why;
  for (uint16_t w = 0; w < spec_.size() && why.empty(); ++w) {
    if (sheet_.workflows[w].state != WorkflowState::kCompleted) why = sheet_.workflows[w].why;
  }
  if (sheet_.state == JobState::kRunning) become(JobState::kCompleting, {}, out);
  // Whatever became of the teardown.
  if (sheet_.stop && (to == JobState::kCancelled || to == JobState::kTimedOut)) why = sheet_.stop->why;
  become(to, to == JobState::kCompleted ? std::string() : why, out);
  held_.push_back({sheet_.revision + 1, job_effect::Over{}});
  flush(out);
}

void Job::note(Instant now, std::string kind, std::string detail, JobEffects& out) {
  add_event(now, std::move(kind), std::move(detail));
  flush(out);
}

// --- its life --------------------------------------------------------------------------------------------------------

void Job::advance(Instant now, JobEffects& out) {
  if (!owned_ || over_ || is_final(sheet_.state)) return flush(out);
  if (adopting_) {
    if (!asking_.empty() && now < asked_until_) return flush(out);
    adopted(now, out);
  }
  for (uint16_t w = 0; w < spec_.size(); ++w) judge(now, w, out);
  skip_dependents(out);
  look_at_teardown(now, out);
  end_paused(now, out);
  const auto& all = sheet_.workflows;
  if (std::all_of(all.begin(), all.end(), [](const WorkflowSheet& one) { return is_final(one.state); })) {
    conclude(now, out);
  } else if (!sheet_.stop || may_tear_down()) {
    bool active = false;
    for (uint16_t w = 0; w < spec_.size(); ++w) active = active || is_active(w);
    if (!active) {
      plan_group(now, out);
    } else {
      fill_gaps(now, out);
      begin_group(now, out);
      empty_workers(now, out);
      rebalance(now);
      move_on(now, out);
      begin_postponed(now, out);
    }
  }
  flush(out);
}

// All workers have said what they run of it, or have been waited for long enough.
void Job::adopted(Instant now, JobEffects& out) {
  adopting_ = false;
  if (!asking_.empty()) {
    BW_PROBE("dispatch: a worker did not say what it runs");
    asking_.clear();
  }
  if (zero_) add_event(now, "owner_changed", "another manager goes on with the run");
  for (std::size_t i = 0; i < sheet_.shares.size(); ++i) {
    ShareSheet& share = sheet_.shares[i];
    const WorkflowSheet& one = sheet_.workflows[share.workflow];
    if (!one.begun || is_final(one.state)) continue;
    if (share.streams && one.state == WorkflowState::kAssigned)
      become(share.workflow, WorkflowState::kRunning, {}, out);
    if (share.state == ShareState::kReady && !is_stopped(share.workflow)) begin_share(now, share, out);
    const bool told = is_spare(share) && find(share.follows)->until != 0;
    if (told && !taking_over_.contains(share.id))
      out.push_back(job_effect::TakeOver{share.id, clock_of(share.workflow)});
  }
  if (zero_ && sheet_.state == JobState::kDispatching) become(JobState::kRunning, {}, out);
}

// All that was handed out begins at one instant, when all of it is ready.
void Job::begin_group(Instant now, JobEffects& out) {
  std::vector<uint16_t> group;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    const WorkflowSheet& one = sheet_.workflows[w];
    if (one.begun || !is_active(w)) continue;
    if (!parts_.gaps(w).empty()) return;
    group.push_back(w);
  }
  if (group.empty()) return;
  const auto waits = [&](const ShareSheet& share) {
    return share.state == ShareState::kOffered && !sheet_.workflows[share.workflow].begun;
  };
  if (std::any_of(sheet_.shares.begin(), sheet_.shares.end(), waits)) return;
  const Instant at = now + rules_.head_start;
  if (!zero_) {
    zero_ = at;
    sheet_.started = wall(at);
  }
  const uint64_t base = at > *zero_ ? seconds_up(at - *zero_) : 0;
  for (const uint16_t w : group) {
    sheet_.workflows[w].begun = true;
    sheet_.workflows[w].base_second = base;
    become(w, WorkflowState::kRunning, {}, out);
    for (auto& [kind, text] : plan::remarks_on_values(context_, spec_, w)) add_event(now, kind, text);
  }
  for (ShareSheet& share : sheet_.shares) {
    if (share.state == ShareState::kReady && sheet_.workflows[share.workflow].begun) begin_share(now, share, out);
  }
  if (sheet_.state == JobState::kDispatching) become(JobState::kRunning, {}, out);
  group_attempts_ = 0;
  busy_ = false;
}

// A workflow that runs has ended when all its parts have, or when nobody will ever run those that are left.
void Job::judge(Instant now, uint16_t workflow, JobEffects& out) {
  const WorkflowSheet& one = sheet_.workflows[workflow];
  if (!one.begun || is_final(one.state) || parts_.has_live(workflow)) return;
  const std::vector<uint32_t> left = parts_.gaps(workflow);
  if (!left.empty() && !is_stopped(workflow) && !hopeless(now, workflow)) return;
  const Duration planned = clock_of(workflow) + spec_[workflow].length - *zero_;
  if (!left.empty()) {
    const Duration until = spec_[workflow].length > Duration::zero() ? std::min(elapsed(now), planned) : elapsed(now);
    parts_.lose_gaps(workflow, left, until);
  }
  const bool all_begun = spec_[workflow].counted && left.empty();
  const bool some =
      all_begun || std::any_of(sheet_.shares.begin(), sheet_.shares.end(), [&](const ShareSheet& share) {
        return share.workflow == workflow && share.state == ShareState::kEnded && share.end &&
               (share.end->outcome == ShareOutcome::kCompleted || share.end->outcome == ShareOutcome::kStopped ||
                share.end->outcome == ShareOutcome::kAborted || share.end->outcome == ShareOutcome::kTimedOut);
      });
  const bool stopped = is_stopped(workflow);
  if (stopped && sheet_.stop->cause == JobStop::Cause::kCancelled) {
    become(workflow, WorkflowState::kCancelled, sheet_.stop->why, out);
  } else if (stopped && sheet_.stop->cause == JobStop::Cause::kTimeout) {
    become(workflow, WorkflowState::kTimedOut, sheet_.stop->why, out);
  } else if (stopped && spec_[workflow].is_teardown && was_stopped(workflow)) {
    become(workflow, WorkflowState::kCancelled, sheet_.stop->why, out);
  } else if (some) {
    become(workflow, WorkflowState::kRunning, "what was lost of it stays lost", out);
    become(workflow, WorkflowState::kCompleted, {}, out);
  } else {
    become(workflow, WorkflowState::kFailed, "no worker was left that could run '" + spec_[workflow].name + "'", out);
  }
}

plan::Standing Job::standing(uint16_t workflow) const {
  const WorkflowState state = sheet_.workflows[workflow].state;
  if (!is_final(state)) return plan::Standing::kOpen;
  return state == WorkflowState::kCompleted ? plan::Standing::kCompleted : plan::Standing::kEnded;
}

void Job::skip_dependents(JobEffects& out) {
  bool again = true;
  while (again) {
    again = false;
    for (uint16_t w = 0; w < spec_.size(); ++w) {
      if (sheet_.workflows[w].state != WorkflowState::kPending) continue;
      const auto need = plan::waits_in_vain_for(spec_[w], [this](uint16_t one) { return standing(one); });
      if (!need) continue;
      const std::string_view state = to_string(sheet_.workflows[*need].state);
      become(w, WorkflowState::kSkipped, "'" + spec_[*need].name + "' is " + std::string(state), out);
      again = true;
    }
  }
}

void Job::conclude(Instant now, JobEffects& out) {
  const auto live = [](const ShareSheet& share) { return is_live(share); };
  if (concluding_ || awaits_teardown() || std::any_of(sheet_.shares.begin(), sheet_.shares.end(), live)) return;
  concluding_ = true;
  Duration elapsed;
  for (const ShareSheet& share : sheet_.shares) {
    if (!share.streams) continue;
    const Duration base = Duration::seconds(static_cast<int64_t>(sheet_.workflows[share.workflow].base_second));
    if (share.end) elapsed = std::max(elapsed, base + share.end->ran);
    elapsed = std::max(elapsed, share.lost_from);
  }
  // What would have run longer than everything else is not missed. The clock of this owner may be behind what was run.
  const Duration lasted = std::max(elapsed, this->elapsed(now));
  for (plan::Loss& loss : sheet_.losses) {
    loss.to = std::max(loss.from, std::min(loss.to, lasted));
    elapsed = std::max(elapsed, loss.to);
  }
  sheet_.elapsed = elapsed;
  if (sheet_.state == JobState::kRunning) become(JobState::kCompleting, {}, out);
  changed_ = true;
  out.push_back(job_effect::Conclude{});
}

JobState Job::outcome() const {
  if (sheet_.state == JobState::kCancelling) return JobState::kCancelled;
  if (sheet_.stop && sheet_.stop->cause == JobStop::Cause::kTimeout) return JobState::kTimedOut;
  const auto& all = sheet_.workflows;
  const auto completed = [](const WorkflowSheet& one) { return one.state == WorkflowState::kCompleted; };
  if (std::all_of(all.begin(), all.end(), completed)) return JobState::kCompleted;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (spec_[w].is_test && completed(all[w])) return JobState::kPartial;
  }
  return JobState::kFailed;
}

void Job::become(JobState to, std::string why, JobEffects& out) {
  const JobState from = sheet_.state;
  if (from == to) return;
  check(may_become(from, to), "a job goes from one state to the next as the table says");
  sheet_.state = to;
  sheet_.why = cut(std::move(why));
  changed_ = true;
  out.push_back(job_effect::Moved{"job", to_string(from), to_string(to), sheet_.why});
}

void Job::become(uint16_t workflow, WorkflowState to, std::string why, JobEffects& out) {
  WorkflowSheet& one = sheet_.workflows[workflow];
  const WorkflowState from = one.state;
  if (from == to) return;
  check(may_become(from, to), "a workflow goes from one state to the next as the table says");
  one.state = to;
  one.why = cut(std::move(why));
  changed_ = true;
  out.push_back(job_effect::Moved{spec_[workflow].name, to_string(from), to_string(to), one.why});
}

void Job::flush(JobEffects& out) {
  if (std::exchange(changed_, false)) {
    ++sheet_.revision;
    for (const ShareId share : std::exchange(to_take_over_, {})) {
      held_.push_back({sheet_.revision, job_effect::TakeOver{share, clock_of(find(share)->workflow)}});
    }
    for (JobEffect& effect : std::exchange(to_hold_, {})) held_.push_back({sheet_.revision, std::move(effect)});
    out.push_back(job_effect::Keep{sheet_.revision});
  }
}

void Job::add_event(Instant now, std::string kind, std::string detail) {
  changed_ = true;
  if (sheet_.events.size() >= kMostJobEvents) {
    ++sheet_.events_dropped;
    return;
  }
  sheet_.events.push_back({elapsed(now), std::move(kind), cut(std::move(detail))});
}

Duration Job::elapsed(Instant now) const { return zero_ && now > *zero_ ? now - *zero_ : Duration::zero(); }

}  // namespace bellwether::dispatch

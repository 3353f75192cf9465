#include "jobs/dispatch/job_desk.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "jobs/dispatch/letters.h"

namespace bellwether::dispatch {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

uint64_t seconds_up(Duration span) { return static_cast<uint64_t>((span.ns() + kSecondNs - 1) / kSecondNs); }

}  // namespace

JobDesk::JobDesk(JobSpec spec, JobRules rules, JobSheet sheet, Prng prng)
    : book_(std::move(spec), rules, std::move(sheet)), pool_(book_, prng) {
  if (sheet_.workflows.empty()) sheet_.workflows = new_workflows(spec_);
  check(sheet_.workflows.size() == spec_.size(), "a job has the workflows of its plan");
}

std::vector<WorkflowSheet> JobDesk::new_workflows(const JobSpec& spec) {
  std::vector<WorkflowSheet> out;
  for (const WorkflowSpec& one : spec) out.push_back({.vus = one.told_vus.value_or(0)});
  return out;
}

ShareOrder JobDesk::order(ShareId id, JobFence fence) const {
  const ShareSheet* share = find(id);
  check(share != nullptr, "an order is for a share of the job");
  const WorkflowSpec& spec = spec_[share->workflow];
  ShareOrder order;
  order.job = sheet_.id;
  order.share = id;
  order.fence = fence;
  order.workflow = share->workflow;
  order.parts = share->parts;
  order.cores = share->cores;
  order.squeeze = share->squeeze;
  order.base_second = sheet_.workflows[share->workflow].base_second;
  order.seed = sheet_.seed + (uint64_t{share->workflow} << 32U);
  order.bundle = sheet_.bundle;
  order.kill_grace = rules_.kill_grace;
  order.isolation_limit = rules_.isolation_limit;
  order.context_version = sheet_.context_version;
  order.given = layers_.context().given_to(spec);
  if (spec.length > Duration::zero()) order.execution_limit = spec.length + spec.graceful_stop + rules_.overtime;
  order.on_overtime = spec.on_overtime;
  if (spec.counted) order.iterations = share->iterations;
  if (spec.told_vus) order.vus = sheet_.workflows[share->workflow].vus;
  return order;
}

// --- events ----------------------------------------------------------------------------------------------------------

void JobDesk::adopt(Instant now, Duration ago, std::map<ShareId, uint64_t> applied, JobEffects& out) {
  book_.applied = std::move(applied);
  book_.owned = book_.adopting = book_.adopted = true;
  asked_until_ = now + rules_.adopt_limit;
  if (sheet_.started.unix_ns != 0) book_.zero = now - ago;
  if (is_final(sheet_.state)) {
    book_.over = true;
  } else {
    book_.follow_account(now);
  }
  for (const ShareSheet& share : sheet_.shares) {
    book_.since[share.id] = now;
    const bool missed = is_live(share) && !book_.has_all_of(share);
    if (missed || (share.end && layers_.is_awaited(share.workflow))) asking_.insert(share.worker);
  }
  // The last owner had received the end and all seconds before it, and died before it recorded both.
  for (std::size_t i = 0; i < sheet_.shares.size(); ++i) {
    ShareSheet& share = sheet_.shares[i];
    if (is_live(share) && book_.has_all_of(share)) finish(now, share, out);
  }
  if (sheet_.state == JobState::kSubmitted) book_.become(JobState::kQueued, {}, out);
  book_.changed = !book_.over;
  advance(now, out);
}

void JobDesk::stop(Instant now, const JobStop& stop, const std::set<uint16_t>& workflows, JobEffects& out) {
  if (!book_.owned || book_.over || book_.concluding) return;
  const bool cancelled = stop.cause == JobStop::Cause::kCancelled;
  if (workflows.empty()) {
    if (!teardown_.take_stop(now, stop)) return;
    if (cancelled && sheet_.state != JobState::kCancelling) book_.become(JobState::kCancelling, stop.why, out);
  }
  std::string names;
  for (const uint16_t w : workflows) names += fmt::format("{}{}'", names.empty() ? "'" : ", '", spec_[w].name);
  if (!names.empty())
    book_.add_event(now, "workflow_stopping", fmt::format("{}: {}{}", names, stop.why, JobTeardown::by_whom(stop.by)));
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (!workflows.empty() && !workflows.contains(w)) continue;
    const WorkflowState state = sheet_.workflows[w].state;
    if (is_final(state) || (workflows.empty() && !book_.is_stopped(w))) continue;
    book_.stop_shares(now, w, stop.how, stop.why, out);
    const bool begun = sheet_.workflows[w].begun;
    if (!workflows.empty() || (cancelled && !book_.has_live(w)) || (!begun && cancelled)) {
      if (!workflows.empty()) book_.lose_rest(now, w, "cancelled");
      book_.become(w, WorkflowState::kCancelled, stop.why, out);
    } else if (!begun) {
      book_.become(w, state == WorkflowState::kPending ? WorkflowState::kSkipped : WorkflowState::kCancelled, stop.why,
                   out);
    }
  }
  book_.changed = true;
  advance(now, out);
}

Status JobDesk::scale(Instant now, const std::string& workflow, uint32_t vus, const std::string& by, JobEffects& out) {
  std::vector<plan::Told> told;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (spec_[w].told_vus) told.push_back({w, spec_[w].name, spec_[w].vus});
  }
  BW_TRY(const auto w, plan::find_told(told, workflow, vus));
  WorkflowSheet& one = sheet_.workflows[w];
  const std::string whose = fmt::format("workflow '{}'", spec_[w].name);
  if (is_final(one.state)) return fail(Errc::kClosed, "{} has ended: it is {}", whose, to_string(one.state));
  if (one.vus == vus) return {};
  book_.add_event(now, "scaled",
                  fmt::format("{}: {} to {} virtual users{}", whose, one.vus, vus, JobTeardown::by_whom(by)));
  one.vus = vus;
  book_.changed = true;
  for (const ShareSheet& share : sheet_.shares) {
    const bool listens = share.state == ShareState::kReady || share.state == ShareState::kRunning;
    if (share.workflow == w && listens) book_.to_hold.push_back(job_effect::Scale{share.id});
  }
  advance(now, out);
  return {};
}

void JobDesk::pool(Instant now, std::vector<WorkerSight> workers, JobEffects& out) {
  pool_.take_in(std::move(workers));
  for (const WorkerSight& worker : pool_.workers()) {
    // The worker's process has restarted: assignments of its former life are gone.
    const auto older = std::find_if(sheet_.shares.begin(), sheet_.shares.end(), [&](const ShareSheet& share) {
      return is_live(share) && share.worker == worker.name && share.life != worker.life;
    });
    if (older != sheet_.shares.end()) worker_gone(now, worker.name, older->life, "it was started again", out);
  }
  advance(now, out);
}

void JobDesk::concluded(Instant now, JobEffects& out) {
  if (!book_.concluding || is_final(sheet_.state)) return;
  const JobState to = outcome();
  sheet_.ended = book_.wall(now);
  std::string why;
  for (uint16_t w = 0; w < spec_.size() && why.empty(); ++w) {
    if (sheet_.workflows[w].state != WorkflowState::kCompleted) why = sheet_.workflows[w].why;
  }
  if (sheet_.state == JobState::kRunning) book_.become(JobState::kCompleting, {}, out);
  // The teardown does not change the reason.
  if (sheet_.stop && (to == JobState::kCancelled || to == JobState::kTimedOut)) why = sheet_.stop->why;
  book_.become(to, to == JobState::kCompleted ? std::string() : why, out);
  book_.held.push_back({sheet_.revision + 1, job_effect::Over{}});
  book_.flush(out);
}

void JobDesk::tick(Instant now, JobEffects& out) {
  if (!book_.owned || book_.over) return;
  std::vector<ShareId> late;
  for (const ShareSheet& share : sheet_.shares) {
    if (is_live(share) && book_.since[share.id] + time_.limit_of(share) <= now) late.push_back(share.id);
  }
  time_.look_for_overdue(now);
  for (const ShareId id : late) {
    ShareSheet* share = book_.find(id);
    if (share == nullptr || !is_live(*share)) continue;
    if (share->state == ShareState::kOffered) {
      offered(now, id, OfferAnswer::kNotNow, "it did not answer an offer in time", out);
      continue;
    }
    const uint16_t workflow = share->workflow;
    const bool asked_to_stop = share->state == ShareState::kStopping || share->handed_over || book_.is_spare(*share);
    lose(now, *share, "it gave no result in time", out);
    if (!asked_to_stop && !is_final(sheet_.workflows[workflow].state)) {
      book_.fail_workflow(now, workflow, WorkflowState::kFailed,
                          fmt::format("no result of '{}' from worker '{}'", spec_[workflow].name, share->worker), out);
    }
  }
  if (time_.timeout_at() <= now) {
    stop(now, {JobStop::Cause::kTimeout, StopHow::kAtOnce, {}, plan::timeout_text(*rules_.timeout)}, {}, out);
  }
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (time_.timeout_at(w) <= now) time_.time_out(now, w, out);
  }
  advance(now, out);
}

Instant JobDesk::wake() const {
  if (!book_.owned || book_.over || is_final(sheet_.state)) return Instant::never();
  Instant next = std::min({moves_.next_move(), layers_.wake(), time_.timeout_at(), teardown_.end()});
  if (!asking_.empty()) next = std::min(next, asked_until_);
  for (const ShareSheet& share : sheet_.shares) {
    const auto since = book_.since.find(share.id);
    if (!is_live(share) || since == book_.since.end()) continue;
    next = std::min({next, since->second + time_.limit_of(share), time_.overdue_at(share)});
  }
  bool active = false;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    active = active || book_.is_active(w);
    next = std::min(next, time_.timeout_at(w));
    const auto since = gap_since_.find(w);
    if (since == gap_since_.end()) continue;
    next = std::min(next, since->second + rules_.dispatch_limit);
    if (book_.zero && spec_[w].length > Duration::zero()) next = std::min(next, book_.clock_of(w) + spec_[w].length);
  }
  if (!active && group_again_) next = std::min(next, *group_again_);
  if (!active && no_workers_since_) next = std::min(next, *no_workers_since_ + rules_.worker_wait);
  return next;
}

MoreTime JobDesk::more_time(Instant now, const ExtendLetter& letter, bool suspect, JobEffects& out) {
  return time_.more_time(now, letter, suspect, out);
}

// --- the life of the job ---------------------------------------------------------------------------------------------

void JobDesk::advance(Instant now, JobEffects& out) {
  if (!book_.owned || book_.over || is_final(sheet_.state)) return book_.flush(out);
  if (book_.adopting) {
    if (!asking_.empty() && now < asked_until_) return book_.flush(out);
    adopted(now, out);
  }
  for (uint16_t w = 0; w < spec_.size(); ++w) judge(now, w, out);
  book_.skip_dependents(out);
  teardown_.look(now, out);
  time_.end_paused(now, out);
  const auto& all = sheet_.workflows;
  if (std::all_of(all.begin(), all.end(), [](const WorkflowSheet& one) { return is_final(one.state); })) {
    conclude(now, out);
  } else if (!sheet_.stop || teardown_.may_begin()) {
    bool active = false;
    for (uint16_t w = 0; w < spec_.size(); ++w) active = active || book_.is_active(w);
    if (!active) {
      plan_group(now, out);
    } else {
      fill_gaps(now, out);
      begin_group(now, out);
      moves_.empty_workers(now, out);
      moves_.rebalance(now);
      moves_.move_on(now, out);
      begin_ready(now, out);
    }
  }
  book_.flush(out);
}

// All workers have reported what they run of it, or the limit has passed.
void JobDesk::adopted(Instant now, JobEffects& out) {
  book_.adopting = false;
  if (!asking_.empty()) {
    BW_PROBE("dispatch: a worker did not say what it runs");
    asking_.clear();
  }
  if (book_.zero) book_.add_event(now, "owner_changed", "another manager goes on with the run");
  for (std::size_t i = 0; i < sheet_.shares.size(); ++i) {
    ShareSheet& share = sheet_.shares[i];
    const WorkflowSheet& one = sheet_.workflows[share.workflow];
    if (!one.begun || is_final(one.state)) continue;
    if (share.streams && one.state == WorkflowState::kAssigned)
      book_.become(share.workflow, WorkflowState::kRunning, {}, out);
    if (share.state == ShareState::kReady && !book_.is_stopped(share.workflow)) begin_share(now, share, out);
    const bool told = book_.is_spare(share) && find(share.follows)->until != 0;
    if (told && !moves_.takes_over(share.id))
      out.push_back(job_effect::TakeOver{share.id, book_.clock_of(share.workflow)});
  }
  if (book_.zero && sheet_.state == JobState::kDispatching) book_.become(JobState::kRunning, {}, out);
}

// The whole group begins at one instant, when all of it is ready.
void JobDesk::begin_group(Instant now, JobEffects& out) {
  std::vector<uint16_t> group;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    const WorkflowSheet& one = sheet_.workflows[w];
    if (one.begun || !book_.is_active(w)) continue;
    if (!book_.gaps(w).empty()) return;
    group.push_back(w);
  }
  if (group.empty()) return;
  const auto waits = [&](const ShareSheet& share) {
    return share.state == ShareState::kOffered && !sheet_.workflows[share.workflow].begun;
  };
  if (std::any_of(sheet_.shares.begin(), sheet_.shares.end(), waits)) return;
  const Instant at = now + rules_.head_start;
  if (!book_.zero) {
    book_.zero = at;
    sheet_.started = book_.wall(at);
  }
  const uint64_t base = at > *book_.zero ? seconds_up(at - *book_.zero) : 0;
  for (const uint16_t w : group) {
    sheet_.workflows[w].begun = true;
    sheet_.workflows[w].base_second = base;
    book_.become(w, WorkflowState::kRunning, {}, out);
    for (auto& [kind, text] : plan::remarks_on_values(layers_.context(), spec_, w)) book_.add_event(now, kind, text);
  }
  begin_ready(now, out);
  if (sheet_.state == JobState::kDispatching) book_.become(JobState::kRunning, {}, out);
  group_attempts_ = 0;
  busy_ = false;
}

// A running workflow has ended when all its parts have, or when no worker will ever run the remaining ones.
void JobDesk::judge(Instant now, uint16_t workflow, JobEffects& out) {
  const WorkflowSheet& one = sheet_.workflows[workflow];
  if (!one.begun || is_final(one.state) || book_.has_live(workflow)) return;
  const std::vector<uint32_t> left = book_.gaps(workflow);
  if (!left.empty() && !book_.is_stopped(workflow) && !hopeless(now, workflow)) return;
  const Duration planned = book_.clock_of(workflow) + spec_[workflow].length - *book_.zero;
  if (!left.empty()) {
    const Duration until =
        spec_[workflow].length > Duration::zero() ? std::min(book_.elapsed(now), planned) : book_.elapsed(now);
    book_.lose_gaps(workflow, left, until);
  }
  const bool all_begun = spec_[workflow].counted && left.empty();
  const bool some =
      all_begun || std::any_of(sheet_.shares.begin(), sheet_.shares.end(), [&](const ShareSheet& share) {
        return share.workflow == workflow && share.state == ShareState::kEnded && share.end &&
               (share.end->outcome == ShareOutcome::kCompleted || share.end->outcome == ShareOutcome::kStopped ||
                share.end->outcome == ShareOutcome::kAborted || share.end->outcome == ShareOutcome::kTimedOut);
      });
  const bool stopped = book_.is_stopped(workflow);
  if (stopped && sheet_.stop->cause == JobStop::Cause::kCancelled) {
    book_.become(workflow, WorkflowState::kCancelled, sheet_.stop->why, out);
  } else if (stopped && sheet_.stop->cause == JobStop::Cause::kTimeout) {
    book_.become(workflow, WorkflowState::kTimedOut, sheet_.stop->why, out);
  } else if (stopped && spec_[workflow].is_teardown && teardown_.was_stopped(workflow)) {
    book_.become(workflow, WorkflowState::kCancelled, sheet_.stop->why, out);
  } else if (some) {
    book_.become(workflow, WorkflowState::kRunning, "what was lost of it stays lost", out);
    book_.become(workflow, WorkflowState::kCompleted, {}, out);
  } else {
    book_.become(workflow, WorkflowState::kFailed,
                 fmt::format("no worker was left that could run '{}'", spec_[workflow].name), out);
  }
}

void JobDesk::conclude(Instant now, JobEffects& out) {
  const auto live = [](const ShareSheet& share) { return is_live(share); };
  if (book_.concluding || teardown_.awaits() || std::any_of(sheet_.shares.begin(), sheet_.shares.end(), live)) return;
  book_.concluding = true;
  Duration elapsed;
  for (const ShareSheet& share : sheet_.shares) {
    if (!share.streams) continue;
    const Duration base = Duration::seconds(static_cast<int64_t>(sheet_.workflows[share.workflow].base_second));
    if (share.end) elapsed = std::max(elapsed, base + share.end->ran);
    elapsed = std::max(elapsed, share.lost_from);
  }
  // Time beyond the end of everything else is no loss. The clock of this owner may be behind the seconds that ran.
  const Duration lasted = std::max(elapsed, book_.elapsed(now));
  for (plan::Loss& loss : sheet_.losses) {
    loss.to = std::max(loss.from, std::min(loss.to, lasted));
    elapsed = std::max(elapsed, loss.to);
  }
  sheet_.elapsed = elapsed;
  if (sheet_.state == JobState::kRunning) book_.become(JobState::kCompleting, {}, out);
  book_.changed = true;
  out.push_back(job_effect::Conclude{});
}

JobState JobDesk::outcome() const {
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

}  // namespace bellwether::dispatch

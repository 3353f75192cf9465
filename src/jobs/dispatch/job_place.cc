// Who gets what: a group's parts over the workers that have cores, and the parts of a worker that died over the others.

#include <algorithm>
#include <utility>

#include "core/base/probe.h"
#include "core/base/units.h"
#include "jobs/dispatch/job.h"
#include "load/plan/schedule.h"

namespace bellwether::dispatch {
namespace {

// Parts that one core can be made to run when a worker has died, its own included.
constexpr uint32_t kSqueezeMost = 4;

// A worker that is being given parts.
struct Taker {
  const WorkerSight* worker;
  uint32_t free = 0;
  uint32_t parts = 0;  // that it runs of this job
  uint32_t given = 0;
};

// Who should get the next part: whoever has the most free cores, else, when it is allowed, the least loaded.
Taker* choose(std::vector<Taker>& takers, bool squeeze) {
  Taker* best = nullptr;
  for (Taker& one : takers) {
    if (one.free > 0 && (best == nullptr || one.free > best->free)) best = &one;
  }
  if (best != nullptr || !squeeze) return best;
  for (Taker& one : takers) {
    const uint64_t load = one.parts + one.given;
    if (one.worker->cores == 0 || load >= uint64_t{one.worker->cores} * kSqueezeMost) continue;
    if (best == nullptr || load * best->worker->cores < uint64_t{best->parts + best->given} * one.worker->cores) {
      best = &one;
    }
  }
  return best;
}

}  // namespace

// Not for good: whoever was only out of reach for a moment is there again, and its process is the same.
bool Job::usable(Instant now, const WorkerSight& worker) const {
  const auto excluded = excluded_.find({worker.name, worker.life});
  return worker.takes_work && worker.cores > 0 && (excluded == excluded_.end() || excluded->second <= now);
}

void Job::exclude(Instant now, const ShareSheet& share) {
  excluded_[{share.worker, share.life}] = now + rules_.exclusion;
}

// Until it is heard of again.
void Job::set_aside(const std::string& worker) {
  for (WorkerSight& one : pool_) {
    if (one.name == worker) one.free = 0;
  }
}

bool Job::waits(uint16_t workflow) const {
  const WorkflowSheet& one = sheet_.workflows[workflow];
  return one.state == WorkflowState::kPending || (one.state == WorkflowState::kRetrying && !one.begun);
}

std::vector<uint16_t> Job::ready_workflows() const {
  std::vector<uint16_t> ready;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (!waits(w)) continue;
    // A teardown waits until nothing runs any more of what it follows.
    const bool met = plan::may_begin(spec_[w], [&](uint16_t need) {
      return spec_[w].is_teardown && parts_.has_live(need) ? plan::Standing::kOpen : standing(need);
    });
    if (met) ready.push_back(w);
  }
  return ready;
}

// Nothing is handed out unless there is room for a whole group: a load test that begins in pieces measures nothing.
void Job::plan_group(Instant now, JobEffects& out) {
  if (!pass_border(now, out)) return;
  if (group_again_ && now < *group_again_) return;
  group_again_.reset();
  uint32_t total = 0;
  uint32_t free = 0;
  for (const WorkerSight& worker : pool_) {
    if (!usable(now, worker)) continue;
    total += worker.cores;
    free += worker.free;
  }
  const std::vector<uint16_t> ready = ready_workflows();
  if (ready.empty()) return;  // a teardown, until nothing runs any more of what failed
  if (total == 0) {
    if (std::any_of(pool_.begin(), pool_.end(), [](const WorkerSight& worker) { return worker.held; })) {
      no_workers_since_.reset();
      return;
    }
    if (!no_workers_since_) no_workers_since_ = now;
    if (now - *no_workers_since_ < rules_.worker_wait) return;
    const std::string why =
        "no worker that takes work was there for " + std::to_string(rules_.worker_wait.ns() / 1'000'000'000) + " s";
    for (const uint16_t w : ready) become(w, WorkflowState::kFailed, why, out);
    no_workers_since_.reset();
    skip_dependents(out);
    return conclude(now, out);
  }
  no_workers_since_.reset();
  std::vector<plan::CoreDemand> demands;
  for (const uint16_t w : ready) demands.push_back({w, spec_[w].priority, spec_[w].is_test, spec_[w].vus});
  const std::vector<plan::CoreGrant> group = plan::core_batches(demands, total).front();
  uint32_t wanted = 0;
  for (const plan::CoreGrant& grant : group) wanted += grant.cores;
  if (wanted > free) return;
  for (const plan::CoreGrant& grant : group) {
    std::vector<uint32_t> parts(grant.cores);
    for (uint32_t i = 0; i < grant.cores; ++i) parts[i] = i;
    sheet_.workflows[grant.workflow].parts = grant.cores;
    if (!place(now, grant.workflow, parts, false))
      return take_group_back(now, "the workers' cores are taken", false, out);
    become(grant.workflow, WorkflowState::kAssigned, {}, out);
  }
  if (sheet_.state == JobState::kQueued) become(JobState::kDispatching, {}, out);
}

// Parts of workflows that somebody was to run, and nobody does.
void Job::fill_gaps(Instant now, JobEffects& out) {
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    WorkflowSheet& one = sheet_.workflows[w];
    if (!is_active(w)) continue;
    const std::vector<uint32_t> left = parts_.gaps(w);
    if (left.empty()) {
      gap_since_.erase(w);
      continue;
    }
    gap_since_.try_emplace(w, now);
    if (hopeless(now, w)) {
      gap_since_.erase(w);
      if (one.begun) continue;
      return take_group_back(now, "its share was refused or its worker died, and nobody else has room", true, out);
    }
    // Before the begin nothing is squeezed in: it would be measured all along.
    if (!one.begun) {
      if (!place(now, w, left, false)) {
        return take_group_back(now, "no other worker has room for '" + spec_[w].name + "'", !busy_, out);
      }
      continue;
    }
    std::vector<uint32_t> placeable;
    for (const uint32_t part : left) {
      if (parts_.deaths(w, part) <= rules_.retries_most) placeable.push_back(part);
    }
    bool any = place(now, w, placeable, true);
    // Better some of them than none.
    for (std::size_t i = 0; !any && i < placeable.size() && place(now, w, {placeable[i]}, true); ++i) {
      any = i + 1 == placeable.size();
    }
    if (parts_.gaps(w).size() == left.size()) continue;
    BW_PROBE("dispatch: parts are given to somebody else");
    if (one.state == WorkflowState::kRetrying) become(w, WorkflowState::kAssigned, {}, out);
  }
}

// Nobody will run what nobody runs at the moment.
bool Job::hopeless(Instant now, uint16_t workflow) const {
  const std::vector<uint32_t> left = parts_.gaps(workflow);
  const auto too_often = [&](uint32_t part) { return parts_.deaths(workflow, part) > rules_.retries_most; };
  if (!left.empty() && std::all_of(left.begin(), left.end(), too_often)) return true;
  const auto since = gap_since_.find(workflow);
  if (since != gap_since_.end() && now - since->second >= rules_.dispatch_limit) return true;
  return is_past(now, workflow);
}

// How many workers have died over a part. One that left, or was cut off, has not.
// Its planned end has come: nothing of it begins any more.
bool Job::is_past(Instant now, uint16_t workflow) const {
  return sheet_.workflows[workflow].begun && spec_[workflow].length > Duration::zero() &&
         now >= clock_of(workflow) + spec_[workflow].length;
}

bool Job::place(Instant now, uint16_t workflow, const std::vector<uint32_t>& parts, bool squeeze, ShareId follows) {
  std::vector<Taker> takers;
  for (const bool healthy : {true, false}) {
    for (const WorkerSight& worker : pool_) {
      if (!usable(now, worker) || (!worker.healthy && healthy)) continue;
      const bool there =
          std::any_of(takers.begin(), takers.end(), [&](const Taker& one) { return one.worker == &worker; });
      if (!there) takers.push_back({&worker, worker.free, parts_.parts_on(worker.name), 0});
    }
    for (std::size_t i = takers.size(); i > 1; --i) std::swap(takers[i - 1], takers[prng_.below(i)]);
    std::size_t left = parts.size();
    for (Taker& one : takers) one.given = 0;
    std::vector<Taker> trial = takers;
    for (; left > 0; --left) {
      Taker* const next = choose(trial, squeeze);
      if (next == nullptr) break;
      if (next->free > 0) --next->free;
      ++next->given;
    }
    if (left > 0) continue;
    if (sheet_.shares.size() + trial.size() + parts.size() > kMostShares) return false;
    std::size_t at = 0;
    for (const Taker& one : trial) {
      uint32_t cores = std::min(one.given, one.worker->free);
      const std::size_t end = at + one.given;
      while (at < end) {  // runs of neighbours
        std::size_t after = at + 1;
        while (after < end && parts[after] == parts[after - 1] + 1) ++after;
        const auto count = static_cast<uint32_t>(after - at);
        const uint32_t own = std::min(cores, count);
        cores -= own;
        // Where none is free, it shares the one with the fewest parts.
        offer(now, workflow, *one.worker, {parts[at], count, sheet_.workflows[workflow].parts}, std::max(own, 1U),
              squeeze, follows);
        at = after;
      }
    }
    return true;
  }
  return false;
}

void Job::offer(Instant now, uint16_t workflow, const WorkerSight& worker, PartRange parts, uint32_t cores,
                bool squeeze, ShareId follows) {
  ShareSheet share;
  share.id = ShareId(++sheet_.last_share);
  share.workflow = workflow;
  share.worker = worker.name;
  share.life = worker.life;
  share.parts = parts;
  share.cores = cores;
  share.squeeze = squeeze;
  share.follows = follows;
  for (const uint32_t part : parts_of(parts)) share.iterations += parts_.iterations_of(workflow, part);
  share_since_[share.id] = now;
  to_hold_.push_back(job_effect::Offer{share.id});
  for (WorkerSight& one : pool_) {
    if (one.name == worker.name) one.free -= std::min(one.free, cores);
  }
  sheet_.shares.push_back(std::move(share));
  changed_ = true;
}

// What was handed out of a group that cannot begin is taken back; the group is tried again a little later.
void Job::take_group_back(Instant now, const std::string& why, bool counts, JobEffects& out) {
  BW_PROBE("dispatch: a group is taken back");
  // To wait for cores is no failure.
  if (counts) ++group_attempts_;
  busy_ = false;
  const bool enough = group_attempts_ >= rules_.dispatch_attempts;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    WorkflowSheet& one = sheet_.workflows[w];
    if (one.begun || is_final(one.state) || one.parts == 0) continue;
    stop_shares(now, w, StopHow::kAtOnce, why, out);
    gap_since_.erase(w);
    one.parts = 0;
    if (enough) {
      become(w, WorkflowState::kFailed, "could not be handed out: " + why, out);
    } else if (one.state == WorkflowState::kAssigned) {
      become(w, WorkflowState::kRetrying, why, out);
    }
  }
  if (counts) add_event(now, "dispatch_failed", why);
  if (sheet_.state == JobState::kDispatching && !enough) become(JobState::kQueued, why, out);
  group_again_ = now + rules_.dispatch_pause * (int64_t{1} << std::min(std::max(group_attempts_, 1U) - 1, 10U));
  if (enough) {
    group_attempts_ = 0;
    skip_dependents(out);
    conclude(now, out);
  }
}

// The border between two layers: what workflows left for others is made safe before anybody begins with it, and nobody
// waits for that for ever.

void Job::restore(plan::Values context) {
  context_ = std::move(context);
  context_kept_ = context_.version;
}

void Job::context_kept(Instant now, uint64_t version, JobEffects& out) {
  context_kept_ = std::max(context_kept_, version);
  advance(now, out);
}

// The shares of one workflow say much the same: each text is told once.
void Job::hear_notes(Instant now, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    std::size_t count = 0;
    bool told = false;
    for (const JobEvent& one : sheet_.events) {
      if (one.kind != "script") continue;
      ++count;
      told |= one.detail == note.substr(0, kMostTextBytes);
    }
    if (count < kMostNotes && !told) add_event(now, "script", note);
  }
}

// A share tells them with its end, by the clock of its workflow.
void Job::hear_findings(Instant now, const ShareSheet& share, const std::vector<plan::Finding>& findings) {
  const auto began = Duration::seconds(static_cast<int64_t>(sheet_.workflows[share.workflow].base_second));
  std::vector<plan::Finding> found = findings;
  for (plan::Finding& one : found) {
    one.worker = share.worker;
    one.begin += began;
    one.end += began;
    if (plan::is_possible(one)) plan::add(sheet_.findings, one);
  }
  for (const std::string& text : plan::summed_up(found)) {
    const auto told = std::count_if(sheet_.events.begin(), sheet_.events.end(),
                                    [](const JobEvent& one) { return one.kind == "generator_strained"; });
    if (static_cast<std::size_t>(told) < kMostNotes) add_event(now, "generator_strained", text);
  }
}

void Job::hear_values(Instant now, const ShareSheet& share, const std::vector<plan::Provided>& provided,
                      JobEffects& out) {
  const WorkflowSpec& spec = spec_[share.workflow];
  bool changed = false;
  for (const plan::Provided& one : provided) {
    const bool is_list = std::find(spec.lists.begin(), spec.lists.end(), one.provide) != spec.lists.end();
    if (one.provide >= spec.provides.size() || one.listed != is_list) continue;  // its worker makes that up
    if (one.listed || !one.too_large) {
      changed |= context_.merge(share.workflow, share.id.value(), one);
    } else if (!share.end) {
      const plan::Remark remark = plan::remark_on_too_large(spec, one.provide);
      add_event(now, remark.kind, remark.text);
    }
  }
  if (changed) out.push_back(job_effect::KeepContext{context_.version});
}

// Those whose values somebody will need who has not begun; an owner who died may not have made all of them safe.
bool Job::is_awaited(uint16_t workflow) const {
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (is_final(sheet_.workflows[w].state) || sheet_.workflows[w].begun) continue;
    const auto& uses = spec_[w].uses;
    if (std::any_of(uses.begin(), uses.end(), [&](const auto& use) { return use.from == workflow; })) return true;
  }
  return false;
}

// Whether what has ended is known for good, so that the next ones may begin with it.
bool Job::pass_border(Instant now, JobEffects& out) {
  const auto& all = sheet_.workflows;
  const auto ended = static_cast<uint64_t>(
      std::count_if(all.begin(), all.end(), [](const WorkflowSheet& one) { return is_final(one.state); }));
  if (ended == sheet_.context_version) return true;
  // Another owner may have been here before, and have found no quorum.
  if (!border_since_) border_since_ = adopted_ && zero_ ? end_of_last() : now;
  if (now - *border_since_ >= rules_.layer_sync_limit) {
    BW_PROBE("dispatch: a layer does not begin for want of a quorum");
    const std::string why = "no quorum of managers for " +
                            std::to_string(rules_.layer_sync_limit.ns() / 1'000'000'000) +
                            " s, when what it depends on had ended";
    add_event(now, "layer_sync_failed", why);
    for (uint16_t w = 0; w < spec_.size(); ++w) {
      if (is_final(all[w].state)) continue;
      if (!spec_[w].is_teardown && !all[w].begun) {
        parts_.add_loss(w, "never begun", std::max(all[w].parts, 1U), elapsed(*border_since_), elapsed(now));
      }
      become(w, all[w].state == WorkflowState::kPending ? WorkflowState::kSkipped : WorkflowState::kFailed, why, out);
    }
    conclude(now, out);
    return false;
  }
  if (context_kept_ < context_.version) return false;
  border_since_.reset();
  sheet_.context_version = ended;
  changed_ = true;
  return true;
}

// When the last of what has ended did, by the clock of the run.
Instant Job::end_of_last() const {
  Instant last = *zero_;
  for (const ShareSheet& share : sheet_.shares) {
    if (share.end && share.streams) last = std::max(last, clock_of(share.workflow) + share.end->ran);
  }
  return last;
}

}  // namespace bellwether::dispatch

#include "jobs/dispatch/job_book.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "core/base/units.h"
#include "load/plan/schedule.h"

namespace bellwether::dispatch {
namespace {

// Whether an assignment holds, or held, this part of the workflow.
bool has_part(const ShareSheet& share, uint16_t workflow, uint32_t part) {
  return share.workflow == workflow && part >= share.parts.first && part - share.parts.first < share.parts.count;
}

std::string cut(std::string text) {
  if (text.size() > kMostTextBytes) text.resize(kMostTextBytes);
  return text;
}

}  // namespace

const ShareSheet* JobBook::find(ShareId share) const {
  const auto at = std::find_if(sheet.shares.begin(), sheet.shares.end(),
                               [share](const ShareSheet& one) { return one.id == share; });
  return at == sheet.shares.end() ? nullptr : &*at;
}

bool JobBook::has_live(uint16_t workflow) const {
  return std::any_of(sheet.shares.begin(), sheet.shares.end(),
                     [&](const ShareSheet& share) { return share.workflow == workflow && is_live(share); });
}

uint32_t JobBook::parts_on(const std::string& worker) const {
  uint32_t sum = 0;
  for (const ShareSheet& share : sheet.shares) {
    if (is_live(share) && share.worker == worker) sum += share.parts.count;
  }
  return sum;
}

std::vector<ShareId> JobBook::followers_of(ShareId from) const {
  std::vector<ShareId> found;
  for (const ShareSheet& share : sheet.shares) {
    if (share.follows == from && is_live(share) && !share.streams) found.push_back(share.id);
  }
  return found;
}

std::vector<uint32_t> JobBook::gaps(uint16_t workflow) const {
  std::vector<bool> covered(sheet.workflows[workflow].parts, false);
  for (const ShareSheet& share : sheet.shares) {
    if (share.workflow != workflow || share.handed_over) continue;
    // All of its iterations had begun: nothing is left for others.
    const bool leaves_nothing = spec[workflow].counted && share.streams && share.left == 0;
    if (share.state == ShareState::kGone && !leaves_nothing) continue;
    for (uint32_t i = 0; i < share.parts.count && share.parts.first + i < covered.size(); ++i) {
      covered[share.parts.first + i] = true;
    }
  }
  std::vector<uint32_t> left;
  for (uint32_t part = 0; part < covered.size(); ++part) {
    if (!covered[part]) left.push_back(part);
  }
  return left;
}

bool JobBook::is_spare(const ShareSheet& share) const {
  if (share.follows == ShareId() || share.streams || !is_live(share)) return false;
  const ShareSheet* const from = find(share.follows);
  return from != nullptr && is_live(*from) && !from->handed_over;
}

JobBook::Hearing JobBook::hearing(ShareId id, uint64_t second) const {
  const ShareSheet* const share = find(id);
  if (share == nullptr) return Hearing::kUnknown;
  if (share->streams) {
    const bool unsettled = is_live(*share) && share->until != 0 && !share->handed_over && second >= share->until;
    return unsettled ? Hearing::kWaits : Hearing::kCounts;
  }
  if (share->follows == ShareId()) return Hearing::kUnknown;
  return is_live(*share) ? Hearing::kWaits : Hearing::kExcess;
}

// An heir that died before its time gets a replacement that must not begin earlier.
Instant JobBook::runs_elsewhere_until(const ShareSheet& share) const {
  Instant until;
  for (const ShareSheet& other : sheet.shares) {
    const bool overlaps = other.parts.first < share.parts.first + share.parts.count &&
                          share.parts.first < other.parts.first + other.parts.count;
    if (other.id == share.id || other.workflow != share.workflow || !overlaps) continue;
    if (other.handed_over && is_live(other)) until = std::max(until, moment(other.until));
    if (other.state == ShareState::kGone && other.streams) until = std::max(until, told_until(other));
  }
  return until;
}

// The clock of a new owner may be behind the seconds that were measured: no second of a part counts twice.
Instant JobBook::told_until(const ShareSheet& gone) const {
  if (spec[gone.workflow].length == Duration::zero()) return {};
  if (gone.end) return moment(sheet.workflows[gone.workflow].base_second) + gone.end->ran;
  const auto known = applied.find(gone.id);
  return moment(gone.from + (known == applied.end() ? 0 : known->second));
}

bool JobBook::has_all_of(const ShareSheet& share) const {
  if (!share.end || !share.streams) return share.end.has_value();
  const auto known = applied.find(share.id);
  return share.end->last_number <= (known == applied.end() ? 0 : known->second);
}

bool JobBook::waits(uint16_t workflow) const {
  const WorkflowSheet& one = sheet.workflows[workflow];
  return one.state == WorkflowState::kPending || (one.state == WorkflowState::kRetrying && !one.begun);
}

bool JobBook::is_past(Instant now, uint16_t workflow) const {
  return sheet.workflows[workflow].begun && spec[workflow].length > Duration::zero() &&
         now >= clock_of(workflow) + spec[workflow].length;
}

plan::Standing JobBook::standing(uint16_t workflow) const {
  const WorkflowState state = sheet.workflows[workflow].state;
  if (!is_final(state)) return plan::Standing::kOpen;
  return state == WorkflowState::kCompleted ? plan::Standing::kCompleted : plan::Standing::kEnded;
}

Instant JobBook::clock_of(uint16_t workflow) const {
  check(zero.has_value(), "a clock is asked for after the begin");
  return *zero + seconds(sheet.workflows[workflow].base_second);
}

Duration JobBook::elapsed(Instant now) const { return zero && now > *zero ? now - *zero : Duration::zero(); }

// By the clock of the run.
Instant JobBook::end_of_last() const {
  Instant last = *zero;
  for (const ShareSheet& share : sheet.shares) {
    if (share.end && share.streams) last = std::max(last, clock_of(share.workflow) + share.end->ran);
  }
  return last;
}

// --- losses ----------------------------------------------------------------------------------------------------------

uint32_t JobBook::deaths(uint16_t workflow, uint32_t part) const {
  return static_cast<uint32_t>(std::count_if(sheet.shares.begin(), sheet.shares.end(), [&](const ShareSheet& share) {
    return has_part(share, workflow, part) && share.state == ShareState::kGone && share.streams && !share.end;
  }));
}

uint64_t JobBook::iterations_of(uint16_t workflow, uint32_t part) const {
  if (!spec[workflow].counted) return 0;
  const ShareSheet* last = nullptr;
  for (const ShareSheet& share : sheet.shares) {
    if (has_part(share, workflow, part) && share.state == ShareState::kGone && share.streams) last = &share;
  }
  return last == nullptr ? spec[workflow].counted->planned(part, sheet.workflows[workflow].parts)
                         : plan::dealt_to(last->left, part - last->parts.first, last->parts.count);
}

uint32_t JobBook::succeeded(const ShareSheet& share) const {
  uint32_t count = 0;
  for (const uint32_t part : parts_of(share.parts)) {
    count += std::any_of(sheet.shares.begin(), sheet.shares.end(), [&](const ShareSheet& other) {
      return has_part(other, share.workflow, part) && other.id.value() > share.id.value() && other.streams;
    });
  }
  return count;
}

std::string JobBook::how_lost(const ShareSheet& share) {
  const bool left = share.end && share.end->outcome == ShareOutcome::kLeft;
  return fmt::format("worker '{}{}", share.worker, left ? "' left" : "' was lost");
}

void JobBook::add_loss(uint16_t workflow, const std::string& how, uint32_t parts, Duration from, Duration to) {
  plan::Loss loss{from, to, static_cast<double>(parts) / std::max(sheet.workflows[workflow].parts, 1U),
                  fmt::format("{}, workflow '{}'", how, spec[workflow].name)};
  if (sheet.losses.size() < kMostLosses) {
    sheet.losses.push_back(std::move(loss));
    return;
  }
  plan::Loss& last = sheet.losses.back();
  last = {std::min(last.from, loss.from), std::max(last.to, loss.to), std::max(last.share, loss.share),
          "several losses, more than are listed one by one"};
}

void JobBook::write_losses(uint16_t workflow, const std::vector<uint32_t>& parts, Duration until) {
  if (spec[workflow].counted) return;
  const bool once = spec[workflow].length == Duration::zero();
  const Duration begin = seconds(sheet.workflows[workflow].base_second);
  std::map<Duration, std::pair<uint32_t, std::string>> lost;  // from when: number of parts, cause
  for (const uint32_t part : parts) {
    const ShareSheet* last = nullptr;
    for (const ShareSheet& share : sheet.shares) {
      const bool given_up = share.state == ShareState::kGone || share.handed_over;
      const bool had = has_part(share, workflow, part) && given_up && share.streams;
      if (had && (last == nullptr || share.lost_from >= last->lost_from)) last = &share;
    }
    if (last == nullptr && once) continue;
    auto& [count, who] = lost[last == nullptr ? begin : last->lost_from];
    ++count;
    who = last == nullptr ? "nobody had begun with it" : how_lost(*last);
  }
  for (const auto& [from, what] : lost) add_loss(workflow, what.second, what.first, from, std::max(from, until));
}

void JobBook::lose_gaps(uint16_t workflow, const std::vector<uint32_t>& parts, Duration until) {
  write_losses(workflow, parts, until);
  if (!spec[workflow].counted) return;
  uint64_t left = 0;
  for (const uint32_t part : parts) left += iterations_of(workflow, part);
  Duration from = until;
  for (const ShareSheet& share : sheet.shares) {
    if (share.workflow == workflow && share.left > 0) from = std::min(from, share.lost_from);
  }
  add_loss(workflow, format_count(left, "iteration") + " that nobody was left for", static_cast<uint32_t>(parts.size()),
           from, until);
}

// Others begin no iteration that it may have begun; those of them that it did not report are lost.
void JobBook::lose_iterations(Instant now, ShareSheet& share) {
  if (!spec[share.workflow].counted) return;
  const plan::Iterated& told = iterated[share.id];
  const Duration ran = share.end ? seconds(sheet.workflows[share.workflow].base_second) + share.end->ran : elapsed(now);
  uint64_t begun = has_all_of(share) ? told.ended : told.begun(std::max(ran - share.lost_from, Duration()));
  if (share.end && share.end->outcome == ShareOutcome::kCompleted) begun = share.iterations;
  begun = std::min(begun, share.iterations);
  share.left = share.iterations - begun;
  if (begun <= told.ended) return;
  add_loss(
      share.workflow,
      fmt::format("{} with {} that it may have begun", how_lost(share), format_count(begun - told.ended, "iteration")),
      share.parts.count, share.lost_from, std::max(ran, share.lost_from));
}

// A workflow that ends early, while the run goes on, is missing from then on.
void JobBook::lose_rest(Instant now, uint16_t workflow, const std::string& how) {
  const WorkflowSheet& one = sheet.workflows[workflow];
  if (!one.begun || one.parts == 0 || is_past(now, workflow) || spec[workflow].length == Duration::zero()) return;
  add_loss(workflow, how, one.parts, elapsed(now), clock_of(workflow) + spec[workflow].length - *zero);
}

// The account is a copy, and may be older than the record. Seconds that it lacks of ended assignments are still with
// their workers: the owner asks them, like the running ones. Seconds of assignments that are gone are lost.
void JobBook::follow_account(Instant now) {
  for (ShareSheet& share : sheet.shares) {
    const uint64_t counted = applied[share.id];
    if (!share.streams || has_all_of(share)) continue;
    const Duration until = seconds(share.from + counted);
    if (share.state == ShareState::kEnded) {
      BW_PROBE("dispatch: a share has ended whose last seconds the account lacks");
      set(now, share, ShareState::kStopping);
    } else if (share.state == ShareState::kGone && until < share.lost_from) {
      BW_PROBE("dispatch: a share is gone whose last seconds the account lacks");
      // Of parts that no other assignment continued, the loss is not recorded yet; of iterations all of it is.
      const bool all = is_final(sheet.workflows[share.workflow].state) || spec[share.workflow].counted;
      const uint32_t written = all ? share.parts.count : succeeded(share);
      if (written > 0) add_loss(share.workflow, how_lost(share), written, until, share.lost_from);
      share.lost_from = until;
      changed = true;
    }
  }
}

// --- changes ---------------------------------------------------------------------------------------------------------

void JobBook::become(JobState to, std::string why, JobEffects& out) {
  const JobState from = sheet.state;
  if (from == to) return;
  check(may_become(from, to), "a job goes from one state to the next as the table says");
  sheet.state = to;
  sheet.why = cut(std::move(why));
  changed = true;
  out.push_back(job_effect::Moved{"job", to_string(from), to_string(to), sheet.why});
}

void JobBook::become(uint16_t workflow, WorkflowState to, std::string why, JobEffects& out) {
  WorkflowSheet& one = sheet.workflows[workflow];
  const WorkflowState from = one.state;
  if (from == to) return;
  check(may_become(from, to), "a workflow goes from one state to the next as the table says");
  one.state = to;
  one.why = cut(std::move(why));
  changed = true;
  out.push_back(job_effect::Moved{spec[workflow].name, to_string(from), to_string(to), one.why});
}

void JobBook::skip_dependents(JobEffects& out) {
  bool again = true;
  while (again) {
    again = false;
    for (uint16_t w = 0; w < spec.size(); ++w) {
      if (sheet.workflows[w].state != WorkflowState::kPending) continue;
      const auto need = plan::waits_in_vain_for(spec[w], [this](uint16_t one) { return standing(one); });
      if (!need) continue;
      const std::string_view state = to_string(sheet.workflows[*need].state);
      become(w, WorkflowState::kSkipped, fmt::format("'{}' is {}", spec[*need].name, state), out);
      again = true;
    }
  }
}

void JobBook::fail_workflow(Instant now, uint16_t workflow, WorkflowState to, const std::string& why, JobEffects& out) {
  if (is_final(sheet.workflows[workflow].state)) return;
  lose_rest(now, workflow, std::string(to_string(to)));
  become(workflow, to, why, out);
  stop_shares(now, workflow, StopHow::kAtOnce, "its workflow has failed", out);
}

void JobBook::stop_shares(Instant now, uint16_t workflow, StopHow how, const std::string& why, JobEffects& out) {
  for (ShareSheet& share : sheet.shares) {
    if (share.workflow != workflow || !is_live(share)) continue;
    if (!share.streams) {
      // Nothing of it has begun, so no result will come.
      out.push_back(job_effect::Stop{share.id, StopHow::kAtOnce, why});
      set(now, share, ShareState::kGone);
    } else {
      to_hold.push_back(job_effect::Stop{share.id, how, why});
      set(now, share, ShareState::kStopping);
    }
  }
}

void JobBook::set(Instant now, ShareSheet& share, ShareState state) {
  share.state = state;
  since[share.id] = now;
  changed = true;
}

void JobBook::add_event(Instant now, std::string kind, std::string detail) {
  changed = true;
  if (sheet.events.size() >= kMostJobEvents) {
    ++sheet.events_dropped;
    return;
  }
  sheet.events.push_back({elapsed(now), std::move(kind), cut(std::move(detail))});
}

void JobBook::flush(JobEffects& out) {
  if (std::exchange(changed, false)) {
    ++sheet.revision;
    for (const ShareId share : std::exchange(to_take_over, {})) {
      held.push_back({sheet.revision, job_effect::TakeOver{share, clock_of(find(share)->workflow)}});
    }
    for (JobEffect& effect : std::exchange(to_hold, {})) held.push_back({sheet.revision, std::move(effect)});
    out.push_back(job_effect::Keep{sheet.revision});
  }
}

void JobBook::kept(Instant now, uint64_t revision, JobEffects& out) {
  const auto later =
      std::partition(held.begin(), held.end(), [&](const Held& one) { return one.revision <= revision; });
  std::vector<Held> due(std::make_move_iterator(held.begin()), std::make_move_iterator(later));
  held.erase(held.begin(), later);
  for (Held& one : due) {
    if (const auto* offer = std::get_if<job_effect::Offer>(&one.effect)) {
      ShareSheet* share = find(offer->share);
      if (share == nullptr || share->state != ShareState::kOffered) continue;
      since[offer->share] = now;
    }
    if (const auto* taking = std::get_if<job_effect::TakeOver>(&one.effect)) {
      const ShareSheet* const share = find(taking->share);
      if (share == nullptr || !is_spare(*share)) continue;
    }
    if (const auto* stopping = std::get_if<job_effect::Stop>(&one.effect)) {
      const ShareSheet* share = find(stopping->share);
      if (share == nullptr || !is_live(*share)) continue;
      since[stopping->share] = now;
    }
    if (std::holds_alternative<job_effect::Over>(one.effect)) over = true;
    out.push_back(std::move(one.effect));
  }
}

}  // namespace bellwether::dispatch

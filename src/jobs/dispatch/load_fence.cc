#include "jobs/dispatch/load_fence.h"

#include <algorithm>

#include "core/base/probe.h"

namespace bellwether::dispatch {
namespace {

// Clocks of two machines run apart by less, and a process that reads its clock goes on for less.
constexpr int64_t kDriftOf = 100;
constexpr Duration kMargin = Duration::millis(100);
constexpr Duration kLookAgain = Duration::seconds(1);

}  // namespace

// The end, on this clock, of a span that began before `given` on another one.
Instant LoadFence::since(Instant given, Duration span) const { return given + span + span / kDriftOf + kMargin; }

void LoadFence::adopt(Instant now) {
  for (const AssignmentRecord& assignment : book_.record.assignments) {
    if (!is_live(assignment)) continue;
    lives_[{assignment.worker, assignment.life}].heard = now;
    unsighted_.insert(assignment.worker);
  }
  next_ = now + book_.rules.silence;
}

void LoadFence::heard(Instant now, const std::string& worker, uint64_t life) {
  Life& one = lives_[{worker, life}];
  one.heard = now;
  // Denials stand, but the worker has a permit of the owner again.
  one.silent = one.doubted = false;
  next_ = std::min(next_, now + book_.rules.silence);
}

bool LoadFence::may_run(Instant now, const AssignmentRecord& assignment) const {
  if (!is_live(assignment) || assignment.end || book_.is_past(now, assignment.workflow)) return false;
  const bool told = assignment.follows != AssignmentId() && assignment.state != AssignmentState::kOffered;
  return assignment.streams || told || unsighted_.contains(assignment.worker);
}

std::map<std::pair<std::string, uint64_t>, bool> LoadFence::runners(Instant now) const {
  std::map<std::pair<std::string, uint64_t>, bool> out;
  for (const AssignmentRecord& assignment : book_.record.assignments) {
    if (may_run(now, assignment)) out[{assignment.worker, assignment.life}] |= assignment.unfenced;
  }
  return out;
}

bool LoadFence::doubt(Instant now, const std::string& worker) {
  if (book_.rules.permit == Duration::zero()) return false;
  bool any = false;
  for (const auto& [who, unfenced] : runners(now)) {
    if (who.first != worker) continue;
    any = true;
    lives_.try_emplace(who, Life{.heard = now}).first->second.doubted = true;
  }
  if (any) next_ = now;
  return any;
}

bool LoadFence::is_silent(const Witness& one) const {
  const auto found = lives_.find({one.worker, one.life});
  return found != lives_.end() && found->second.silent;
}

void LoadFence::denied(Instant now, const Witness& silent, const std::string& witness, Duration rest) {
  const auto found = lives_.find({silent.worker, silent.life});
  if (found == lives_.end()) return;
  Life& life = found->second;
  life.denied.try_emplace(witness, since(now, rest));
  // The look then finds whether it keeps permits at all.
  if (life.silent) next_ = std::min(next_, ends(silent, life, false));
}

void LoadFence::process_ended(Instant now, const std::string& worker, uint64_t life) {
  const auto& all = book_.record.witnesses;
  if (std::find(all.begin(), all.end(), Witness{worker, life}) == all.end()) return;
  ended_.try_emplace(worker, since(now, book_.rules.permit / 2));
  next_ = now;
}

// From when on it can hold no permit, as far as is known now.
Instant LoadFence::ends(const Witness& who, const Life& life, bool unfenced) const {
  const Instant alone = since(life.heard, book_.rules.isolation_limit + book_.rules.permit);
  const auto& witnesses = book_.record.witnesses;
  // Time proves nothing about a worker that may not keep permits, as one whose owner gave none: stopped, it leaves its
  // processes running. After a stop of the job nobody is to run its parts, and the job need not wait for it for ever.
  if (unfenced || witnesses.empty()) return book_.record.stop ? alone : Instant::never();
  std::vector<Instant> from;
  for (const Witness& witness : witnesses) {
    if (witness == who) continue;
    const auto denied = life.denied.find(witness.worker);
    const auto ended = ended_.find(witness.worker);
    Instant at = Instant::never();
    if (denied != life.denied.end()) at = denied->second;
    if (ended != ended_.end()) at = std::min(at, ended->second);
    if (at != Instant::never()) from.push_back(at);
  }
  const std::size_t majority = witnesses.size() / 2 + 1;
  if (from.size() < majority) return alone;
  std::nth_element(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(majority - 1), from.end());
  return std::min(alone, std::max(since(life.heard, book_.rules.permit), from[majority - 1]));
}

std::vector<LoadFence::Gone> LoadFence::look(Instant now, JobEffects& out) {
  std::vector<Gone> gone;
  next_ = Instant::never();
  if (book_.rules.permit == Duration::zero()) return gone;
  const auto running = runners(now);
  for (const auto& [one, unfenced] : running) {
    const Witness who{one.first, one.second};
    // A worker that has begun had told this owner that it is ready.
    Life& life = lives_.try_emplace(one, Life{.heard = now}).first->second;
    if (!life.silent && (life.doubted || life.heard + book_.rules.silence <= now)) {
      life.silent = true;
      life.denied.clear();
      out.push_back(job_effect::Deny{who, AssignmentId(book_.record.last_assignment)});
    }
    const Instant at = life.silent ? ends(who, life, unfenced) : life.heard + book_.rules.silence;
    if (life.silent && at <= now) {
      BW_PROBE("dispatch: a silent worker holds no permit any more");
      gone.push_back({who, "it is silent, and its last permit has ended"});
    } else {
      // Of one that only a proof or a stop of the job ends, the look finds the stop.
      next_ = std::min(next_, at == Instant::never() ? now + kLookAgain : at);
    }
  }
  // Nobody is to run the rest of what is past: a dead worker need not stop first, unless it may run something else.
  for (const AssignmentRecord& assignment : book_.record.assignments) {
    const auto found = lives_.find({assignment.worker, assignment.life});
    if (!is_live(assignment) || found == lives_.end() || !found->second.doubted) continue;
    if (!running.contains(found->first)) gone.push_back({{assignment.worker, assignment.life}, "it is dead"});
    next_ = std::min(next_, now + kLookAgain);
  }
  return gone;
}

}  // namespace bellwether::dispatch

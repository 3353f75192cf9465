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
    lives_[{assignment.worker, assignment.life}] = {.given = now, .heard = now};
  }
  next_ = now + book_.rules.silence;
}

bool LoadFence::heard(Instant now, const std::string& worker, uint64_t life, uint64_t number, uint64_t answered) {
  Life& one = lives_[{worker, life}];
  const bool is_ready = number == 0;  // no report: it has answered a message of this owner
  if (!is_ready && one.told_in != 0 && answered >= one.told_in) one.knows = one.told;
  if (is_ready || answered >= one.awaited) {
    one.heard = now;
    one.awaited = number;
    // Denials stand, but the worker has a permit of the owner again.
    one.silent = one.doubted = false;
  }
  if (one.silent) {
    BW_PROBE("dispatch: a worker whose reports come, and which hears no answer, gets no permit");
    return false;
  }
  if (!is_ready && book_.may_tell_witnesses() && one.told != book_.record.witnesses_since) {
    one.told = book_.record.witnesses_since;
    one.told_in = number;
  }
  one.given = now;
  next_ = std::min(next_, one.heard + book_.rules.silence);
  return true;
}

bool LoadFence::may_run(Instant now, const AssignmentRecord& assignment) const {
  if (!is_live(assignment) || assignment.end) return false;
  // A new owner has the clock of the run from a wall clock at first, which may be ahead.
  if (!book_.adopting && book_.is_past(now, assignment.workflow)) return false;
  const bool told = assignment.follows != AssignmentId() && assignment.state != AssignmentState::kOffered;
  return assignment.streams || told || book_.unsighted.contains(assignment.id);
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
    lives_.try_emplace(who, Life{.given = now, .heard = now}).first->second.doubted = true;
  }
  if (any) next_ = now;
  return any;
}

bool LoadFence::is_silent(const Witness& one) const {
  const auto found = lives_.find({one.worker, one.life});
  return found != lives_.end() && found->second.silent;
}

bool LoadFence::wants(const job_effect::Deny& denial) const {
  const auto found = lives_.find({denial.silent.worker, denial.silent.life});
  return found != lives_.end() && found->second.silent && found->second.asked == denial.last;
}

bool LoadFence::knows_witnesses(const Witness& one) const {
  const auto found = lives_.find({one.worker, one.life});
  return found != lives_.end() && found->second.knows == book_.record.witnesses_since;
}

void LoadFence::denied(Instant now, const Witness& silent, const Witness& witness, Duration rest) {
  const auto found = lives_.find({silent.worker, silent.life});
  if (found == lives_.end()) return;
  Life& life = found->second;
  life.denied.try_emplace(witness.life, since(now, rest));
  // The look then finds whether it keeps permits at all.
  if (life.silent) next_ = std::min(next_, ends(silent, life, false));
}

void LoadFence::process_ended(Instant now, const std::string& worker, uint64_t life) {
  const auto all = book_.all_witnesses();
  if (std::find(all.begin(), all.end(), Witness{worker, life}) == all.end()) return;
  ended_.try_emplace(life, since(now, book_.rules.permit / 2));
  next_ = now;
}

// From when on it can hold no permit, as far as is known now.
Instant LoadFence::ends(const Witness& who, const Life& life, bool unfenced) const {
  const Instant alone = since(life.given, book_.rules.isolation_limit + book_.rules.permit);
  // Time proves nothing about a worker that may not keep permits, as one whose owner gave none: stopped, it leaves its
  // processes running. After a stop of the job nobody is to run its parts, and the job need not wait for it for ever.
  if (unfenced || book_.record.witnesses.empty()) return book_.record.stop ? alone : Instant::never();
  Instant all = since(life.given, book_.rules.permit);
  // Of both sets, if it may have permits of either.
  for (const auto* witnesses : {&book_.record.witnesses, &book_.record.witnesses_before}) {
    const bool is_old = witnesses != &book_.record.witnesses;
    if (is_old && (witnesses->empty() || knows_witnesses(who))) continue;
    std::vector<Instant> from;
    for (const Witness& witness : *witnesses) {
      if (witness == who) continue;
      const auto denied = life.denied.find(witness.life);
      const auto ended = ended_.find(witness.life);
      Instant at = Instant::never();
      if (denied != life.denied.end()) at = denied->second;
      if (ended != ended_.end()) at = std::min(at, ended->second);
      if (at != Instant::never()) from.push_back(at);
    }
    const std::size_t majority = witnesses->size() / 2 + 1;
    if (from.size() < majority) return alone;
    std::nth_element(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(majority - 1), from.end());
    all = std::max(all, from[majority - 1]);
  }
  return std::min(alone, all);
}

std::vector<LoadFence::Gone> LoadFence::look(Instant now, JobEffects& out) {
  std::vector<Gone> gone;
  next_ = Instant::never();
  if (book_.rules.permit == Duration::zero()) return gone;
  const auto running = runners(now);
  for (const auto& [one, unfenced] : running) {
    const Witness who{one.first, one.second};
    // A worker that has begun had told this owner that it is ready.
    Life& life = lives_.try_emplace(one, Life{.given = now, .heard = now}).first->second;
    if (!life.silent && (life.doubted || life.heard + book_.rules.silence <= now)) {
      life.silent = true;
      life.denied.clear();
      life.asked = AssignmentId(book_.record.last_assignment);
      out.push_back(job_effect::Deny{who, life.asked});
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

std::optional<Noted::Permit> LoadFence::permit(Instant now, const std::string& worker, uint64_t life,
                                               const std::vector<AssignmentId>& held, uint64_t number,
                                               uint64_t answered) {
  if (!heard(now, worker, life, number, answered)) return std::nullopt;
  Noted::Permit given;
  given.job = book_.record.id;
  for (const AssignmentId id : held) {
    const AssignmentRecord* const known = book_.find(id);
    const bool its = known != nullptr && known->worker == worker && known->life == life && is_live(*known);
    if (!its) given.denied.push_back(id);
  }
  if (book_.may_tell_witnesses() && !knows_witnesses({worker, life})) {
    given.witnesses = book_.record.witnesses;
    given.witnesses_since = book_.record.witnesses_since;
  }
  return given;
}

// Workers that join become witnesses, in the place of those that have ended, or beside them. Until all workers know the
// new set, a silent one must be denied by a majority of each. The next change waits for that.
void LoadFence::renew_witnesses(Instant now, const JobPool& pool) {
  if (book_.record.witnesses.empty() || book_.rules.permit == Duration::zero()) return;
  const auto& all = book_.record.assignments;
  const auto holds_of_all = [&](auto holds) {
    return std::all_of(all.begin(), all.end(), [&](const AssignmentRecord& one) {
      return !is_live(one) || holds(Witness{one.worker, one.life});
    });
  };
  if (!book_.record.witnesses_before.empty()) {
    if (!holds_of_all([this](const Witness& one) { return knows_witnesses(one); })) return;
    book_.record.witnesses_before.clear();
    book_.changed = true;
  }
  const auto here = static_cast<std::size_t>(std::count_if(book_.record.witnesses.begin(), book_.record.witnesses.end(),
                                                           [&pool](const Witness& one) { return pool.has(one); }));
  if (here == kMaxWitnesses) return;  // as usual, and this is asked at each report
  std::vector<Witness> next = pool.witnesses(now);
  if (next.size() <= here) return;
  if (!holds_of_all([this](const Witness& one) { return !is_silent(one); })) return;
  BW_PROBE("dispatch: a job gets other witnesses while it runs");
  book_.record.witnesses_before = book_.record.witnesses;
  book_.set_witnesses(std::move(next));
}

}  // namespace bellwether::dispatch

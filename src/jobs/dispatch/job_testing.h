// A small cluster for tests of the job kernel: obedient workers, a register that keeps job records, and an owner that
// the test may replace. The test sets the steps of time.
#pragma once

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobs/dispatch/job_parts_testing.h"

namespace bellwether::dispatch {

class JobWorld {
 public:
  using Running = TestAssignment;
  using Worker = TestWorker;
  using Measured = TestPart;

  JobWorld(JobSpec spec, uint64_t seed, JobRules rules = {}) : spec_(std::move(spec)), rules_(rules), prng_(seed) {
    record_.id = "job";
    record_.name = "shop";
    job_ = std::make_unique<JobKernel>(spec_, rules_, record_, Prng(prng_.next()));
  }

  JobKernel& job() { return *job_; }
  const JobRecord& record() const { return job_->record(); }
  Instant now() const { return now_; }
  void add(const std::string& name, uint32_t cores) {
    Worker& worker = workers_[name];
    worker.cores = cores;
    worker.life = 1'000 * workers_.size();  // no two processes have the same
  }
  Worker& worker(const std::string& name) { return workers_.at(name); }
  std::map<std::string, Worker>& workers() { return workers_; }
  bool register_stands = true;
  std::vector<job_effect::Stop> stops;  // that were executed
  // Of the messages of a hand-over. Unanswered ones are repeated at the next step.
  std::function<Fate(AssignmentId)> take_over_fate;
  std::function<Fate(AssignmentId)> hand_over_fate;
  std::function<Fate(AssignmentId)> go_fate;
  // Looks, one a step, at which a part that had begun had no run, or two.
  uint64_t looks_without_load = 0;
  uint64_t looks_at_double_load = 0;
  // By assignments that have ended, or died with their workers.
  uint64_t iterations_begun = 0;
  // Whether assignments of this workflow end at their time.
  bool keep_to_timeouts = true;  // workers keep the timeouts of workflows
  bool report_rows = true;       // workers of older versions do not
  bool (*ends_itself)(uint16_t workflow) = [](uint16_t) { return true; };

  void begin() {
    JobEffects out;
    job_->set_wall(now_, WallTime{1'000'000'000 + now_.ns()});
    job_->begin(now_, out);
    carry_out(out);
    report();
  }

  void die(const std::string& name) {
    Worker& worker = workers_.at(name);
    worker.alive = false;
    for (const auto& [id, one] : worker.assignments) {
      if (one.phase == AssignmentPhase::kRunning) iterations_begun += one.iterated(now_ - one.began);
    }
    gone_.push_back({name, worker.life});
    worker.assignments.clear();
  }
  void restart(const std::string& name) {
    Worker& worker = workers_.at(name);
    worker.alive = true;
    ++worker.life;
    worker.assignments.clear();
  }
  // The owner dies, and no other one comes yet.
  void forget_owner() { owner_is_there_ = false; }
  // The owner dies; another one begins with the register's content.
  void replace_owner() {
    if (durable_.revision == 0) return;
    owner_is_there_ = true;
    JobEffects out;
    job_ = std::make_unique<JobKernel>(spec_, rules_, durable_, Prng(prng_.next()));
    job_->set_wall(now_, WallTime{1'000'000'000 + now_.ns()});
    writing_.clear();
    to_take_over_.clear();
    to_hand_over_.clear();
    // The ingest is that of the last copy; workers resend the later seconds.
    ingest_ = copied_;
    for (auto& [name, worker] : workers_) {
      for (auto& [id, one] : worker.assignments) one.told = ingest_.told[id];
    }
    Duration ago;
    if (durable_.started.unix_ns != 0)
      ago = Duration::nanos(1'000'000'000 + now_.ns() - durable_.started.unix_ns) + wall_is_off;
    job_->restore(durable_context_);
    writing_context_.reset();
    for (const auto& [id, iterated] : ingest_.iterated) job_->iterated(id, iterated);
    job_->adopt(now_, ago, ingest_.told, out);
    closed_.clear();
    for (const AssignmentRecord& assignment : record().assignments) {
      if (!is_live(assignment)) closed_.insert(assignment.id);
    }
    carry_out(out);
    for (const auto& [name, life] : everybody_dead_) tell_gone(name, life);
    for (const std::string& name : job_->workers_to_ask()) {
      const auto at = workers_.find(name);
      if (at == workers_.end() || !at->second.alive || at->second.silent) continue;
      JobEffects more;
      job_->sighted(now_, name, at->second.life, sights_of(at->second, now_), more);
      carry_out(more);
    }
    report();
  }

  void step(Duration span) {
    now_ = now_ + span;
    job_->set_wall(now_, WallTime{1'000'000'000 + now_.ns()});
    for (const auto& dead : std::exchange(gone_, {})) {
      everybody_dead_.push_back(dead);
      tell_gone(dead.first, dead.second);
    }
    give_permits();
    run_workers();
    look();
    if (!owner_is_there_) return;
    deny();
    move_assignments();
    if (register_stands) {
      for (const JobRecord& record : std::exchange(writing_, {})) {
        durable_ = record;
        tell_job([&](JobEffects& out) { job_->kept(now_, record.revision, out); });
      }
      if (const auto context = std::exchange(writing_context_, std::nullopt); context && !loses_context) {
        durable_context_ = *context;
        tell_job([&](JobEffects& out) { job_->context_kept(now_, context->version, out); });
      }
      // Never of assignments that no durable record has.
      if (now_ >= next_copy_ && durable_.revision == record().revision) copy();
    }
    report();
    JobEffects out;
    if (job_->wake() <= now_) job_->tick(now_, out);
    carry_out(out);
  }
  // The workers may delete the job.
  bool retired() const { return retired_; }
  void crash(AssignmentId assignment, AssignmentOutcome outcome = AssignmentOutcome::kCrashed) {
    for (auto& [name, worker] : workers_) {
      const auto at = worker.assignments.find(assignment);
      if (at != worker.assignments.end()) end(at->second, outcome);
    }
  }
  // True if it has ended.
  bool run(Duration most) {
    const Instant end = now_ + most;
    while (now_ < end && !job_->over()) step(Duration::millis(100));
    return job_->over();
  }
  bool run_until_begun() {
    for (int i = 0; i < 1000 && record().state != JobState::kRunning; ++i) step(Duration::millis(10));
    return record().state == JobState::kRunning;
  }
  bool begins() {
    begin();
    return run_until_begun();
  }

  // Every part of a workflow and its seconds in the ingest.
  std::vector<Measured> measured(uint16_t workflow) const {
    return ingest_.measured(workflow, record().workflows[workflow].parts);
  }
  bool all_cores_free() const {
    return std::all_of(workers_.begin(), workers_.end(),
                       [](const auto& one) { return !one.second.alive || one.second.used() == 0; });
  }
  // The orders of the assignments, as offered.
  const std::map<AssignmentId, AssignmentOrder>& orders() const { return orders_; }
  bool loses_context = false;  // no quorum ever gets values between workflows
  bool provides = true;        // ended assignments provide values
  Duration wall_is_off;        // the wall clock of the next owner
  void carry_out(const JobEffects& effects) {
    for (const JobEffect& effect : effects) carry_out(effect);
  }

 private:
  template <class Tell>
  void tell_job(Tell tell) {
    JobEffects out;
    tell(out);
    carry_out(out);
  }
  void copy() {
    copied_ = ingest_;
    next_copy_ = now_ + Duration::seconds(2);
  }
  void tell_gone(const std::string& name, uint64_t life) {
    tell_job([&](JobEffects& out) { job_->worker_gone(now_, name, life, "it does not answer", out); });
  }
  void report() {
    JobEffects out;
    job_->workers_changed(now_, pool_of(now_, workers_), out);
    carry_out(out);
  }

  // As in the worker's kernel: an owner gives a permit with each answer, witnesses give one without an owner.
  void give_permits() {
    for (auto& [name, worker] : workers_) {
      if (!worker.alive || worker.silent) continue;
      worker.permit = std::max(worker.permit, now_ + rules_.permit / (owner_is_there_ ? 1 : 2));
      std::vector<AssignmentId> held;
      for (const auto& [id, one] : worker.assignments) {
        if (one.phase != AssignmentPhase::kEnded) held.push_back(id);
      }
      if (held.empty() || !owner_is_there_) continue;
      const auto given = job_->permit(now_, name, worker.life, held, worker.reports + 1, worker.reports);
      ++worker.reports;
      for (const AssignmentId id : given.value_or(Noted::Permit()).denied) stopped(id, AssignmentOutcome::kIsolated);
    }
  }
  void deny() {
    std::erase_if(denials_, [&](const job_effect::Deny& denial) { return !job_->wants(denial); });
    for (const auto& [silent, last] : std::vector(denials_)) {
      const Duration rest = std::max(Duration::zero(), workers_.at(silent.worker).permit - now_);
      for (const Witness& witness : job_->all_witnesses()) {
        const Worker& worker = workers_.at(witness.worker);
        if (witness == silent || !worker.alive || worker.silent || worker.life != witness.life) continue;
        tell_job([&](JobEffects& out) { job_->denied(now_, silent, witness, std::min(rest, rules_.permit / 2), out); });
      }
    }
  }

  void run_workers() {
    for (auto& [name, worker] : workers_) {
      if (!worker.alive) continue;
      for (auto at = worker.assignments.begin(); at != worker.assignments.end(); ++at) {
        Running& one = at->second;
        if (one.phase == AssignmentPhase::kRunning && now_ >= std::min(worker.permit, one.go_by))
          end(one, AssignmentOutcome::kIsolated);
        if (one.phase == AssignmentPhase::kRunning && now_ >= end_of(one) &&
            (ends_itself(one.workflow) || one.until != 0)) {
          end(one, AssignmentOutcome::kCompleted);
        }
        if (one.phase == AssignmentPhase::kRunning && times_out(one)) end(one, AssignmentOutcome::kTimedOut);
        if (one.phase == AssignmentPhase::kReady || worker.silent || !owner_is_there_) continue;
        JobEffects out;
        tell(at->first, one);
        job_->iterated(at->first, ingest_.iterated[at->first]);
        if (!closed_.contains(at->first)) job_->applied(now_, at->first, one.told, out);
        if (one.end && one.until != 0) job_->handed_over(now_, at->first, one.until, out);
        if (one.end) job_->ended(now_, at->first, *one.end, out);
        carry_out(out);
      }
    }
  }
  void tell(AssignmentId id, Running& one) {
    const uint64_t upto = measured_of(one, now_);
    while (one.told < upto) {
      const JobKernel::Hearing hearing = job_->hearing(id, one.from + one.told);
      if (hearing == JobKernel::Hearing::kWaits || hearing == JobKernel::Hearing::kUnknown) return;
      ++one.told;
      if (hearing == JobKernel::Hearing::kExcess || closed_.contains(id)) continue;
      ingest_.count(one, one.from + one.told - 1);
      ingest_.told[id] = one.told;
      plan::Iterated& sum = ingest_.iterated[id];
      const bool last = one.end && one.told == one.end->last_number;
      if (!report_rows) {
        sum.ended += one.parts.count * TestAssignment::kPace;
        continue;
      }
      if (!one.iterations) {
        sum = {.taken = one.rows.rows + one.told * TestAssignment::kPace, .pace = TestAssignment::kPace};
        continue;
      }
      const uint64_t ended =
          last ? one.iterated(one.end->ran) : one.iterated(Duration::seconds(static_cast<int64_t>(one.told)));
      sum = {.ended = ended,
             .begun = ended,
             .taken = one.rows.rows + ended / one.parts.count,
             .pace = TestAssignment::kPace};
    }
  }
  Instant second_of(uint64_t second) const { return *job_->zero() + Duration::seconds(static_cast<int64_t>(second)); }
  Instant end_of(const Running& one) const {
    const Instant planned = one.clock + spec_[one.workflow].length;
    if (one.iterations) return std::min(planned, one.all_begun());
    return one.until == 0 ? planned : std::min(planned, second_of(one.until));
  }
  void look() {
    if (!job_->zero() || record().stop) return;
    for (uint16_t w = 0; w < spec_.size(); ++w) {
      const WorkflowRecord& record_of = record().workflows[w];
      if (!record_of.begun || is_final(record_of.state)) continue;
      const Instant begins = second_of(record_of.base_second);
      if (now_ <= begins || now_ >= begins + spec_[w].length) continue;
      for (uint32_t part = 0; part < record_of.parts; ++part) {
        const int runs = runs_of(workers_, now_, w, part);
        looks_without_load += runs == 0 ? 1 : 0;
        looks_at_double_load += runs > 1 ? 1 : 0;
      }
    }
  }
  // As in the worker's kernel.
  void move_assignments() {
    for (const auto& [id, go] : std::exchange(to_take_over_, {})) {
      const AssignmentRecord* const assignment = job_->find(id);
      if (assignment == nullptr || (go ? assignment->state != AssignmentState::kRunning : !job_->is_spare(*assignment)))
        continue;
      const AssignmentRecord record_of = *assignment;
      Worker& worker = workers_.at(record_of.worker);
      const Fate fate = go && go_fate ? go_fate(id) : !go && take_over_fate ? take_over_fate(id) : Fate::kArrives;
      const bool reached = worker.alive && !worker.silent && worker.life == record_of.life;
      bool taken = false;
      if (reached && fate != Fate::kIsLost) {
        Running& one = worker.assignments.at(id);
        const Instant clock = second_of(record().workflows[record_of.workflow].base_second);
        taken = take_over(one, now_, clock, second_of(record_of.from), record_of.from, go) || go;
      }
      if (fate != Fate::kArrives || !reached) {
        to_take_over_[id] = to_take_over_[id] || go;
        continue;
      }
      tell_job([&](JobEffects& out) {
        taken ? job_->taken_over(now_, id, out) : job_->not_begun(now_, id, "too late", out);
      });
    }
    for (const AssignmentId id : std::exchange(to_hand_over_, {})) hand_over(id);
  }
  void hand_over(AssignmentId id) {
    const AssignmentRecord* const assignment = job_->find(id);
    if (assignment == nullptr || !is_live(*assignment) || assignment->handed_over || assignment->until == 0) return;
    const uint64_t until = assignment->until;
    Worker& worker = workers_.at(assignment->worker);
    const Fate fate = hand_over_fate ? hand_over_fate(id) : Fate::kArrives;
    const bool reached =
        worker.alive && !worker.silent && worker.life == assignment->life && worker.assignments.contains(id);
    bool done = false;
    if (reached && fate != Fate::kIsLost) {
      done = bellwether::dispatch::hand_over(worker.assignments.at(id), now_, second_of(until), until);
    }
    if (fate != Fate::kArrives || !reached) {
      to_hand_over_.insert(id);
      return;
    }
    tell_job([&](JobEffects& out) {
      done ? job_->handed_over(now_, id, until, out) : job_->kept_on(now_, id, "it was told too late", out);
    });
  }

  bool times_out(const Running& one) const {
    return keep_to_timeouts && spec_[one.workflow].timeout && now_ >= one.clock + *spec_[one.workflow].timeout;
  }
  void end(Running& assignment, AssignmentOutcome outcome) {
    AssignmentEnd end;
    end.outcome = outcome;
    if (outcome == AssignmentOutcome::kCrashed) end.detail = "as the test says";
    if (outcome == AssignmentOutcome::kIsolated) end.detail = "no permit";
    end.ran = now_ - assignment.clock;
    end.last_number = measured_of(assignment, now_) + (assignment.iterations ? 1 : 0);  // a part of a second, too
    iterations_begun += assignment.iterated(now_ - assignment.began);
    if (provides) end.provided = provided_by(spec_[assignment.workflow], assignment, end.ran);
    assignment.phase = AssignmentPhase::kEnded;
    assignment.end = end;
  }

  void carry_out(const JobEffect& effect) {
    if (std::holds_alternative<job_effect::Keep>(effect)) {
      writing_ = {job_->record()};
    } else if (const auto* offer = std::get_if<job_effect::Offer>(&effect)) {
      offered(offer->assignment);
    } else if (const auto* begin = std::get_if<job_effect::Begin>(&effect)) {
      begun(*begin);
    } else if (const auto* taking = std::get_if<job_effect::TakeOver>(&effect)) {
      to_take_over_[taking->assignment] = taking->go;
    } else if (const auto* handing = std::get_if<job_effect::HandOver>(&effect)) {
      to_hand_over_.insert(handing->assignment);
    } else if (const auto* scale = std::get_if<job_effect::Scale>(&effect)) {
      const AssignmentRecord& assignment = *job_->find(scale->assignment);
      Worker& worker = workers_.at(assignment.worker);
      const auto at = worker.assignments.find(scale->assignment);
      if (at != worker.assignments.end()) at->second.vus = record().workflows[assignment.workflow].vus;
    } else if (const auto* stop = std::get_if<job_effect::Stop>(&effect)) {
      stops.push_back(*stop);
      stopped(stop->assignment, stop->evict ? AssignmentOutcome::kEvicted : AssignmentOutcome::kStopped);
    } else if (const auto* denying = std::get_if<job_effect::Deny>(&effect)) {
      denials_.push_back(*denying);
    } else if (const auto* close = std::get_if<job_effect::CloseStream>(&effect)) {
      closed_.insert(close->assignment);
    } else if (std::holds_alternative<job_effect::Conclude>(effect)) {
      copy();
      tell_job([&](JobEffects& out) { job_->concluded(now_, out); });
    } else if (std::holds_alternative<job_effect::KeepContext>(effect)) {
      writing_context_ = job_->context();
    } else if (std::holds_alternative<job_effect::Over>(effect)) {
      retired_ = true;
    }
  }
  void offered(AssignmentId id) {
    const AssignmentRecord assignment = *job_->find(id);
    orders_[id] = job_->order(id, JobFence(1));
    Worker& worker = workers_.at(assignment.worker);
    if (assignment.state != AssignmentState::kOffered || !worker.alive || worker.life != assignment.life) return;
    const OfferAnswer answer = answer_of(worker, assignment);
    if (answer == OfferAnswer::kReady) {
      worker.assignments[id] = {assignment.workflow,
                                assignment.parts,
                                assignment.cores,
                                AssignmentPhase::kReady,
                                {},
                                {},
                                0,
                                0,
                                0,
                                Instant::never(),
                                {},
                                orders_[id].iterations,
                                orders_[id].vus};
    }
    tell_job([&](JobEffects& out) { job_->offered(now_, id, answer, "as the test says", out); });
  }
  void begun(const job_effect::Begin& begin) {
    const AssignmentRecord assignment = *job_->find(begin.assignment);
    Worker& worker = workers_.at(assignment.worker);
    if (!worker.alive || worker.life != assignment.life) return;
    const auto at = worker.assignments.find(begin.assignment);
    ASSERT_NE(at, worker.assignments.end()) << "only what was offered begins";
    if (at->second.phase != AssignmentPhase::kReady) return;
    // No part runs on two live workers.
    for (const auto& [name, other] : workers_) {
      for (const auto& [id, one] : other.assignments) {
        const bool runs = other.alive && one.began <= now_ && now_ < end_of(one);
        EXPECT_FALSE(runs && overlaps(one, assignment))
            << "assignment " << id.value() << " and " << assignment.id.value();
      }
    }
    Running& one = at->second;
    one.phase = AssignmentPhase::kRunning;
    one.clock = begin.clock;
    one.began = std::max(now_, begin.clock);
    one.from = assignment.from;
    one.rows = assignment.rows;
  }
  void stopped(AssignmentId id, AssignmentOutcome as) {
    for (auto& [name, worker] : workers_) {
      if (worker.silent) continue;
      const auto at = worker.assignments.find(id);
      if (at == worker.assignments.end() || at->second.phase == AssignmentPhase::kEnded) continue;
      if (at->second.phase == AssignmentPhase::kReady) {
        worker.assignments.erase(at);
      } else {
        end(at->second, as);
      }
    }
  }

  JobSpec spec_;
  JobRules rules_;
  Prng prng_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  JobRecord record_;
  std::unique_ptr<JobKernel> job_;
  std::map<std::string, Worker> workers_;
  std::vector<JobRecord> writing_;
  std::optional<plan::Values> writing_context_;
  plan::Values durable_context_;
  std::map<AssignmentId, AssignmentOrder> orders_;
  JobRecord durable_;
  std::map<AssignmentId, bool> to_take_over_;  // whether they may begin
  std::set<AssignmentId> to_hand_over_;
  std::vector<job_effect::Deny> denials_;
  std::vector<std::pair<std::string, uint64_t>> gone_;
  std::vector<std::pair<std::string, uint64_t>> everybody_dead_;
  std::set<AssignmentId> closed_;
  TestIngest ingest_;
  TestIngest copied_;
  Instant next_copy_;
  bool retired_ = false;
  bool owner_is_there_ = true;
};

// Of all parts of a workflow, in the ingest.
inline uint64_t seconds_of(const JobWorld& world, uint16_t workflow = 0) {
  uint64_t sum = 0;
  for (const auto& part : world.measured(workflow)) sum += part.seconds;
  return sum;
}

inline constexpr Duration kMinute = Duration::seconds(60);

inline constexpr Duration kStep = Duration::millis(100);

inline void expect_end(JobWorld& world, Duration longest, JobState state = JobState::kCompleted) {
  EXPECT_TRUE(world.run(longest));
  EXPECT_EQ(world.record().state, state);
}

}  // namespace bellwether::dispatch

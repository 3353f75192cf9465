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

#include "jobs/dispatch/job_test_parts.h"

namespace bellwether::dispatch {

class JobWorld {
 public:
  using Running = TestShare;
  using Worker = TestWorker;
  using Measured = TestPart;

  JobWorld(JobSpec spec, uint64_t seed, JobRules rules = {}) : spec_(std::move(spec)), rules_(rules), prng_(seed) {
    sheet_.id = "job";
    sheet_.name = "shop";
    job_ = std::make_unique<JobDesk>(spec_, rules_, sheet_, Prng(prng_.next()));
  }

  JobDesk& job() { return *job_; }
  const JobSheet& sheet() const { return job_->sheet(); }
  Instant now() const { return now_; }
  void add(const std::string& name, uint32_t cores) { workers_[name].cores = cores; }
  Worker& worker(const std::string& name) { return workers_.at(name); }
  std::map<std::string, Worker>& workers() { return workers_; }
  bool register_stands = true;
  std::vector<job_effect::Stop> stops;  // that were executed
  // Of the messages of a hand-over. Unanswered ones are repeated at the next step.
  std::function<Fate(ShareId)> take_over_fate;
  std::function<Fate(ShareId)> hand_over_fate;
  // Looks, one a step, at which a part that had begun had no run, or two.
  uint64_t looks_without_load = 0;
  uint64_t looks_at_double_load = 0;
  // By assignments that have ended, or died with their workers.
  uint64_t iterations_begun = 0;
  // Whether assignments of this workflow end at their time.
  bool keep_to_timeouts = true;  // workers keep the timeouts of workflows
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
    for (const auto& [id, one] : worker.shares) {
      if (one.phase == SharePhase::kRunning) iterations_begun += one.iterated(now_ - one.began);
    }
    gone_.push_back({name, worker.life});
    worker.shares.clear();
  }
  void restart(const std::string& name) {
    Worker& worker = workers_.at(name);
    worker.alive = true;
    ++worker.life;
    worker.shares.clear();
  }
  // The owner dies, and no other one comes yet.
  void forget_owner() { owner_is_there_ = false; }
  // The owner dies; another one begins with the register's content.
  void replace_owner() {
    if (durable_.revision == 0) return;
    owner_is_there_ = true;
    JobEffects out;
    job_ = std::make_unique<JobDesk>(spec_, rules_, durable_, Prng(prng_.next()));
    job_->set_wall(now_, WallTime{1'000'000'000 + now_.ns()});
    writing_.clear();
    to_take_over_.clear();
    to_hand_over_.clear();
    // The account is that of the last copy; workers resend the later seconds.
    account_ = copied_;
    for (auto& [name, worker] : workers_) {
      for (auto& [id, one] : worker.shares) one.told = account_.told[id];
    }
    Duration ago;
    if (durable_.started.unix_ns != 0) ago = Duration::nanos(1'000'000'000 + now_.ns() - durable_.started.unix_ns);
    job_->restore(durable_context_);
    writing_context_.reset();
    for (const auto& [id, iterated] : account_.iterated) job_->iterated(id, iterated);
    job_->adopt(now_, ago, account_.told, out);
    closed_.clear();
    for (const ShareSheet& share : sheet().shares) {
      if (!is_live(share)) closed_.insert(share.id);
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
    run_workers();
    look();
    if (!owner_is_there_) return;
    move_shares();
    if (register_stands) {
      for (const JobSheet& sheet : std::exchange(writing_, {})) {
        durable_ = sheet;
        tell_job([&](JobEffects& out) { job_->kept(now_, sheet.revision, out); });
      }
      if (const auto context = std::exchange(writing_context_, std::nullopt); context && !loses_context) {
        durable_context_ = *context;
        tell_job([&](JobEffects& out) { job_->context_kept(now_, context->version, out); });
      }
      // Never of assignments that no durable record has.
      if (now_ >= next_copy_ && durable_.revision == sheet().revision) copy();
    }
    report();
    JobEffects out;
    if (job_->wake() <= now_) job_->tick(now_, out);
    carry_out(out);
  }
  // The workers may delete the job.
  bool retired() const { return retired_; }
  void crash(ShareId share) {
    for (auto& [name, worker] : workers_) {
      const auto at = worker.shares.find(share);
      if (at != worker.shares.end()) end(at->second, ShareOutcome::kCrashed);
    }
  }
  // True if it has ended.
  bool run(Duration most) {
    const Instant end = now_ + most;
    while (now_ < end && !job_->over()) step(Duration::millis(100));
    return job_->over();
  }
  bool run_until_begun() {
    for (int i = 0; i < 1000 && sheet().state != JobState::kRunning; ++i) step(Duration::millis(10));
    return sheet().state == JobState::kRunning;
  }
  bool begins() {
    begin();
    return run_until_begun();
  }

  // Every part of a workflow and its seconds in the account.
  std::vector<Measured> measured(uint16_t workflow) const {
    return account_.measured(workflow, sheet().workflows[workflow].parts);
  }
  bool all_cores_free() const {
    return std::all_of(workers_.begin(), workers_.end(),
                       [](const auto& one) { return !one.second.alive || one.second.used() == 0; });
  }
  // The orders of the assignments, as offered.
  const std::map<ShareId, ShareOrder>& orders() const { return orders_; }
  bool loses_context = false;  // no quorum ever gets values between workflows
  bool provides = true;        // ended assignments provide values
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
    copied_ = account_;
    next_copy_ = now_ + Duration::seconds(2);
  }
  void tell_gone(const std::string& name, uint64_t life) {
    tell_job([&](JobEffects& out) { job_->worker_gone(now_, name, life, "it does not answer", out); });
  }
  void report() {
    JobEffects out;
    job_->pool(now_, pool_of(workers_), out);
    carry_out(out);
  }

  void run_workers() {
    for (auto& [name, worker] : workers_) {
      if (!worker.alive) continue;
      for (auto at = worker.shares.begin(); at != worker.shares.end(); ++at) {
        Running& one = at->second;
        if (one.phase == SharePhase::kRunning && now_ >= end_of(one) && (ends_itself(one.workflow) || one.until != 0)) {
          end(one, ShareOutcome::kCompleted);
        }
        if (one.phase == SharePhase::kRunning && times_out(one)) end(one, ShareOutcome::kTimedOut);
        if (one.phase == SharePhase::kReady || worker.silent || !owner_is_there_) continue;
        JobEffects out;
        tell(at->first, one);
        job_->iterated(at->first, account_.iterated[at->first]);
        if (!closed_.contains(at->first)) job_->applied(now_, at->first, one.told, out);
        if (one.end && one.until != 0) job_->handed_over(now_, at->first, one.until, out);
        if (one.end) job_->ended(now_, at->first, *one.end, out);
        carry_out(out);
      }
    }
  }
  void tell(ShareId id, Running& one) {
    const uint64_t upto = measured_of(one, now_);
    while (one.told < upto) {
      const JobDesk::Hearing hearing = job_->hearing(id, one.from + one.told);
      if (hearing == JobDesk::Hearing::kWaits || hearing == JobDesk::Hearing::kUnknown) return;
      ++one.told;
      if (hearing == JobDesk::Hearing::kExcess || closed_.contains(id)) continue;
      account_.count(one, one.from + one.told - 1);
      account_.told[id] = one.told;
      plan::Iterated& sum = account_.iterated[id];
      const bool last = one.end && one.told == one.end->last_number;
      const uint64_t ended =
          last ? one.iterated(one.end->ran) : one.iterated(Duration::seconds(static_cast<int64_t>(one.told)));
      sum = {ended, ended - sum.ended, 0};
    }
  }
  Instant second_of(uint64_t second) const { return *job_->zero() + Duration::seconds(static_cast<int64_t>(second)); }
  Instant end_of(const Running& one) const {
    const Instant planned = one.clock + spec_[one.workflow].length;
    if (one.iterations) return std::min(planned, one.all_begun());
    return one.until == 0 ? planned : std::min(planned, second_of(one.until));
  }
  void look() {
    if (!job_->zero() || sheet().stop) return;
    for (uint16_t w = 0; w < spec_.size(); ++w) {
      const WorkflowSheet& sheet_of = sheet().workflows[w];
      if (!sheet_of.begun || is_final(sheet_of.state)) continue;
      const Instant begins = second_of(sheet_of.base_second);
      if (now_ <= begins || now_ >= begins + spec_[w].length) continue;
      for (uint32_t part = 0; part < sheet_of.parts; ++part) {
        const int runs = runs_of(workers_, now_, w, part);
        looks_without_load += runs == 0 ? 1 : 0;
        looks_at_double_load += runs > 1 ? 1 : 0;
      }
    }
  }
  // As in the worker's desk.
  void move_shares() {
    for (const ShareId id : std::exchange(to_take_over_, {})) {
      const ShareSheet* const share = job_->find(id);
      if (share == nullptr || !job_->is_spare(*share)) continue;
      const ShareSheet sheet_of = *share;
      Worker& worker = workers_.at(sheet_of.worker);
      const Fate fate = take_over_fate ? take_over_fate(id) : Fate::kArrives;
      bool taken = false;
      if (worker.alive && !worker.silent && worker.life == sheet_of.life && fate != Fate::kIsLost) {
        Running& one = worker.shares.at(id);
        const Instant clock = second_of(sheet().workflows[sheet_of.workflow].base_second);
        taken = take_over(one, now_, clock, second_of(sheet_of.from), sheet_of.from);
      }
      if (fate != Fate::kArrives || !worker.alive || worker.silent) {
        to_take_over_.insert(id);
        continue;
      }
      tell_job([&](JobEffects& out) {
        taken ? job_->taken_over(now_, id, out) : job_->not_begun(now_, id, "too late", out);
      });
    }
    for (const ShareId id : std::exchange(to_hand_over_, {})) hand_over(id);
  }
  void hand_over(ShareId id) {
    const ShareSheet* const share = job_->find(id);
    if (share == nullptr || !is_live(*share) || share->handed_over || share->until == 0) return;
    const uint64_t until = share->until;
    Worker& worker = workers_.at(share->worker);
    const Fate fate = hand_over_fate ? hand_over_fate(id) : Fate::kArrives;
    const bool reached = worker.alive && !worker.silent && worker.life == share->life && worker.shares.contains(id);
    bool done = false;
    if (reached && fate != Fate::kIsLost) {
      done = bellwether::dispatch::hand_over(worker.shares.at(id), now_, second_of(until), until);
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
  void end(Running& share, ShareOutcome outcome) {
    ShareEnd end;
    end.outcome = outcome;
    if (outcome == ShareOutcome::kCrashed) end.detail = "as the test says";
    end.ran = now_ - share.clock;
    end.last_number = measured_of(share, now_) + (share.iterations ? 1 : 0);  // a part of a second, too
    iterations_begun += share.iterated(now_ - share.began);
    if (provides) end.provided = provided_by(spec_[share.workflow], share, end.ran);
    share.phase = SharePhase::kEnded;
    share.end = end;
  }

  void carry_out(const JobEffect& effect) {
    if (std::holds_alternative<job_effect::Keep>(effect)) {
      writing_ = {job_->sheet()};
    } else if (const auto* offer = std::get_if<job_effect::Offer>(&effect)) {
      offered(offer->share);
    } else if (const auto* begin = std::get_if<job_effect::Begin>(&effect)) {
      begun(*begin);
    } else if (const auto* taking = std::get_if<job_effect::TakeOver>(&effect)) {
      to_take_over_.insert(taking->share);
    } else if (const auto* handing = std::get_if<job_effect::HandOver>(&effect)) {
      to_hand_over_.insert(handing->share);
    } else if (const auto* scale = std::get_if<job_effect::Scale>(&effect)) {
      const ShareSheet& share = *job_->find(scale->share);
      Worker& worker = workers_.at(share.worker);
      const auto at = worker.shares.find(scale->share);
      if (at != worker.shares.end()) at->second.vus = sheet().workflows[share.workflow].vus;
    } else if (const auto* stop = std::get_if<job_effect::Stop>(&effect)) {
      stops.push_back(*stop);
      stopped(stop->share);
    } else if (const auto* close = std::get_if<job_effect::CloseStream>(&effect)) {
      closed_.insert(close->share);
    } else if (std::holds_alternative<job_effect::Conclude>(effect)) {
      copy();
      tell_job([&](JobEffects& out) { job_->concluded(now_, out); });
    } else if (std::holds_alternative<job_effect::KeepContext>(effect)) {
      writing_context_ = job_->context();
    } else if (std::holds_alternative<job_effect::Over>(effect)) {
      retired_ = true;
    }
  }
  void offered(ShareId id) {
    const ShareSheet share = *job_->find(id);
    orders_[id] = job_->order(id, JobFence(1));
    Worker& worker = workers_.at(share.worker);
    if (share.state != ShareState::kOffered || !worker.alive || worker.life != share.life) return;
    const OfferAnswer answer = answer_of(worker, share);
    if (answer == OfferAnswer::kReady) {
      worker.shares[id] = {share.workflow,         share.parts,    share.cores, SharePhase::kReady, {}, {}, 0, 0, 0, {},
                           orders_[id].iterations, orders_[id].vus};
    }
    tell_job([&](JobEffects& out) { job_->offered(now_, id, answer, "as the test says", out); });
  }
  void begun(const job_effect::Begin& begin) {
    const ShareSheet share = *job_->find(begin.share);
    Worker& worker = workers_.at(share.worker);
    if (!worker.alive || worker.life != share.life) return;
    const auto at = worker.shares.find(begin.share);
    ASSERT_NE(at, worker.shares.end()) << "only what was offered begins";
    if (at->second.phase != SharePhase::kReady) return;
    // No part runs on two live workers.
    for (const auto& [name, other] : workers_) {
      for (const auto& [id, one] : other.shares) {
        const bool runs = other.alive && one.began <= now_ && now_ < end_of(one);
        EXPECT_FALSE(runs && overlaps(one, share)) << "share " << id.value() << " and " << share.id.value();
      }
    }
    Running& one = at->second;
    one.phase = SharePhase::kRunning;
    one.clock = begin.clock;
    one.began = std::max(now_, begin.clock);
    one.from = share.from;
  }
  void stopped(ShareId id) {
    for (auto& [name, worker] : workers_) {
      const auto at = worker.shares.find(id);
      if (at == worker.shares.end() || at->second.phase == SharePhase::kEnded) continue;
      if (at->second.phase == SharePhase::kReady) {
        worker.shares.erase(at);
      } else {
        end(at->second, ShareOutcome::kStopped);
      }
    }
  }

  JobSpec spec_;
  JobRules rules_;
  Prng prng_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  JobSheet sheet_;
  std::unique_ptr<JobDesk> job_;
  std::map<std::string, Worker> workers_;
  std::vector<JobSheet> writing_;
  std::optional<plan::Values> writing_context_;
  plan::Values durable_context_;
  std::map<ShareId, ShareOrder> orders_;
  JobSheet durable_;
  std::set<ShareId> to_take_over_;
  std::set<ShareId> to_hand_over_;
  std::vector<std::pair<std::string, uint64_t>> gone_;
  std::vector<std::pair<std::string, uint64_t>> everybody_dead_;
  std::set<ShareId> closed_;
  TestAccount account_;
  TestAccount copied_;
  Instant next_copy_;
  bool retired_ = false;
  bool owner_is_there_ = true;
};

// Of all parts of a workflow, in the account.
inline uint64_t seconds_of(const JobWorld& world, uint16_t workflow = 0) {
  uint64_t sum = 0;
  for (const auto& part : world.measured(workflow)) sum += part.seconds;
  return sum;
}

inline constexpr Duration kMinute = Duration::seconds(60);

inline constexpr Duration kStep = Duration::millis(100);

inline void expect_end(JobWorld& world, Duration longest, JobState state = JobState::kCompleted) {
  EXPECT_TRUE(world.run(longest));
  EXPECT_EQ(world.sheet().state, state);
}

}  // namespace bellwether::dispatch

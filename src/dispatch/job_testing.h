// A small cluster for tests of the job kernel: workers that do as they are told, a register that keeps sheets, and an
// owner that may be replaced. Time goes in steps that the test says.
#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dispatch/job.h"

namespace bellwether::dispatch {

inline WorkflowSpec load_spec(std::string name, Duration length, std::vector<uint16_t> depends = {}) {
  WorkflowSpec spec;
  spec.name = std::move(name);
  spec.vus = 1000;
  spec.length = length;
  spec.depends = std::move(depends);
  spec.graceful_stop = Duration::seconds(5);
  return spec;
}

class JobWorld {
 public:
  struct Running {
    uint16_t workflow = 0;
    PartRange parts;
    uint32_t cores = 0;
    SharePhase phase = SharePhase::kReady;
    Instant clock;
    Instant began;
    uint64_t from = 0;
    uint64_t told = 0;  // numbers that the account has
    std::optional<ShareEnd> end;
  };
  struct Worker {
    uint64_t life = 1;
    uint32_t cores = 1;
    bool alive = true;
    bool refuses = false;
    bool busy = false;  // has no cores, whatever it says
    bool breaks = false;
    std::map<ShareId, Running> shares;
    uint32_t used() const {
      uint32_t sum = 0;
      for (const auto& [id, one] : shares) sum += one.phase == SharePhase::kEnded ? 0 : one.cores;
      return sum;
    }
  };
  // Seconds of a part that are in the account.
  struct Measured {
    uint64_t seconds = 0;
    uint64_t twice = 0;
    std::map<uint64_t, int> by_second;
  };

  JobWorld(JobSpec spec, uint64_t seed, JobRules rules = {}) : spec_(std::move(spec)), rules_(rules), prng_(seed) {
    sheet_.id = "job";
    sheet_.name = "shop";
    job_ = std::make_unique<Job>(spec_, rules_, sheet_, Prng(prng_.next()));
  }

  Job& job() { return *job_; }
  const JobSheet& sheet() const { return job_->sheet(); }
  Instant now() const { return now_; }
  Prng& prng() { return prng_; }
  void add(const std::string& name, uint32_t cores) { workers_[name].cores = cores; }
  Worker& worker(const std::string& name) { return workers_.at(name); }
  std::map<std::string, Worker>& workers() { return workers_; }
  const std::vector<std::string>& moves() const { return moves_; }
  bool register_stands = true;

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
    gone_.push_back({name, worker.life});
    worker.shares.clear();
  }
  void restart(const std::string& name) {
    Worker& worker = workers_.at(name);
    worker.alive = true;
    ++worker.life;
    worker.shares.clear();
  }
  // The owner dies, and for now nobody is there.
  void forget_owner() { owner_is_there_ = false; }
  // The owner dies; another one begins with what the register has.
  void replace_owner() {
    if (durable_.revision == 0) return;
    owner_is_there_ = true;
    JobEffects out;
    job_ = std::make_unique<Job>(spec_, rules_, durable_, Prng(prng_.next()));
    job_->set_wall(now_, WallTime{1'000'000'000 + now_.ns()});
    writing_.clear();
    // The account is that of the last copy; workers tell again what came after it.
    account_ = copied_;
    told_ = copied_told_;
    for (auto& [name, worker] : workers_) {
      for (auto& [id, one] : worker.shares) one.told = told_[id];
    }
    Duration ago;
    if (durable_.started.unix_ns != 0) ago = Duration::nanos(1'000'000'000 + now_.ns() - durable_.started.unix_ns);
    job_->restore(durable_context_);
    writing_context_.reset();
    job_->adopt(now_, ago, told_, out);
    closed_.clear();
    for (const ShareSheet& share : sheet().shares) {
      if (!is_live(share)) closed_.insert(share.id);
    }
    carry_out(out);
    for (const auto& [name, life] : everybody_dead_) tell_gone(name, life);
    for (const std::string& name : job_->workers_to_ask()) {
      const auto at = workers_.find(name);
      if (at == workers_.end() || !at->second.alive) continue;
      std::vector<ShareSight> sights;
      for (const auto& [id, one] : at->second.shares) {
        ShareSight sight;
        sight.share = id;
        sight.phase = one.phase;
        if (one.phase != SharePhase::kReady) {
          sight.clock = now_ - one.clock;
          sight.from = one.from;
          sight.measured = measured_of(one);
        }
        if (one.end) sight.end = *one.end;
        sights.push_back(sight);
      }
      JobEffects more;
      job_->sighted(now_, name, at->second.life, sights, more);
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
    if (!owner_is_there_) return;
    if (register_stands) {
      for (const JobSheet& sheet : std::exchange(writing_, {})) {
        durable_ = sheet;
        JobEffects out;
        job_->kept(now_, sheet.revision, out);
        carry_out(out);
      }
      if (const auto context = std::exchange(writing_context_, std::nullopt); context && !loses_context) {
        durable_context_ = *context;
        JobEffects out;
        job_->context_kept(now_, context->version, out);
        carry_out(out);
      }
      // Never of shares that no durable sheet knows.
      if (now_ >= next_copy_ && durable_.revision == sheet().revision) copy();
    }
    report();
    JobEffects out;
    if (job_->wake() <= now_) job_->tick(now_, out);
    carry_out(out);
  }
  // What the workers had of the job is not needed any more.
  bool retired() const { return retired_; }
  void cancel(const std::set<uint16_t>& workflows) {
    JobEffects out;
    job_->stop(now_, {JobStop::Cause::kCancelled, StopHow::kAtOnce, "ann", "enough"}, workflows, out);
    carry_out(out);
  }
  void crash(ShareId share) {
    for (auto& [name, worker] : workers_) {
      const auto at = worker.shares.find(share);
      if (at != worker.shares.end()) end(at->second, ShareOutcome::kCrashed);
    }
  }
  // True when it came to its end.
  bool run(Duration most) {
    const Instant end = now_ + most;
    while (now_ < end && !job_->over()) step(Duration::millis(100));
    return job_->over();
  }
  bool run_until_begun() {
    for (int i = 0; i < 1000 && sheet().state != JobState::kRunning; ++i) step(Duration::millis(10));
    return sheet().state == JobState::kRunning;
  }

  // Every part of a workflow and what the account has of it.
  std::vector<Measured> measured(uint16_t workflow) const {
    std::vector<Measured> out(sheet().workflows[workflow].parts);
    for (std::size_t part = 0; part < out.size(); ++part) {
      const auto found = account_.find({workflow, static_cast<uint32_t>(part)});
      if (found == account_.end()) continue;
      out[part].by_second = found->second;
      for (const auto& [second, times] : found->second) {
        ++out[part].seconds;
        if (times > 1) ++out[part].twice;
      }
    }
    return out;
  }
  bool all_cores_free() const {
    return std::all_of(workers_.begin(), workers_.end(),
                       [](const auto& one) { return !one.second.alive || one.second.used() == 0; });
  }
  int concludes = 0;
  // What the shares of each workflow were given when they were offered.
  const std::map<ShareId, ShareOrder>& orders() const { return orders_; }
  bool loses_context = false;  // no quorum ever hears of values between workflows
  bool provides = true;        // each share that ends says "NAME of share N" for each value

 private:
  void copy() {
    copied_ = account_;
    copied_told_ = told_;
    next_copy_ = now_ + Duration::seconds(2);
  }
  uint64_t measured_of(const Running& share) const {
    if (share.end) return share.end->last_number;
    const Duration ran = now_ - std::max(share.began, share.clock);
    return ran < Duration::zero() ? 0 : static_cast<uint64_t>(ran.ns() / 1'000'000'000);
  }
  void tell_gone(const std::string& name, uint64_t life) {
    JobEffects out;
    job_->worker_gone(now_, name, life, "it does not answer", out);
    carry_out(out);
  }
  void report() {
    std::vector<WorkerSight> pool;
    for (const auto& [name, worker] : workers_) {
      if (!worker.alive) continue;
      const uint32_t used = std::min(worker.used(), worker.cores);
      pool.push_back({name, worker.life, worker.cores, worker.cores - used, true, true});
    }
    JobEffects out;
    job_->pool(now_, pool, out);
    carry_out(out);
  }

  void run_workers() {
    for (auto& [name, worker] : workers_) {
      if (!worker.alive) continue;
      for (auto at = worker.shares.begin(); at != worker.shares.end(); ++at) {
        Running& one = at->second;
        if (one.phase == SharePhase::kRunning && now_ >= one.clock + spec_[one.workflow].length) {
          end(one, ShareOutcome::kCompleted);
        }
        if (one.phase == SharePhase::kReady || !owner_is_there_) continue;
        const uint64_t upto = measured_of(one);
        while (one.told < upto) {
          ++one.told;
          if (closed_.contains(at->first)) continue;
          count(one, one.from + one.told - 1);
          told_[at->first] = one.told;
        }
        JobEffects out;
        if (!closed_.contains(at->first)) job_->applied(now_, at->first, one.told, out);
        if (one.end) job_->ended(now_, at->first, *one.end, out);
        carry_out(out);
      }
    }
  }
  void end(Running& share, ShareOutcome outcome) {
    ShareEnd end;
    end.outcome = outcome;
    end.ran = now_ - share.clock;
    end.last_number = measured_of(share);
    const std::vector<std::string>& names = spec_[share.workflow].provides;
    for (std::size_t i = 0; provides && i < names.size(); ++i) {
      end.provided.push_back({static_cast<uint16_t>(i), share.parts.first + 1, end.ran,
                              names[i] + " of part " + std::to_string(share.parts.first)});
    }
    share.phase = SharePhase::kEnded;
    share.end = end;
  }
  void count(const Running& share, uint64_t second) {
    for (uint32_t i = 0; i < share.parts.count; ++i) ++account_[{share.workflow, share.parts.first + i}][second];
  }

  void carry_out(const JobEffects& effects) {
    for (const JobEffect& effect : effects) {
      if (std::holds_alternative<job_effect::Keep>(effect)) {
        writing_ = {job_->sheet()};
      } else if (const auto* offer = std::get_if<job_effect::Offer>(&effect)) {
        offered(offer->share);
      } else if (const auto* begin = std::get_if<job_effect::Begin>(&effect)) {
        begun(*begin);
      } else if (const auto* stop = std::get_if<job_effect::Stop>(&effect)) {
        stopped(stop->share);
      } else if (const auto* close = std::get_if<job_effect::CloseStream>(&effect)) {
        closed_.insert(close->share);
      } else if (const auto* move = std::get_if<job_effect::Moved>(&effect)) {
        moves_.push_back(move->what + ": " + std::string(move->from) + " -> " + std::string(move->to));
      } else if (std::holds_alternative<job_effect::Conclude>(effect)) {
        ++concludes;
        copy();
        JobEffects out;
        job_->concluded(now_, out);
        carry_out(out);
      } else if (std::holds_alternative<job_effect::KeepContext>(effect)) {
        writing_context_ = job_->context();
      } else if (std::holds_alternative<job_effect::Over>(effect)) {
        retired_ = true;
      }
    }
  }
  void offered(ShareId id) {
    const ShareSheet share = *job_->find(id);
    orders_[id] = job_->order(id, JobFence(1));
    Worker& worker = workers_.at(share.worker);
    if (share.state != ShareState::kOffered || !worker.alive || worker.life != share.life) return;
    OfferAnswer answer = OfferAnswer::kReady;
    if (worker.refuses) {
      answer = OfferAnswer::kNotNow;
    } else if (worker.busy || (!share.squeeze && worker.used() + share.cores > worker.cores)) {
      answer = OfferAnswer::kBusy;
    } else if (worker.breaks) {
      answer = OfferAnswer::kBroken;
    } else {
      worker.shares[id] = {share.workflow, share.parts, share.cores, SharePhase::kReady, {}, {}, 0, 0, {}};
    }
    JobEffects out;
    job_->offered(now_, id, answer, "as the test says", out);
    carry_out(out);
  }
  void begun(const job_effect::Begin& begin) {
    const ShareSheet share = *job_->find(begin.share);
    Worker& worker = workers_.at(share.worker);
    if (!worker.alive || worker.life != share.life) return;
    const auto at = worker.shares.find(begin.share);
    ASSERT_NE(at, worker.shares.end()) << "only what was offered begins";
    if (at->second.phase != SharePhase::kReady) return;
    // No part is run by two workers that are both alive.
    for (const auto& [name, other] : workers_) {
      for (const auto& [id, one] : other.shares) {
        const bool overlaps = one.phase == SharePhase::kRunning && one.workflow == share.workflow &&
                              one.parts.first < share.parts.first + share.parts.count &&
                              share.parts.first < one.parts.first + one.parts.count;
        EXPECT_FALSE(overlaps && other.alive) << "share " << id.value() << " and " << share.id.value();
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
  std::unique_ptr<Job> job_;
  std::map<std::string, Worker> workers_;
  std::vector<JobSheet> writing_;
  std::optional<JobContext> writing_context_;
  JobContext durable_context_;
  std::map<ShareId, ShareOrder> orders_;
  JobSheet durable_;
  std::vector<std::pair<std::string, uint64_t>> gone_;
  std::vector<std::pair<std::string, uint64_t>> everybody_dead_;
  std::set<ShareId> closed_;
  std::map<ShareId, uint64_t> told_;
  using Account = std::map<std::pair<uint16_t, uint32_t>, std::map<uint64_t, int>>;  // of parts: how often each second
  Account account_;
  Account copied_;
  Instant next_copy_;
  std::map<ShareId, uint64_t> copied_told_;
  std::vector<std::string> moves_;
  bool retired_ = false;
  bool owner_is_there_ = true;
};

}  // namespace bellwether::dispatch

// One node's ownership of one job: takes it over, writes and reads it, renews its lease, and notices another owner. It
// reads no clock: each step takes the time of the boot clock, freshly read, and answers with effects.
//
// What it guarantees, given acceptors that keep what they have confirmed:
//   - every later owner of the job sees all values that were written or read;
//   - writes and reads of a job take effect one after the other, each between its call and its answer;
//   - no two owners have one fence.
// And with clocks within the drift: no two believe at once that they hold the job.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <variant>
#include <vector>

#include "cluster/register/small.h"
#include "core/base/periodic.h"
#include "core/base/prng.h"

namespace bellwether::registers {

// The replicas to ask, as of ReplicaSet. `next`: empty, or majorities of both decide.
struct ReplicaIds {
  std::vector<MemberId> old;
  std::vector<MemberId> next;
  bool operator==(const ReplicaIds&) const = default;
};

struct JobOwnerConfig {
  std::string key;
  MemberId self;
  ReplicaIds replicas;  // this node with them when it is one
  Duration lease = Duration::seconds(30);
  Duration renew_every = Duration::seconds(10);  // at the latest
  Duration retry = Duration::millis(200);  // for requests without an answer, and the spread of the wait after a refusal
  double drift = 0.01;                     // how far a clock may run from true time, as a share
};

// --- events ----------------------------------------------------------------------------------------------------------

// Own the job from now on, as soon as it is free.
struct TakeJob {};
struct GiveJobBack {};
struct WriteJob {
  uint64_t ticket = 0;
  std::string value;
};
struct ReadJob {
  uint64_t ticket = 0;
};
// Withdraws a wish. One that waits is dropped (JobFailed follows); one that is under way goes on, at most for the rest
// of the lease, and its end is reported.
struct Withdraw {
  uint64_t ticket = 0;
};
// A peer refused us because of a lease, which has been given back.
struct JobFreed {};
struct JobTick {};
// The set of replicas has changed. What is under way is asked again of all: a replica that granted it may have read
// newer promises and values since, for the new set.
struct ReplicasAre {
  ReplicaIds replicas;
};
struct JobAnswered {
  MemberId from;
  Answer answer;
};
using OwnerEvent =
    std::variant<TakeJob, GiveJobBack, WriteJob, ReadJob, Withdraw, JobFreed, JobTick, JobAnswered, ReplicasAre>;

// --- effects ---------------------------------------------------------------------------------------------------------

struct SendAsk {
  MemberId to;
  Ask ask;
};
// The job is ours until `ends` (JobRenewed moves it on), under this fence. Empty value: never written.
struct JobTaken {
  JobFence fence;
  Instant ends;
  Place place;
  std::string value;
};
struct JobRenewed {
  Instant ends;
};
struct JobWritten {
  uint64_t ticket = 0;
  Place place;
};
struct JobRead {
  uint64_t ticket = 0;
  Place place;
  std::string value;
};
// The wish was not confirmed. `perhaps`: it is a write that was under way, so it may still take effect.
struct JobFailed {
  uint64_t ticket = 0;
  bool perhaps = false;
  std::string why;
};
// The job is ours no longer, although it was not given back. Stop all acts under `fence`.
struct JobLost {
  JobFence fence;
  MemberId owner;  // the present owner, as far as is known
  std::string why;
};
// Another node holds it.
struct JobBusy {
  MemberId owner;
  Duration again_after;
};
using OwnerEffect = std::variant<SendAsk, JobTaken, JobRenewed, JobWritten, JobRead, JobFailed, JobLost, JobBusy>;
using OwnerEffects = std::vector<OwnerEffect>;

class JobOwner {
 public:
  // `seed` feeds claims and jitter; it must differ between nodes, and between the starts of one node.
  // REQUIRES a key of at most kMaxKeyBytes, 1 to kMaxReplicas replicas, and 3 renewals in a lease.
  JobOwner(JobOwnerConfig config, uint64_t seed);

  void step(Instant now, const OwnerEvent& event, OwnerEffects& out);
  // When to send JobTick at the latest.
  Instant wake() const;

  bool owns(Instant now) const { return owning() && now < ends_; }
  Instant ends() const { return ends_; }
  JobFence fence() const { return claim_.fence; }

 private:
  static constexpr std::size_t kMaxWaiting = 256;  // writes and reads
  static constexpr int kPatience = 5;              // retries of a takeover that some refuse

  enum class State : uint8_t { kIdle, kWaiting, kPreparing, kAdopting, kOwning };

  struct Peer {
    MemberId id;
    bool in_old = false;
    bool in_next = false;
    bool granted = false;  // the present question
    bool refused = false;
    Instant acked_sent;  // when the last granted request was sent
    bool acked = false;
  };
  struct Wish {
    uint64_t ticket;
    bool write;
    std::string value;
  };

  bool owning() const { return state_ == State::kOwning; }
  void on_tick(Instant now, OwnerEffects& out);
  void take(Instant now, OwnerEffects& out);
  void prepare(Instant now, OwnerEffects& out);
  void give_back(Instant now, OwnerEffects& out);
  void want(Instant now, Wish wish, OwnerEffects& out);
  void withdraw(uint64_t ticket, OwnerEffects& out);
  void freed(Instant now);
  void next(Instant now, OwnerEffects& out);
  void ask(Instant now, decltype(Ask::body) body, OwnerEffects& out);
  void send(OwnerEffects& out);
  void answered(Instant now, const JobAnswered& answered, OwnerEffects& out);
  void replicas_are(Instant now, const ReplicaIds& replicas, OwnerEffects& out);
  void judge(Instant now, OwnerEffects& out);
  void refused(Instant now, OwnerEffects& out);
  void decided(Instant now, OwnerEffects& out);
  void adopt(Instant now, OwnerEffects& out);
  void finish(OwnerEffects& out);
  Instant leased_until() const;
  void lose(Instant now, MemberId owner, const std::string& why, OwnerEffects& out);
  void wait(Instant until) { state_ = State::kWaiting, again_at_ = until; }
  // Whether majorities of all lists of replicas are `in`(peer).
  template <class In>
  bool agreed(In in) const;
  Duration spread();

  JobOwnerConfig config_;
  Prng prng_;
  Periodic renewals_;
  std::vector<Peer> peers_;  // each replica once
  State state_ = State::kIdle;
  bool wants_ = false;

  Claim claim_;
  JobFence highest_fence_;  // that was heard of
  Instant ends_;
  Instant again_at_;
  Duration again_after_;
  MemberId held_by_;
  MemberId rival_;      // of the last refusal
  bool freed_ = false;  // a lease was given back since it was last asked for
  int failures_ = 0;    // to take it, in a row

  // The question that is being asked; at most one.
  bool asking_ = false;
  bool for_wish_ = false;  // that of waiting_.front()
  Ask question_;
  uint64_t number_;
  Instant sent_;
  Instant repeat_at_;
  Instant renew_at_;

  Place newest_;  // while preparing: the newest answered; then: the written one
  std::string value_;
  Place written_;
  std::string writing_;
  std::deque<Wish> waiting_;
};

}  // namespace bellwether::registers

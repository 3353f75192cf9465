// The acceptor of Paxos on one replica (small.h has the protocol and its source). For each register it keeps the newest
// claim that it has promised and the newest write that it has accepted. It reads no clock: each step takes the time of
// the boot clock. A grant leaves only after its promise or write is durable. A refusal leaves at once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "cluster/register/small.h"

namespace bellwether::registers {

struct JobAcceptorConfig {
  double drift = 0.01;  // how far a clock may run from true time, as a share
  std::size_t most_jobs = 10'000;
};

// --- events ----------------------------------------------------------------------------------------------------------

struct AcceptorStart {
  bool readable = true;  // else nothing is promised or accepted any more: the peer is to be replaced
  std::vector<RegisterRecord> records;
};
struct Asked {
  MemberId from;
  Ask ask;
};
// The answer to KeepJob or DropJob. Not ok: perhaps it was written, perhaps not.
struct JobKept {
  uint64_t number = 0;
  bool ok = true;
};
// The job was retired so long ago that its register goes away. A job that is not retired here stays: no message can
// drop promises and accepted writes.
struct Forget {
  std::string key;
};
// Records of another replica, for a new set of replicas. PageKept follows. Each record adds to the one here: the higher
// promise, the newer value and the longest lease count, and the job is leased for that long, to whomever it was.
struct Learned {
  uint64_t page = 0;
  std::vector<RegisterRecord> records;
};
using AcceptorEvent = std::variant<AcceptorStart, Asked, JobKept, Forget, Learned>;

// --- effects ---------------------------------------------------------------------------------------------------------

// Make it durable, then send JobKept with its number. Answers that depend on it come only after that.
struct KeepJob {
  uint64_t number = 0;
  RegisterRecord record;
};
struct DropJob {
  uint64_t number = 0;
  std::string key;
};
struct Reply {
  MemberId to;
  Answer answer;
};
// Informs a node that was refused because of a lease that the lease was given back. It may be lost.
struct TellFreed {
  MemberId to;
  std::string key;
};
// All of a page is durable. Not ok: perhaps it is not, and must be learned again.
struct PageKept {
  uint64_t page = 0;
  bool ok = true;
};
using AcceptorEffect = std::variant<KeepJob, DropJob, Reply, TellFreed, PageKept>;
using AcceptorEffects = std::vector<AcceptorEffect>;

class JobAcceptor {
 public:
  explicit JobAcceptor(JobAcceptorConfig config) : config_(config) {}

  void step(Instant now, const AcceptorEvent& event, AcceptorEffects& out);

  std::size_t jobs() const { return slots_.size(); }
  std::size_t bytes() const { return bytes_; }  // of the values of all
  // Passes each key, in order, to `visit`, which must not change them.
  template <class Visit>
  void for_each_key(Visit visit) const {
    for (const auto& [key, slot] : slots_) visit(key);
  }
  // A node holds the job, as far as this peer has promised it.
  bool is_leased(Instant now, const std::string& key) const;
  // The records after this key, of at most kMaxPageRecords and kMaxPageBytes.
  Records page(const std::string& after) const;
  // Nothing when it has never heard of it.
  const RegisterRecord* find(const std::string& key) const;

 private:
  static constexpr std::size_t kMaxHeld = 64;     // answers that wait for the disk, for each job
  static constexpr std::size_t kMaxWaiting = 16;  // nodes that wait for the end of a lease, for each job

  struct Held {
    MemberId to;
    Answer answer;
    uint64_t keep;  // until this is durable
  };
  struct Slot {
    RegisterRecord record;
    Instant leased_until;
    uint64_t wanted = 0;   // number of the newest KeepJob
    uint64_t durable = 0;  // the newest that was confirmed
    bool failed = false;   // the newest was not
    std::vector<Held> held;
    std::vector<MemberId> waiting;  // refused because of the lease
  };

  void start(Instant now, const AcceptorStart& start);
  void asked(Instant now, const Asked& asked, AcceptorEffects& out);
  void kept(const JobKept& kept, AcceptorEffects& out);
  void prepare(Instant now, Slot& slot, MemberId from, const Ask& ask, AcceptorEffects& out);
  void accept(Instant now, Slot& slot, const Accept& body, MemberId from, const Ask& ask, AcceptorEffects& out);
  void confirm(Instant now, Slot& slot, MemberId from, const Ask& ask, AcceptorEffects& out);
  void learn(Instant now, const Learned& learned, AcceptorEffects& out);
  void release(Instant now, Slot& slot, const Claim& claim, uint64_t write, AcceptorEffects& out);
  void lease(Instant now, Slot& slot, Duration span);
  void keep(Slot& slot, AcceptorEffects& out);
  void grant(Slot& slot, MemberId to, Answer answer, AcceptorEffects& out);
  Answer answer(const Slot& slot, const Ask& ask, Verdict verdict) const;

  JobAcceptorConfig config_;
  bool readable_ = false;
  std::map<std::string, Slot, std::less<>> slots_;
  std::size_t bytes_ = 0;
  uint64_t number_ = 0;
  std::map<uint64_t, std::string> keeping_;  // writes on their way to the disk
  std::multimap<uint64_t, uint64_t> paged_;  // of these writes, those that a page waits for
};

}  // namespace bellwether::registers

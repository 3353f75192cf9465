// `bellwether lead`: runs a command only while this process leads a key, and ends it before another process can lead.
// The parts: a campaign, the command under its guardian (guarded_command.h), hooks, a health command,
// and a journal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/journal/journal.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/scope.h"
#include "election/elector.h"
#include "election/elector_events.h"
#include "election/lease_timing.h"
#include "election/store/candidate.h"
#include "election/term_of_office.h"
#include "lead/run/candidate_host.h"

namespace bellwether::lead {

// The leader at the last observation.
struct LeaderSeen {
  election::LeaseRecord record;
  std::string evidence;
  Duration failover;          // how long the key showed no sign of life before; with a store: Elector::last_failover()
  std::string another_leads;  // why this process cannot lead now, for people; empty: the key is ours, or free
};

// One process's part in deciding who leads a key, by a store or by the votes of a group of such processes. It says when
// the work may begin and by when it must have ended. Its owner reports when the work has stopped, and whether it is
// sound. One thread, that of its runtime.
class Campaign {
 public:
  virtual ~Campaign() = default;
  // work_stopped() says when the work has stopped.
  class Listener : public election::TermListener {
   public:
    virtual void on_renewal_failed() {}
    virtual void on_leader_changed(const LeaderSeen& seen) = 0;
    // The leader was unknown for longer than one slow answer takes.
    virtual void on_unknown(const std::string& why) = 0;
    virtual void on_fail_open(bool /*open*/, const std::string& /*why*/, election::Epoch /*floor*/) {}
  };

  // Checks for every fault before the begin. Must succeed before any other call. It stands only with evidence of the
  // kinds that `wanted` requires. `listener` must outlive the campaign.
  virtual runtime::task<Status> open(const election::Evidence& wanted, Listener& listener) = 0;
  // Our name, as others see it.
  virtual const std::string& holder() const = 0;
  // Runs until the campaign has resigned and released everything. REQUIRES that the caller cancels `beside` only after
  // that. Returns the exit code of the process if nothing else has set one; 0: no fault. It has reported its faults
  // itself.
  virtual runtime::task<int> run(runtime::Scope& beside) = 0;
  // Releases the resources of run(); the coroutines beside it have ended.
  virtual void close() {}

  // How sound the guarded work is.
  virtual void good_evidence(election::EvidenceKind kind) = 0;
  virtual void bad_evidence(election::EvidenceKind kind, std::string why) = 0;
  // Gives the key up in good order, and does not stand again.
  virtual void resign(const std::string& cause) = 0;
  virtual void work_stopped() = 0;
  // How long after the end of the present term the work is killed: before another can lead.
  virtual Duration stop_grace() const = 0;
  // From when on others may lead, unless the term is renewed: later than any act of the work.
  virtual Instant lease_ends() const = 0;
  // Held by the command too while it runs; -1: nothing.
  virtual int claim_descriptor() const { return -1; }
};

struct LeadOptions {
  std::string via;  // the place of the election: a store's URL, vote:FILE or quorum:FILE
  std::string key;
  std::string holder;  // our name; empty: host:pid
  election::LeaseTiming timing;
  std::string region;
  Duration cross_region_wait;
  bool trust_empty = false;
  bool keep_epochs = true;    // remember on this machine which epochs were seen
  bool back_off = false;      // wait between elections that follow each other
  bool flap_damping = false;  // after many changes of leader, no candidate stands for a while
  bool may_mint_id = true;    // false: without a configured id the process does not start
  // The lease follows the duration of renewals, between these bounds.
  std::optional<election::AdaptiveSettings> lease_follows;

  std::vector<std::string> command;
  bool observe = false;               // no campaign, no command: only report the leader
  bool once = false;                  // end after the first term, however it ended
  bool nonblock = false;              // do not wait when another process leads
  std::optional<Duration> wait_most;  // for becoming leader
  int conflict_exit_code = 1;         // with nonblock, or after wait_most: another process leads
  bool close_lock = false;            // do not hand the descriptor that holds a host lock to the command
  int stop_signal = 15;
  std::optional<Duration>
      drain_most;  // for the command to stop in good order; else as long as the lease can be renewed

  std::string on_elected;  // shell commands
  std::string on_deposed;
  std::string on_leader_changed;
  std::string health_command;
  Duration health_every = Duration::seconds(5);
  std::optional<Duration>
      progress_within;     // the longest time between two writes of the command to BELLWETHER_PROGRESS_FD
  std::string disk_probe;  // a folder whose disk must answer

  std::string audit_file;
  std::string metrics_at;  // HOST:PORT of a page of metrics; empty: none
  bool json = false;
  int verbosity = 1;  // 0 quiet, 1 important events, 2 every decision
};

// Runs until the command has ended, a signal came, or waiting is over. The exit code of the process; the command's own
// where it ended by itself. REQUIRES that no other thread runs yet.
int run_leader(runtime::EpollRuntime& runtime, const LeadOptions& options);
// The same for an election without a store. This opens the audit log of `journal`.
int run_leader(runtime::EpollRuntime& runtime, const LeadOptions& options, Journal& journal, Campaign& campaign);

// The campaign of one process for a key in a store: a candidate (election/store/candidate.h), its name, and the epochs
// that this machine remembers.
class StoreCampaign final : public Campaign, public CandidateHost {
 public:
  // All must outlive it.
  StoreCampaign(runtime::EpollRuntime& runtime, const LeadOptions& options, Journal& journal)
      : CandidateHost(runtime, journal, options.lease_follows, options.timing.lease), options_(options) {}

  runtime::task<Status> open(const election::Evidence& wanted, Campaign::Listener& listener) override;
  const std::string& holder() const override { return holder_; }
  runtime::task<int> run(runtime::Scope& beside) override;
  void close() override;
  void resign(const std::string& cause) override { candidate_->resign({.cause = cause, .heir = {}, .stay_out = true}); }
  void work_stopped() override { candidate_->work_stopped(); }
  void good_evidence(election::EvidenceKind kind) override { candidate_->good_evidence(kind); }
  void bad_evidence(election::EvidenceKind kind, std::string why) override {
    candidate_->bad_evidence(kind, std::move(why));
  }
  Duration stop_grace() const override { return candidate_->elector().stop_grace(); }
  Instant lease_ends() const override { return candidate_->elector().lease_ends(); }
  int claim_descriptor() const override { return key_->claim_descriptor(); }

 private:
  void on_elected(const election::TermOfOffice& term) override { listener_->on_elected(term); }
  void on_renewed(Instant ends, Duration took) override;
  void on_drain(const std::string& cause) override { listener_->on_drain(cause); }
  void on_term_ended(const election::TermEnded& ended) override { listener_->on_term_ended(ended); }
  void on_leader_changed(const election::LeaseRecord& record, const std::string& evidence) override;
  void on_store_error(bool renewal, const std::string& why) override;
  void on_fail_open(bool open, const std::string& why) override;
  Status choose_name();
  runtime::task<Result<election::ElectorConfig>> configure();

  const LeadOptions& options_;
  Campaign::Listener* listener_ = nullptr;
  std::string holder_;
  bool elects_ = true;
  Instant began_;
};

}  // namespace bellwether::lead

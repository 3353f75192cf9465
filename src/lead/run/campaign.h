// One process's part in deciding who leads a key, by a store (leader_run.h) or by the votes of a group of such
// processes. It says when the work may begin and by when it must have ended. Its owner reports when the work has
// stopped, and whether it is sound. One thread, that of its runtime.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/runtime/scope.h"
#include "election/elector_events.h"
#include "election/store/candidate.h"
#include "election/term_of_office.h"

namespace bellwether::lead {

// The leader at the last observation.
struct LeaderSeen {
  election::LeaseRecord record;
  std::string evidence;
  Duration failover;          // the observed time without a leader before
  std::string another_leads;  // a text about it; empty: the key is ours, or free
};

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
  // Until it has resigned and given up everything; REQUIRES that `beside` is cancelled only after that. The exit code
  // of a process that need not have ended: 0 is good, and faults have been reported.
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

}  // namespace bellwether::lead

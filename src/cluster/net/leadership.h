// The leadership of a cluster, independent of its source: the votes of the nodes (election_driver.h), or a store that
// they delegate it to. A node stands through this interface, which hands out the term of office; guarded work cannot
// see the difference. One thread, that of the runtime.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/net/vote_view.h"
#include "core/runtime/runtime.h"
#include "election/quorum/quorum_events.h"
#include "election/term_of_office.h"

namespace bellwether::cluster {

class Leadership {
 public:
  // work_stopped() says when the work has stopped.
  class Listener : public election::TermListener {
   public:
    // Empty: no known leader. `term` is the fencing token of either source.
    virtual void on_leader_changed(const std::string& leader, election::Term term, const std::string& evidence) = 0;
    // With scored votes: an election in which this node took part is over: the winner (empty: none), its term, and why
    // it ended so.
    virtual void on_election_complete(const std::string&, election::Term, const std::string&) {}
    virtual void on_voters_changed(const std::vector<std::string>&) {}
    // After leave(): this node stands no more.
    virtual void on_retired() {}
    virtual void on_note(bool warning, const std::string& text) = 0;
  };

  struct Voter {
    std::string name;  // empty: its name is unknown here
    bool joining = false;
    bool leaving = false;
  };
  struct View {
    std::string decided_by;     // "quorum", or the store, without credentials
    std::vector<Voter> voters;  // none where a store decides
    std::string role;           // of this node, in the election's or store's words
    std::string stands_back;    // why it lets other nodes go first, or does not stand; empty: neither
    uint64_t term = 0;
    bool active = false;        // has the state of the group
    bool follows_only = false;  // has lost its record of votes
    bool changing = false;      // the voters are
  };

  virtual ~Leadership() = default;

  // Takes part until cancelled; a term that runs then ends at once.
  virtual runtime::task<void> run(runtime::Cancellation* cancel) = 0;
  // `now` is of the boot clock.
  virtual bool leads(Instant now) const = 0;
  // How long after the end of a term its work may still act.
  virtual Duration stop_grace() const = 0;
  virtual void work_stopped() = 0;
  // Whether this node may be elected, also before run(); it votes in any case, and a leader goes on leading. Where a
  // store decides, a fit node stands.
  virtual void stand(bool /*stands*/) {}
  virtual void set_health(const quorum::LocalHealth& health) = 0;
  // This node has the state of its group, and may lead before nodes without it.
  virtual void synced() {}
  // Membership suspects `leader`. Never a proof.
  virtual void suspect(const std::string& leader) = 0;
  // Begins to hand over to `heir`; to the fittest when it is empty. kRefused and kInvalid say why not.
  virtual Status hand_over(const std::string& cause, const std::string& heir) = 0;
  // Hands over if it leads, and stands no more.
  virtual void leave(const std::string& cause) = 0;
  // A gate or manager of this name exists; it may become a voter.
  virtual void learn(const std::string& /*name*/) {}
  // Begins to change the set of voters.
  virtual Status change_voters(bool add, const std::string& name) = 0;
  // Why this node can neither stand nor name the leader; empty: it can.
  virtual std::string obstacle() const = 0;
  // Whether this node could lead, as far as it knows itself.
  virtual bool electable() const = 0;
  // Whether others may need this node to elect the next leader.
  virtual bool votes() const = 0;
  virtual View view() const = 0;
  // Nothing where no scores are voted on.
  virtual std::optional<VoteView> last_vote() const { return std::nullopt; }
  // The last messages of a scored vote, the oldest first.
  virtual std::vector<VoteMessageView> vote_messages() const { return {}; }
  // An election at an operator's request; `forced`: also soon after the last one. kRefused says why none begins.
  virtual Status call_election(bool) {
    return fail(Errc::kUnsupported, "elections can be called only in scored votes (leadership: vote)");
  }
};

}  // namespace bellwether::cluster

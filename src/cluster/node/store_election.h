// The leadership of a cluster that a store decides: a candidate (election/store/candidate.h) for one key of it, which
// stands when this node is fit and its turn has come. The epoch of the key is the term. The candidate keeps the highest
// epoch that it saw, so that it notices a store that comes back with an older state.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/net/kv.h"
#include "cluster/net/leadership.h"
#include "core/base/callback.h"
#include "core/base/time.h"
#include "core/runtime/scope.h"
#include "election/store/candidate.h"

namespace bellwether::node {

// Which of the nodes that may lead stand for the key of their cluster. A store gives it to the first that asks, so fit
// nodes stand before unfit ones, and those of a higher priority before the others. This is only an order, and only for
// a while; the store keeps two nodes from leading. Pure.

// Another gate or manager that is alive.
struct Rival {
  std::string name;
  unsigned priority = 8;
  bool electable = false;  // as it says itself: it is fit, and reaches the source of leadership
  int health_score = 0;
  std::string decided_by;  // its source of leadership: "quorum", "etcd" …; empty: it does not say
};

struct Situation {
  std::string unfit;  // why this node is not fit to lead; empty: it is
  unsigned priority = 8;
  std::string decided_by;
  bool named = false;              // the last leader left the key to this node
  std::optional<Duration> vacant;  // for how long the store has shown no leader; nothing: it shows one
  Duration lease;                  // of the store
  std::span<const Rival> rivals;
};

// Why this node does not stand now; empty: it does.
std::string why_not_candidate(const Situation& now);
// Another node that leaves the decision to a different source: two leaders would be possible. Nothing: no such node.
const Rival* other_minded(std::span<const Rival> rivals, const std::string& decided_by);
// The node to hand over to; nothing when no other node is electable.
const Rival* fittest(std::span<const Rival> rivals);

struct StoreElectionSettings {
  std::string key;
  std::string self;        // this node's name
  std::string decided_by;  // the kind of store, for others
  unsigned priority = 8;
  election::LeaseTiming timing;
};

class StoreElection final : public cluster::Leadership, public lead::CandidateListener {
 public:
  using Rivals = Callback<std::vector<Rival>()>;

  // All must outlive it; `key` is of `store`. Without `kv` no epoch is kept over a restart. `seed` must differ between
  // nodes and starts.
  StoreElection(runtime::Runtime& runtime, store::LeaseStore& store, store::StoreKey& key, cluster::Kv* kv,
                Rivals rivals, StoreElectionSettings settings, uint64_t seed, Listener& listener);
  StoreElection(const StoreElection&) = delete;
  StoreElection& operator=(const StoreElection&) = delete;

  runtime::task<void> run(runtime::Cancellation* cancel) override;
  bool leads(Instant now) const override;
  Duration stop_grace() const override { return settings_.timing.stop_grace; }
  void work_stopped() override {
    if (candidate_ != nullptr) candidate_->work_stopped();
  }
  void set_health(const quorum::LocalHealth& health) override;
  void suspect(const std::string&) override {}  // only the store ends a lease
  Status hand_over(const std::string& cause, const std::string& heir) override;
  void leave(const std::string& cause) override;
  Status change_voters(bool add, const std::string& name) override;
  std::string obstacle() const override;
  bool electable() const override;
  bool votes() const override { return false; }
  View view() const override;

 private:
  void on_elected(const election::TermOfOffice& term) override;
  void on_renewed(Instant ends, Duration took) override { listener_.on_renewed(ends, took); }
  void on_drain(const std::string& cause) override { listener_.on_drain(cause); }
  void on_term_ended(const election::TermEnded& ended) override;
  void on_leader_changed(const election::LeaseRecord& record, const std::string& evidence) override;
  void on_store_error(bool renewal, const std::string& why) override;
  void on_floor(election::Epoch floor) override;
  void on_note(bool warning, const std::string& text) override { listener_.on_note(warning, text); }

  runtime::task<Result<election::Epoch>> recall();
  static runtime::task<void> keep(StoreElection* self, election::Epoch floor);
  runtime::task<void> look_round(runtime::Cancellation* cancel);
  // The store's state, the other nodes or this node's own state may have changed.
  void review();
  void step_down_when_unfit(Instant now);
  void tell_of_leader(Instant now);
  std::string why_nobody() const;

  runtime::Runtime& runtime_;
  store::LeaseStore& store_;
  store::StoreKey& key_;
  cluster::Kv* kv_;
  Rivals rivals_;
  const StoreElectionSettings settings_;
  const uint64_t seed_;
  Listener& listener_;
  std::unique_ptr<lead::Candidate> candidate_;  // while it takes part
  runtime::Scope* scope_ = nullptr;
  Instant began_;
  Instant stable_from_;  // of the present term: not before does it give way by itself
  std::string unfit_ = "this node has not joined its cluster yet";
  std::string why_not_;  // why it does not stand, as the candidate last learned
  std::optional<std::string> leave_cause_;
  std::optional<Instant> vacant_since_;
  std::string trouble_;  // of the store, since it was seen last
  Instant trouble_at_;
  std::string leader_;  // as last reported
  election::Epoch epoch_;
};

}  // namespace bellwether::node

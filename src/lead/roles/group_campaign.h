// The campaign of `bellwether lead` in a group without a store: this process is a node of the group, whose voters elect
// the leader by scores (cluster/vote/vote_driver.h) or by term and quorum (cluster/net/election_driver.h). The term is
// the epoch.
#pragma once

#include <optional>
#include <string>

#include "cluster/node/cluster_node.h"
#include "cluster/node/node_roles.h"
#include "core/journal/journal.h"
#include "core/runtime/event.h"
#include "lead/run/leader_run.h"

namespace bellwether::node {

class GroupCampaign final : public lead::Campaign {
 public:
  // All must outlive it. REQUIRES a node that elects its leader itself, and votes unless it only observes.
  GroupCampaign(runtime::Runtime& runtime, const lead::LeadOptions& options, const NodeOptions& node, Journal& journal)
      : runtime_(runtime), options_(options), node_options_(node), journal_(journal) {}

  runtime::task<Status> open(const election::Evidence& wanted, Listener& listener) override;
  const std::string& holder() const override { return node_options_.config.name; }
  // Checks files, ports and secrets; a fault in them is reported, and ends it.
  runtime::task<int> run(runtime::Scope& beside) override;
  void resign(const std::string& cause) override;
  void work_stopped() override;
  void good_evidence(election::EvidenceKind kind) override;
  void bad_evidence(election::EvidenceKind kind, std::string why) override;
  // Half of the time that the election leaves for it: the other half is for a guardian that wakes late.
  Duration stop_grace() const override { return left_for_work() / 2; }
  Instant lease_ends() const override { return ends_ + left_for_work(); }

 private:
  // Reports the node's terms.
  class Office;
  void on_taking_part(cluster::Leadership* election);
  void on_elected(const election::TermOfOffice& term);
  void on_renewed(Instant ends, Duration took);
  void on_drain(const std::string& cause) {
    if (in_office_) listener_->on_drain(cause);
  }
  void on_term_ended(const election::TermEnded& ended);
  void on_leader_changed(const std::string& leader, election::Term term, const std::string& evidence);
  // After the end of a term, by the election.
  Duration left_for_work() const { return election_ == nullptr ? Duration::zero() : election_->stop_grace(); }
  void weigh();
  void give_up(const std::string& why);
  runtime::task<void> lose_patience(runtime::Cancellation* cancel);

  runtime::Runtime& runtime_;
  const lead::LeadOptions& options_;
  const NodeOptions& node_options_;
  Journal& journal_;
  Listener* listener_ = nullptr;
  ClusterNode* node_ = nullptr;              // while it runs
  cluster::Leadership* election_ = nullptr;  // while it takes part
  election::Evidence evidence_;
  bool staying_out_ = false;
  std::optional<bool> stands_;  // the last value sent to the election
  bool in_office_ = false;      // as the listener knows
  bool working_ = false;
  runtime::Condition stopped_;  // working
  election::Epoch epoch_;
  Instant ends_;
  std::string leader_;
  std::optional<Instant> vacant_since_;
};

// As lead::run_leader(), with that campaign.
int run_group_leader(runtime::EpollRuntime& runtime, const lead::LeadOptions& options, const NodeOptions& node);

}  // namespace bellwether::node

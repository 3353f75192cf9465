// The node as a whole: what its parts tell it (node_events.cc), what it answers (node_desk.cc), and its life
// (cluster_node.cc). Private to these sources.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/context/context_driver.h"
#include "cluster/copies/copy_keeper.h"
#include "cluster/discovery/metrics.h"
#include "cluster/discovery/peer_cache.h"
#include "cluster/election_driver.h"
#include "cluster/front_desk.h"
#include "cluster/jobs/etcd_job_view.h"
#include "cluster/jobs/job_keeper.h"
#include "cluster/joining.h"
#include "cluster/membership_driver.h"
#include "cluster/vital_signs.h"
#include "cluster/vote/key_keeper.h"
#include "cluster/vote/resource_meter.h"
#include "journal/journal.h"
#include "node/cluster/admin_service.h"
#include "node/cluster/cluster_node.h"
#include "node/cluster/guarded_work.h"
#include "node/cluster/key_command.h"
#include "node/cluster/node_page.h"
#include "node/cluster/node_parts.h"
#include "node/cluster/node_probes.h"
#include "node/cluster/node_role.h"
#include "node/cluster/node_words.h"
#include "node/cluster/store_election.h"
#include "node/manager/manager_service.h"
#include "node/worker/worker_service.h"
#include "runtime/signals.h"
#include "web/http_server.h"

namespace bellwether::node {

class ManagerRole;

inline constexpr const char* kIncarnation = "membership/incarnation";  // of this node, in its Kv

class ClusterNode final : public NodeDesk,
                          public cluster::MembershipDriver::Listener,
                          public cluster::Leadership::Listener,
                          public cluster::KeyReceiver,
                          public KeyCommand::Listener,
                          public cluster::FitnessSource,
                          public Surroundings,
                          public Managers,
                          public ManagerService::Listener,
                          public WorkerService::Listener,
                          public copies::CopyKeeper::Listener,
                          public StoreElection::Rivals,
                          public cluster::ContextDriver::Listener,
                          public cluster::ContextDriver::Surroundings,
                          public cluster::PeerLinks::Listener,
                          public jobs::JobKeeper::Listener,
                          public jobs::EtcdJobView::Listener,
                          public cluster::VitalMeter::Listener,
                          public cluster::FrontDesk::Listener,
                          public link::RefusalListener,
                          public cluster::Switchboard::Doorkeeper,
                          public AdminService::Audit,
                          public NodePage::Figures {
 public:
  // `work`: what this process does while it leads. Such a node has no other role, and leaves the signals to its
  // process.
  ClusterNode(runtime::EpollRuntime& runtime, const NodeOptions& options, Journal& journal, GuardedWork* work = nullptr)
      : runtime_(runtime),
        options_(options),
        config_(options.config),
        journal_(journal),
        work_(work),
        started_(runtime.now()),
        meter_(runtime, *this),
        front_desk_(runtime, *this),
        probes_(runtime, *this) {}

  runtime::task<int> run();
  // Hands over and leaves, and then run() ends.
  void go(const std::string& cause);

  std::vector<MemberView> members() const override;
  LeaderView leader() const override;
  QuorumView quorum() const override;
  Result<cluster::VoteView> last_vote() const override;
  std::vector<cluster::VoteMessageView> vote_messages() const override {
    return election_ == nullptr ? std::vector<cluster::VoteMessageView>() : election_->vote_messages();
  }
  std::string degradation() const override { return to_string(membership_->kernel().degradation()); }
  int health_score() const override { return membership_->kernel().health_score(); }
  std::string not_ready() const override;
  bool joined() const override { return joined_; }
  std::string progress() const override { return role_ == nullptr ? std::string() : role_->progress(); }
  Result<std::string> leave(const std::string& who) override;
  Result<std::string> drain(const std::string& who) override;
  Result<std::string> transfer(const std::string& to) override;
  Result<std::string> call_election(bool forced) override;
  Result<std::string> change_voters(bool add, const std::string& name) override;
  Result<std::string> learn_secret(std::string secret) override;
  Result<std::string> use_secret(uint32_t id) override;
  Result<std::string> forget_secret(uint32_t id) override;
  std::vector<uint32_t> secrets() const override { return parts_->keyring.ids(); }

 private:
  void on_member(const membership::MemberEvent& event) override;
  void on_state(const membership::StateArrived& state) override;
  void on_conflict(const membership::Conflict& conflict) override;
  void on_name_taken(const runtime::Endpoint& holder) override;
  void on_joined(std::size_t members) override;
  void on_left() override;
  void on_incarnation(uint32_t incarnation) override;
  void on_degraded(const membership::DegradationChanged& changed) override;
  void on_guard(const membership::GuardChanged& guard) override;

  void on_elected(const election::TermOfOffice& term) override;
  void on_renewed(Instant ends, Duration took) override;
  void on_drain(const std::string& cause) override;
  void on_term_ended(const election::TermEnded& ended) override;
  void on_leader_changed(const std::string& leader, election::Term term, const std::string& evidence) override;
  void on_election_complete(const std::string& winner, election::Term term, const std::string& why) override;
  void on_voters_changed(const std::vector<std::string>& voters) override;
  void on_retired() override { retired_ = true; }
  void on_note(bool warning, const std::string& text) override;
  void on_admin_key(const election::TermOfOffice& term, secret::SecretBytes key) override;
  void on_key_command_gone() override { election_->work_stopped(); }
  void on_key_command_note(bool warning, const std::string& text) override { on_note(warning, text); }
  std::vector<Rival> rivals() const override;
  std::optional<cluster::PeerAddress> find(const std::string& name) const override { return membership_->find(name); }
  std::string self() const override { return config_.name; }
  std::string leader_name() const override { return leader_; }
  bool leads() const override;
  std::vector<std::string> manager_names() const override;
  std::vector<cluster::PeerAddress> managers() const override;
  bool is_gone(const std::string& name) const override;
  std::vector<Neighbour> neighbours() const override;
  bool is_suspect(const std::string& name) const override;
  void on_job_says(const std::string& job, const std::string& event, const std::string& text, bool warning) override;
  void on_context_says(const std::string& event, const std::string& text, bool warning) override;
  std::map<std::string, double> node_healths() const override;
  std::optional<cluster::ContextFitness> fitness(const cluster::ContextWork& work) const override;
  std::optional<double> context_fitness() const override;
  void on_worker_note(bool warning, const std::string& text) override { on_note(warning, text); }

  void on_refused(const cluster::PeerAddress& peer) override;
  void on_trouble(const cluster::PeerAddress& peer, const Error& why) override;
  void on_refused(wire::Refusal refusal, const runtime::Endpoint& from, std::string_view detail,
                  uint64_t unheard) override;
  void on_mismatch(wire::Refusal refusal, const wire::Mismatch& names) override;
  // Its datagrams need no challenge then.
  void on_open(link::Connection& connection) override { parts_->datagrams->introduce(connection.peer()); }
  void on_loop_lag(double ratio) override {
    membership_->tell(membership::LoopLag{ratio});
    front_desk_.on_loop_lag(ratio);
  }
  void on_load_changed(resilience::LoadState state, std::string_view reason) override;
  void on_vital_signs(const cluster::VitalSigns& signs) override;
  void on_act(const std::string& by, const std::string& what, const std::string& outcome) override;
  std::vector<Figure> figures() const override;

  runtime::task<Status> prepare();
  runtime::task<Result<cluster::Joining::Way>> find_cluster(runtime::Cancellation* cancel);
  runtime::task<void> make_membership(const cluster::Joining::Way& way);
  runtime::task<std::vector<runtime::Endpoint>> resolve_seeds();
  runtime::task<void> take_part(cluster::Joining::Way way);
  runtime::task<void> listen_to_signals(runtime::Cancellation* cancel);
  runtime::task<void> remember_peers(runtime::Cancellation* cancel);
  runtime::task<void> depart();
  static runtime::task<void> drain_and_leave(ClusterNode* self);
  runtime::task<void> resign();
  runtime::task<void> remember(std::string key, std::string value);
  void make_election();
  void make_registers();
  runtime::task<Status> make_role();
  Status make_context(ManagerRole& role);
  std::vector<Figure> context_figures() const;
  std::string unfit() const;
  void compare_decisions(const membership::MemberEvent& event);
  void tell_health();
  void tell_state();
  void stop_work();
  void say(std::string_view event, const std::string& text, Journal::Fields more = {});

  runtime::EpollRuntime& runtime_;
  const NodeOptions& options_;
  const cluster::NodeConfig& config_;
  Journal& journal_;
  GuardedWork* work_;  // nothing: a node on its own
  Instant started_;
  cluster::VitalMeter meter_;
  cluster::FrontDesk front_desk_;
  std::unique_ptr<runtime::Signals> signals_;
  std::unique_ptr<NodeParts> parts_;
  std::unique_ptr<cluster::PeerLinks> links_;
  std::unique_ptr<cluster::MembershipDriver> membership_;
  std::unique_ptr<cluster::ResourceMeter> resources_;  // of one who votes by scores, or leads contexts
  std::unique_ptr<cluster::Leadership> election_;      // nothing: it follows whoever says that it leads
  std::unique_ptr<KeyCommand> key_command_;
  std::unique_ptr<jobs::JobLines> job_lines_;
  std::unique_ptr<jobs::JobKeeper> job_keeper_;  // of a keeper, unless an etcd has the registers
  std::unique_ptr<NodeRole> role_;
  std::unique_ptr<cluster::ContextDriver> context_;  // of one that leads contexts; uses the role
  std::unique_ptr<AdminService> admin_;
  NodeProbes probes_;
  std::unique_ptr<NodePage> page_;
  std::unique_ptr<web::HttpServer> http_;
  discovery::Metrics discovery_;
  discovery::PeerCache peers_;
  runtime::Scope* scope_ = nullptr;  // of all that runs while it takes part
  runtime::Cancellation* joining_ = nullptr;
  runtime::Event leaving_;  // somebody wants it to go, or it must
  runtime::Event gone_;     // from the group
  runtime::Cancellation* winding_up_ = nullptr;
  bool draining_ = false;
  bool retired_ = false;  // stands for the leadership no more
  std::string leave_cause_;

  bool joined_ = false;
  int exit_code_ = 0;
  cluster::VitalSigns vital_;
  std::map<std::string, Instant> since_;  // of members in their present state
  std::map<std::string, PeerState> states_;
  election::TermOfOffice term_;  // of this node; over when its end says so
  std::string leader_;
  uint64_t leader_term_ = 0;
  Instant leader_since_;
  std::string leader_evidence_ = "nobody has been heard of yet";
  uint64_t changes_ = 0;
  std::map<std::string, uint64_t> member_changes_;
};

}  // namespace bellwether::node

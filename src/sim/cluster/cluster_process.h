// The process of one simulated node: the product's drivers (src/cluster) with its links (src/wire/link) on a simulated
// runtime, as `bellwether node` puts them together, without its pages and commands. Made anew at each start.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/discovery/metrics.h"
#include "cluster/election_driver.h"
#include "cluster/joining.h"
#include "cluster/membership_driver.h"
#include "runtime/event.h"
#include "sim/cluster/cluster_mistake.h"
#include "sim/cluster/sim_kv.h"
#include "wire/link/server.h"

namespace bellwether::sim {

class ClusterProcess;

// What a node is told by people, and where its process is found while it runs. Outlives all processes of the node.
struct ClusterPlace {
  class Watcher {
   public:
    virtual ~Watcher() = default;
    virtual void saw(const ClusterPlace& place, const std::string& text) = 0;
    virtual void elected(ClusterPlace& place, uint64_t term) = 0;
  };
  std::size_t index = 0;
  std::string name;
  runtime::Endpoint at;
  std::vector<HostPort> seeds;
  std::vector<std::string> voters;
  bool founds = false;  // an operator says that this is the first node, when it starts for the first time
  bool lost = false;    // its disk was replaced: what it had voted is not known any more
  ClusterMistake mistake = ClusterMistake::kNone;
  StoredKeys* stored = nullptr;
  Watcher* watcher = nullptr;
  std::string heir_wanted;  // of a leader that is asked to hand over; empty: anybody
  uint32_t starts = 0;
  ClusterProcess* process = nullptr;  // nullptr: none runs
};

// For Node::start(); `context` is a ClusterPlace. Ends when the node is asked to leave, or when another process bears
// its name.
runtime::task<void> run_cluster_process(runtime::Runtime& runtime, void* context);

class ClusterProcess final : public cluster::MembershipDriver::Listener,
                             public cluster::ElectionDriver::Listener,
                             public cluster::ElectionDriver::Addresses,
                             public cluster::PeerLinks::Listener,
                             public cluster::Switchboard::Doorkeeper {
 public:
  ClusterProcess(runtime::Runtime& runtime, ClusterPlace& place);
  ~ClusterProcess() override;
  ClusterProcess(const ClusterProcess&) = delete;
  ClusterProcess& operator=(const ClusterProcess&) = delete;

  runtime::task<void> run();

  // For the world, which looks from outside, by the machine's boot clock.
  bool leads(Instant boot) const { return election_ != nullptr && election_->kernel().leads(boot); }
  uint64_t term() const { return election_ == nullptr ? 0 : election_->kernel().term().value(); }
  // Empty: nobody, as far as it knows.
  std::string leader() const;
  bool takes_part() const { return election_ != nullptr && election_->kernel().takes_part(); }
  // Of all that it knows, itself included.
  std::size_t alive() const;
  // Something of the guarded work may act at this time.
  bool may_act(Instant boot) const { return working_ && (careless_ || boot < stop_by()); }
  // Its disk does nothing any more until it is opened again.
  bool disk_is_broken() const { return kv_.broken(); }
  void ask_to_step_down(const std::string& heir);
  // In good order, as `bellwether node` does it: the process ends soon.
  void ask_to_leave();
  bool leaves() const { return leaving_; }

 private:
  void on_member(const membership::MemberEvent& event) override;
  void on_conflict(const membership::Conflict&) override {}
  void on_name_taken(const runtime::Endpoint& holder) override;
  void on_joined(std::size_t members) override;
  void on_left() override { left_ = true; }
  void on_incarnation(uint32_t incarnation) override;
  void on_elected(const election::TermOfOffice& term) override;
  void on_drain(const std::string& cause) override;
  void on_term_ended(const election::TermEnded& ended) override;
  void on_leader_changed(const std::string& leader, election::Term term, const std::string& evidence) override;
  void on_note(bool warning, const std::string& text) override;
  std::optional<cluster::PeerAddress> find(const std::string& name) const override { return membership_->find(name); }
  void on_refused(const cluster::PeerAddress& peer) override;
  void on_trouble(const cluster::PeerAddress& peer, const Error& why) override;
  void on_open(link::Connection& connection) override { datagrams_->introduce(connection.peer()); }

  runtime::task<Result<cluster::Joining::Way>> find_cluster(runtime::Cancellation* cancel);
  runtime::task<void> make_drivers();
  static runtime::task<void> remember(ClusterProcess* self, std::string incarnation);
  static runtime::task<void> depart(ClusterProcess* self);
  static runtime::task<void> stop_work(ClusterProcess* self, uint64_t work, Duration after);
  Instant stop_by() const;
  void say(const std::string& text) { place_.watcher->saw(place_, text); }

  runtime::Runtime& runtime_;
  ClusterPlace& place_;
  bool careless_;
  SimKv kv_;
  wire::Keyring keyring_;
  link::RefusalWatch refusals_{nullptr};
  cluster::Switchboard switchboard_;
  link::DialSettings dialling_;
  discovery::Metrics discovery_;
  std::unique_ptr<link::Datagrams> datagrams_;
  std::unique_ptr<link::Server> server_;
  std::unique_ptr<cluster::PeerLinks> links_;
  std::unique_ptr<cluster::MembershipDriver> membership_;
  std::unique_ptr<cluster::ElectionDriver> election_;
  runtime::Event over_;
  bool leaving_ = false;
  bool left_ = false;

  bool working_ = false;
  uint64_t work_ = 0;
  std::optional<Instant> ended_by_;  // of a term that is over: the end of its last act
  runtime::Scope scope_;             // last: its coroutines use everything above
};

}  // namespace bellwether::sim

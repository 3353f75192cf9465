// A simulated node of a cluster with its port, links and membership, and with what it is for: sim_manager.h,
// sim_worker.h. Made anew at each start.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/discovery/metrics.h"
#include "cluster/front_desk.h"
#include "cluster/joining.h"
#include "cluster/membership_driver.h"
#include "node/manager/surroundings.h"
#include "node/worker/managers.h"
#include "runtime/event.h"
#include "sim/datacenter/datacenter_stage.h"
#include "wire/link/server.h"

namespace bellwether::sim {

// What all nodes of the simulated cluster know.
wire::Keyring keyring_of_datacenter();
inline constexpr const char* kDatacenterCluster = "flock";
inline constexpr const char* kDatacenterName = "dc1";

class SimManager;
class SimWorker;

// What a node is for.
class MemberRole {
 public:
  virtual ~MemberRole() = default;
  virtual runtime::task<void> work(runtime::Cancellation* cancel) = 0;
  // The node is about to leave.
  virtual runtime::task<void> wind_up(Instant deadline, runtime::Cancellation* cancel) = 0;
  virtual void on_gone(const std::string&, const std::string&) {}
  virtual void on_there(const std::string&) {}
  virtual void on_suspected(const std::string&) {}
  virtual std::string leader_name() const { return {}; }
  virtual bool leads() const { return false; }
  virtual SimManager* manager() { return nullptr; }
  virtual SimWorker* worker() { return nullptr; }
};

struct MemberParts {
  runtime::Runtime& runtime;
  DatacenterPlace& place;
  cluster::PeerLinks& links;
  cluster::Switchboard& switchboard;
  node::Surroundings& surroundings;
  const node::Managers& managers;
  const membership::Membership& members;
};

// For Node::start(); `context` is a DatacenterPlace. It ends when it is asked to leave, or when another process bears
// its name.
runtime::task<void> run_manager_process(runtime::Runtime& runtime, void* context);
runtime::task<void> run_worker_process(runtime::Runtime& runtime, void* context);

class MemberProcess final : public node::Surroundings,
                            public node::Managers,
                            public cluster::MembershipDriver::Listener,
                            public cluster::PeerLinks::Listener,
                            public cluster::Switchboard::Doorkeeper,
                            public cluster::FrontDesk::Listener {
 public:
  using MakeRole = std::unique_ptr<MemberRole> (*)(const MemberParts& parts);

  MemberProcess(runtime::Runtime& runtime, DatacenterPlace& place, wire::Role kind, MakeRole make_role);
  ~MemberProcess() override;
  MemberProcess(const MemberProcess&) = delete;
  MemberProcess& operator=(const MemberProcess&) = delete;

  runtime::task<void> run();
  // In good order, as `bellwether node` does it: the process ends soon.
  void ask_to_leave();
  bool leaves() const { return leaving_; }
  // nullptr: it is none, or has not found its cluster yet.
  SimManager* manager() { return role_ == nullptr ? nullptr : role_->manager(); }
  SimWorker* worker() { return role_ == nullptr ? nullptr : role_->worker(); }
  // Of all members that it knows, those that are there, itself included.
  std::size_t alive() const;

 private:
  std::optional<cluster::PeerAddress> find(const std::string& name) const override { return membership_->find(name); }
  std::string self() const override { return place_.name; }
  std::string leader_name() const override { return role_ == nullptr ? std::string() : role_->leader_name(); }
  bool leads() const override { return role_ != nullptr && role_->leads(); }
  std::vector<std::string> manager_names() const override;
  bool is_gone(const std::string& name) const override;
  std::vector<Neighbour> neighbours() const override;
  bool is_suspect(const std::string& name) const override;
  std::vector<cluster::PeerAddress> managers() const override;

  void on_member(const membership::MemberEvent& event) override;
  void on_conflict(const membership::Conflict&) override {}
  void on_name_taken(const runtime::Endpoint& holder) override;
  void on_joined(std::size_t members) override { say("has joined, " + std::to_string(members) + " members"); }
  void on_left() override { left_ = true; }
  void on_refused(const cluster::PeerAddress& peer) override;
  void on_trouble(const cluster::PeerAddress&, const Error&) override {}
  void on_open(link::Connection& connection) override { datagrams_->introduce(connection.peer()); }
  void on_load_changed(resilience::LoadState, std::string_view) override {}

  void open_port();
  runtime::task<cluster::Joining::Way> find_cluster(runtime::Cancellation* cancel);
  void make_membership();
  std::vector<runtime::Endpoint> other_seeds() const;
  static runtime::task<void> depart(MemberProcess* self);
  void say(const std::string& text) { place_.stage->watcher->saw(place_, text); }

  runtime::Runtime& runtime_;
  DatacenterPlace& place_;
  wire::Role kind_;
  MakeRole make_role_;
  wire::Keyring keyring_;
  link::RefusalWatch refusals_{nullptr};
  cluster::Switchboard switchboard_;
  cluster::FrontDesk front_desk_;
  link::DialSettings dialling_;
  discovery::Metrics discovery_;
  std::unique_ptr<link::Datagrams> datagrams_;
  std::unique_ptr<link::Server> server_;
  std::unique_ptr<cluster::PeerLinks> links_;
  std::unique_ptr<cluster::MembershipDriver> membership_;
  std::unique_ptr<MemberRole> role_;
  runtime::Event over_;
  bool leaving_ = false;
  bool left_ = false;
  runtime::Scope scope_;  // last: its coroutines use everything above
};

}  // namespace bellwether::sim

// Five peers that keep registers of jobs, in this process: threads, sockets of the loopback interface and SQLite files.
#pragma once

#include <array>
#include <map>

#include "cluster/net/kv.h"
#include "cluster/replication/job_world_testing.h"
#include "cluster/replication/quorum_job_store.h"
#include "cluster/replication/register_replica.h"
#include "cluster/wire/link/link_testing.h"
#include "core/runtime/temporary_testing.h"

namespace bellwether::jobs {

// Where nodes are, for all threads.
class AddressBook final {
 public:
  std::optional<cluster::PeerAddress> find(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(name);
    if (found == places_.end()) return std::nullopt;
    return cluster::PeerAddress{name, found->second};
  }
  void set(const std::string& name, runtime::Endpoint at) {
    const std::lock_guard lock(mutex_);
    places_[name] = at;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, runtime::Endpoint> places_;
};

// The parts of one node. All its functions run on the node's thread.
class Peer final {
 public:
  Peer(runtime::Runtime& runtime, std::string name, std::vector<std::string> peers, AddressBook& book, std::string disk,
       wire::Role role = wire::Role::kManager)
      : runtime_(runtime), name_(std::move(name)), peers_(std::move(peers)), book_(book), disk_(std::move(disk)) {
    dialling_.handshake = link::test_node(name_, role);
    dialling_.connect_timeout = Duration::seconds(1);
    serving_.handshake = link::test_node(name_, role);
  }

  std::unique_ptr<QuorumJobStore> store;
  std::unique_ptr<RegisterReplica> replica;
  std::unique_ptr<registers::Lines> lines;
  std::unique_ptr<cluster::Kv> kv;
  std::vector<std::string> notes;

  runtime::task<int> start(Duration lease, bool keeps, bool first_start) {
    auto made = link::Server::listen(runtime_, at_, serving_, keys_, router_, refusals_);
    check(made.has_value(), "the loopback interface has ports");
    server_ = std::move(*made);
    at_ = server_->local();
    book_.set(name_, at_);
    scope_ = std::make_unique<runtime::Scope>();
    scope_->spawn(server_->serve(scope_->cancellation()));
    links_ = std::make_unique<cluster::PeerLinks>(runtime_, dialling_, keys_, router_, refusals_);
    lines = std::make_unique<registers::Lines>(*links_, router_, callback_to<&AddressBook::find>(book_), name_, peers_);
    JobSettings settings;
    settings.lease = lease;
    store = std::make_unique<QuorumJobStore>(runtime_, *lines, settings, runtime_.prng().next());
    if (keeps) co_await start_replica(first_start);
    co_return 0;
  }
  runtime::task<int> start_replica(bool first_start) {
    auto opened = co_await cluster::open_sqlite_kv(runtime_, disk_);
    check(opened.has_value(), "a peer's disk opens");
    kv = std::move(*opened);
    ReplicaSettings settings;
    settings.first_start = first_start;
    replica = std::make_unique<RegisterReplica>(runtime_, *kv, *lines, settings, callback_to<&Peer::on_note>(*this));
    keeping_ = std::make_unique<runtime::Scope>();
    keeping_->spawn(replica->run(keeping_->cancellation()));
    co_return 0;
  }
  runtime::task<int> stop_replica() {
    if (keeping_ != nullptr) {
      keeping_->cancel();
      co_await keeping_->join();
    }
    keeping_.reset();
    replica.reset();
    kv.reset();
    co_return 0;
  }
  // `crash`: no other node hears of it.
  runtime::task<int> stop(bool crash) {
    if (crash) co_await links_->close(Duration::millis(1));
    if (store != nullptr) co_await store->close(Duration::seconds(1));
    co_await stop_replica();
    if (!crash) co_await links_->close(Duration::millis(200));
    scope_->cancel();
    co_await scope_->join();
    store.reset();
    lines.reset();
    links_.reset();
    server_.reset();
    co_return 0;
  }
  runtime::Endpoint at() const { return at_; }
  const cluster::MessageRouter& router() const { return router_; }

 private:
  void on_note(bool, const std::string& text) { notes.push_back(text); }

  runtime::Runtime& runtime_;
  std::string name_;
  std::vector<std::string> peers_;
  AddressBook& book_;
  std::string disk_;
  wire::Keyring keys_ = link::test_keyring();
  link::RefusalWatch refusals_;
  link::DialSettings dialling_;
  link::ServerSettings serving_;
  cluster::MessageRouter router_;
  runtime::Endpoint at_{runtime::IpAddress::loopback(), 0};
  std::unique_ptr<link::Server> server_;
  std::unique_ptr<cluster::PeerLinks> links_;
  std::unique_ptr<runtime::Scope> scope_;
  std::unique_ptr<runtime::Scope> keeping_;
};

class QuorumWorld final : public World {
 public:
  explicit QuorumWorld(Duration lease) : lease_(lease) {
    for (std::size_t i = 0; i < kPeers; ++i) {
      nodes_[i] = std::make_unique<Node>();
      make(i, *nodes_[i], peers_[i]);
    }
    for (std::size_t i = 0; i < kPeers; ++i) start(i, true);
  }
  ~QuorumWorld() override {
    for (std::size_t i = 0; i < kPeers; ++i) {
      stop(i, false);
      nodes_[i]->act([&] { peers_[i].reset(); });
    }
  }

  Node& node(std::size_t which) override { return *nodes_[which]; }
  Peer& peer(std::size_t which) { return *peers_[which]; }

  std::unique_ptr<Node> second_life(std::size_t which) override {
    auto node = std::make_unique<Node>();
    make(which, *node, second_);
    node->run([this] { return second_->start(lease_, false, false); });
    node->store = second_->store.get();
    return node;
  }
  void reach_first_life(std::size_t which) override { book_.set(name(which), peers_[which]->at()); }
  void end_second_life(std::unique_ptr<Node> node) override {
    node->run([this] { return second_->stop(true); });
    node->act([this] { second_.reset(); });
  }

  bool obey(const std::string& what) override {
    if (what == "minority-down") {
      stop(3, true), stop(4, true);
    } else if (what == "majority-down") {
      stop(2, true), stop(3, true), stop(4, true);
    } else if (what == "all-up") {
      for (std::size_t i = 0; i < kPeers; ++i) start(i, false);
    } else if (what == "restart-in-turn") {
      for (std::size_t i = kPeers; i-- > 0;) restart_replicas({i});
    } else if (what == "restart-all") {
      restart_replicas({0, 1, 2, 3, 4});
    } else {
      return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kPeers = 5;
  static std::string name(std::size_t which) { return "m" + std::to_string(which + 1); }

  void make(std::size_t which, Node& node, std::unique_ptr<Peer>& peer) {
    const std::vector<std::string> names{"m1", "m2", "m3", "m4", "m5"};
    node.act([&] {
      peer = std::make_unique<Peer>(node.runtime(), name(which), names, book_, folder_.path() + "/" + name(which));
    });
  }
  void start(std::size_t which, bool first) {
    if (std::exchange(up_[which], true)) return;
    nodes_[which]->run([&] { return peers_[which]->start(lease_, true, first); });
    nodes_[which]->store = peers_[which]->store.get();
  }
  void stop(std::size_t which, bool crash) {
    if (!std::exchange(up_[which], false)) return;
    nodes_[which]->run([&] { return peers_[which]->stop(crash); });
  }
  // They forget everything that is not on their disks.
  void restart_replicas(const std::vector<std::size_t>& which) {
    for (const std::size_t i : which) nodes_[i]->run([&] { return peers_[i]->stop_replica(); });
    for (const std::size_t i : which) nodes_[i]->run([&] { return peers_[i]->start_replica(false); });
  }

  Duration lease_;
  runtime::TemporaryFolder folder_;
  AddressBook book_;
  std::array<std::unique_ptr<Node>, kPeers> nodes_;
  std::array<std::unique_ptr<Peer>, kPeers> peers_;
  std::unique_ptr<Peer> second_;
  std::array<bool, kPeers> up_{};
};

}  // namespace bellwether::jobs

// A group of members in virtual time: the product's Membership in each node, a network between them with delays and
// losses, links that can be cut one way, and processes that crash, restart and stall. Made for 3 to 10,000 nodes on one
// core: packets are moved as values, nodes share one directory, and only kernels run.
//
// The worlds that drive it decide the events, and a Watcher that sees every effect makes the assertions.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "cluster/membership/membership.h"
#include "core/base/prng.h"
#include "core/base/time.h"

namespace bellwether::sim {

// The kind of slowness of a process. kBlocked: it runs, its timers fire, but its messages in both directions wait until
// the end (how Lifeguard's authors made slow members). kStopped: nothing of it runs (SIGSTOP, a starved processor).
enum class Stall : uint8_t { kNone, kBlocked, kStopped };

struct MemberWorldSettings {
  membership::Figures figures;
  uint64_t seed = 1;
  Duration latency_min = Duration::micros(200);
  Duration latency_max = Duration::micros(800);
  double loss = 0;
  double duplicates = 0;
  std::size_t inbox = 1024;  // packets that wait for a stalled process; more are lost
};

struct Traffic {
  uint64_t messages = 0;
  uint64_t bytes = 0;  // on the wire: with 28 of IP and UDP and 29 of the sealed envelope a datagram
};

class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void saw(std::size_t node, const membership::Effect& effect, Instant world) = 0;
  // Stands in the network's way, where it makes a mistake: may change the datagram; false: it is lost.
  virtual bool passes(std::size_t /*from*/, std::size_t /*to*/, std::string& /*bytes*/) { return true; }
};

class MemberWorld {
 public:
  explicit MemberWorld(MemberWorldSettings settings);

  // Adds a node that is not running. Its address is its own; its name need not be.
  std::size_t add(std::string name, uint8_t role = 0);
  // Starts its process: joins through `seeds`, or takes `remembered` for the present view.
  void start(std::size_t node, const std::vector<std::size_t>& seeds, std::vector<membership::Update> remembered = {},
             uint32_t incarnation = 0);
  // All nodes at once, each knowing all: how a large world begins.
  void start_all_acquainted();
  void crash(std::size_t node);
  void tell(std::size_t node, const membership::Event& event) {
    if (running(node)) step(node, event);
  }
  void stall(std::size_t node, Stall kind, Duration span);
  void cut(std::size_t from, std::size_t to, bool cut);  // one direction
  void heal_links() { cuts_.clear(); }
  void set_loss(double loss) { settings_.loss = loss; }
  void set_clock_rate(std::size_t node, double rate) { nodes_[node].rate = rate; }

  void run_until(Instant end);

  Instant now() const { return now_; }
  Prng& prng() { return prng_; }
  const Prng& draws() const { return prng_; }
  std::size_t size() const { return nodes_.size(); }
  bool running(std::size_t node) const { return nodes_[node].kernel != nullptr; }
  bool stalled(std::size_t node) const { return nodes_[node].stall != Stall::kNone; }
  const membership::Membership& kernel(std::size_t node) const { return *nodes_[node].kernel; }
  const std::string& name(std::size_t node) const { return nodes_[node].name; }
  membership::NodeId id(std::size_t node) const { return nodes_[node].id; }
  uint32_t life(std::size_t node) const { return nodes_[node].life; }
  static membership::Endpoint endpoint(std::size_t node);
  const Traffic& traffic() const { return traffic_; }
  uint64_t events() const { return sequence_; }
  uint64_t fingerprint() const { return fingerprint_; }
  void watch(Watcher* watcher) { watcher_ = watcher; }
  // A datagram that no kernel sent.
  void inject(std::size_t from, std::size_t to, std::string bytes);

 private:
  enum class Kind : uint8_t { kTick, kDatagram, kAsked, kAnswered, kFailed, kStallEnds };
  struct Due {
    int64_t at;
    uint64_t sequence;
    uint32_t node;
    uint32_t process;  // to which start of the node it belongs
    uint32_t item;
    Kind kind;
    bool operator>(const Due& o) const { return at != o.at ? at > o.at : sequence > o.sequence; }
  };
  struct Item {
    std::size_t from = 0;
    std::size_t to = 0;
    uint64_t exchange = 0;
    std::string bytes;
  };
  struct Held {
    Kind kind;
    uint32_t item;
  };
  struct Node {
    std::string name;
    membership::NodeId id;
    uint8_t role = 0;
    std::unique_ptr<membership::Membership> kernel;
    uint32_t process = 0;
    uint32_t life = 0;
    double rate = 1;
    int64_t tick_at = INT64_MAX;
    Stall stall = Stall::kNone;
    int64_t stall_ends = 0;
    std::vector<Held> inbox;
    std::vector<Held> outbox;
  };

  void push(Instant at, std::size_t node, Kind kind, uint32_t item = 0);
  uint32_t item(Item item);
  void handle(const Due& due);
  void arrive(std::size_t index, Kind kind, uint32_t item);
  void step(std::size_t node, const membership::Event& event);
  void carry_out(std::size_t node);
  void transmit(std::size_t node, Kind kind, uint32_t item);
  void set_wake(std::size_t node);
  void end_stall(std::size_t node);
  bool is_cut(std::size_t from, std::size_t to) const;
  Duration latency() { return prng_.between(settings_.latency_min, settings_.latency_max); }
  Instant local(const Node& node) const {
    return Instant::from_ns(static_cast<int64_t>(static_cast<double>(now_.ns()) * node.rate));
  }

  MemberWorldSettings settings_;
  Prng prng_;
  membership::Directory directory_;
  std::vector<Node> nodes_;
  std::vector<std::vector<uint8_t>> cuts_;  // [from][to]; empty while no link is cut
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::deque<Item> items_;  // references stay good while more come
  std::vector<uint32_t> free_items_;
  membership::Effects effects_;
  Instant now_;
  uint64_t sequence_ = 0;
  uint64_t fingerprint_ = 0;
  Traffic traffic_;
  Watcher* watcher_ = nullptr;
};

}  // namespace bellwether::sim

// The network between simulated nodes: the owners of addresses and names, and the fate of a packet. Every transfer is a
// packet (sockets.h, tcp.h): it arrives after a while, not at all, twice, or after a later one.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/runtime/address.h"
#include "sim/timeline.h"

namespace bellwether::sim {

class Node;

// One direction between two nodes.
struct Link {
  Duration latency_min = Duration::micros(100);
  Duration latency_max = Duration::millis(1);
  double loss = 0;
  double duplicate = 0;
  double reorder = 0;                           // probability of a further delay, so that later packets overtake
  Duration reorder_max = Duration::millis(20);  // the longest such delay
  uint64_t bytes_per_second = 0;                // 0: without bound
};

class Network {
 public:
  explicit Network(Timeline& timeline) : timeline_(timeline) {}
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // For all pairs of nodes that have no link of their own.
  void set_links(const Link& link) { common_ = link; }
  void set_link(const Node& from, const Node& to, const Link& link) { links_.insert_or_assign(pair(from, to), link); }

  // No packet goes from `from` to `to`; packets on their way are lost. The other direction is not touched.
  void block(const Node& from, const Node& to) { blocked_.insert(pair(from, to)); }
  void unblock(const Node& from, const Node& to) { blocked_.erase(pair(from, to)); }
  void block_both_ways(const Node& a, const Node& b);
  // Cuts `node` off from all others, both ways; others that join later included.
  void isolate(const Node& node);
  bool is_isolated(const Node& node) const;
  // Ends all blocks and isolations; links keep their settings.
  void heal();

  // A node may have several addresses. REQUIRES that no other node has it.
  void add_address(Node& node, runtime::IpAddress address);
  void add_name(std::string name, std::vector<runtime::IpAddress> addresses);
  // The places of a service; its hosts are separate names.
  void add_service(std::string name, std::vector<runtime::ServicePlace> places);
  // Whether asking for `name` fails from now on.
  void fail_name(std::string name, bool fails);
  // Errors: kDns.
  Result<std::vector<runtime::IpAddress>> look_up(std::string_view name) const;
  Result<std::vector<runtime::ServicePlace>> look_up_service(std::string_view name) const;

  // The node that `from` reaches under `address`; nullptr when none.
  Node* owner(Node& from, runtime::IpAddress address) const;

  // Sends a packet: `deliver()` is called for each copy that arrives at a machine that has power.
  template <class Deliver>
  void send(const Node& from, const Node& to, std::size_t size, const Deliver& deliver) {
    const Fate fate = draw(from, to, size);
    for (std::size_t i = 0; i < fate.copies; ++i) {
      timeline_.after(fate.delays[i], [this, &from, &to, deliver] {
        if (arrives(from, to)) deliver();
      });
    }
  }

 private:
  using Pair = std::pair<uint32_t, uint32_t>;
  struct Fate {
    std::size_t copies = 0;
    std::array<Duration, 2> delays{};
  };
  static Pair pair(const Node& from, const Node& to);
  bool is_blocked(const Node& from, const Node& to) const;
  bool arrives(const Node& from, const Node& to) const;
  Fate draw(const Node& from, const Node& to, std::size_t size);
  Duration draw_delay(const Link& link);

  Timeline& timeline_;
  Link common_;
  std::map<Pair, Link> links_;
  std::map<Pair, Instant> busy_until_;
  std::set<Pair> blocked_;
  std::set<uint32_t> isolated_;
  std::map<runtime::IpAddress, Node*> owners_;
  std::map<std::string, std::vector<runtime::IpAddress>, std::less<>> names_;
  std::map<std::string, std::vector<runtime::ServicePlace>, std::less<>> services_;
  std::set<std::string, std::less<>> failing_names_;
};

}  // namespace bellwether::sim

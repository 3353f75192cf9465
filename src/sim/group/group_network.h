// The network between the members of a small group, in the worlds that live through millions of them. Each way from one
// member to another is open or not. All ways together have one delay, one loss and one duplication. Its faults are rows
// of kNetworkFaults, below; they mend themselves after a while.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/harness/faulty_world.h"
#include "sim/timeline.h"

namespace bellwether::sim {

class GroupNetwork {
 public:
  // Members are numbered from 0 to most - 1. When nothing is wrong a message takes `quickest` to `slowest`.
  GroupNetwork(Timeline& timeline, std::size_t most, Duration quickest, Duration slowest)
      : timeline_(timeline),
        most_(most),
        shut_(most * most),
        quickest_(quickest),
        slowest_(slowest),
        usually_slowest_(slowest) {}

  bool is_open(uint32_t from, uint32_t to) const { return shut_[from * most_ + to] == 0; }
  // Nothing is shut, lost or slow.
  bool whole() const;
  Duration quickest() const { return quickest_; }
  Duration slowest() const { return slowest_; }
  Duration usually_slowest() const { return usually_slowest_; }

  // Calls arrive() once, twice or never. False: it was lost at once.
  template <class Arrive>
  bool send(uint32_t from, uint32_t to, const Arrive& arrive) {
    if (!is_open(from, to) || (loss_ > 0 && prng().chance(loss_))) return false;
    travel(from, to, prng().between(quickest_, to == late_for_ ? std::max(slowest_, late_most_) : slowest_), arrive);
    if (twice_ > 0 && prng().chance(twice_)) travel(from, to, prng().between(quickest_, slowest_ * 2), arrive);
    return true;
  }
  // Messages on a way that is shut are lost.
  template <class Arrive>
  void travel(uint32_t from, uint32_t to, Duration span, Arrive arrive) {
    timeline_.after(span, [this, from, to, arrive = std::move(arrive)] {
      if (is_open(from, to)) arrive();
    });
  }

  // Shuts the way for `span`; several faults may hold it shut at once.
  void cut(uint32_t from, uint32_t to, Duration span);
  // Nothing reaches the member, and nothing comes from it.
  void isolate(uint32_t one, uint32_t count, Duration span);
  void mend();

  // The object of a fault: members 0 to count - 1, for `span`. A short fault lasts for `beat`, a long one for `lease`.
  struct Extent {
    uint32_t count = 0;
    Duration span;
    Duration beat;
    Duration lease;
  };
  void deafen(const Extent& extent);
  void flap(const Extent& extent);
  void clog(const Extent& extent);
  void hear_late(const Extent& extent);
  void slow_down(const Extent& extent);
  void split(const Extent& extent);
  void split_but_for_a_bridge(const Extent& extent);
  void ring(const Extent& extent);
  void split_one_way(const Extent& extent);

 private:
  Prng& prng() { return timeline_.prng(); }
  int& shut(uint32_t from, uint32_t to) { return shut_[from * most_ + to]; }
  uint32_t any(const Extent& extent) { return static_cast<uint32_t>(prng().below(extent.count)); }
  std::vector<bool> sides(const Extent& extent);
  template <class Apart>
  void cut_where(const Extent& extent, const Apart& apart) {
    for (uint32_t a = 0; a < extent.count; ++a) {
      for (uint32_t b = 0; b < extent.count; ++b) {
        if (a != b && apart(a, b)) cut(a, b, extent.span);
      }
    }
  }

  Timeline& timeline_;
  std::size_t most_;
  std::vector<int> shut_;  // by (from, to): how many faults hold it shut
  uint64_t mended_ = 0;    // faults of before have nothing to end any more
  int flapping_ = 0;
  static constexpr uint32_t kNoMember = UINT32_MAX;
  uint32_t late_for_ = kNoMember;
  Duration late_most_;
  double loss_ = 0;
  double twice_ = 0;
  Duration quickest_;
  Duration slowest_;
  Duration usually_slowest_;
};

struct NetworkFault {
  uint32_t weight;
  std::string_view name;
  void (GroupNetwork::*strike)(const GroupNetwork::Extent& extent);
};
inline constexpr auto kNetworkFaults = std::to_array<NetworkFault>({
    {3, "a member cannot receive, or cannot send", &GroupNetwork::deafen},
    {3, "a link flaps", &GroupNetwork::flap},
    {3, "members are clogged one after another", &GroupNetwork::clog},
    {3, "a member receives everything late, and then nothing", &GroupNetwork::hear_late},
    {4, "the network is slow, and loses and duplicates messages", &GroupNetwork::slow_down},
    {2, "a partition", &GroupNetwork::split},
    {2, "a partition, and one member that reaches both sides", &GroupNetwork::split_but_for_a_bridge},
    {2, "each member reaches a different majority", &GroupNetwork::ring},
    {2, "a partition in one direction", &GroupNetwork::split_one_way},
});

// The same as rows for a world, which has break_network(strike).
template <class World>
inline constexpr auto kNetworkFaultsOf = []<std::size_t... kRows>(std::index_sequence<kRows...>) {
  return std::array{Fault<World>{kNetworkFaults[kRows].weight, kNetworkFaults[kRows].name, [](World& world) {
                                   world.break_network(kNetworkFaults[kRows].strike);
                                   return true;
                                 }}...};
}(std::make_index_sequence<kNetworkFaults.size()>());

}  // namespace bellwether::sim

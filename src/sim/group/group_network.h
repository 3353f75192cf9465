// The network between the members of a small group, in the worlds that live through millions of them: for each way from
// one member to another whether it is open, and for all ways together how slow they are, and what they lose or double.
// Its faults mend themselves after a while.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

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
  // What is on its way when the way is shut is lost.
  template <class Arrive>
  void travel(uint32_t from, uint32_t to, Duration span, Arrive arrive) {
    timeline_.after(span, [this, from, to, arrive = std::move(arrive)] {
      if (is_open(from, to)) arrive();
    });
  }

  // Shuts the way for so long; several faults may hold it shut at once.
  void cut(uint32_t from, uint32_t to, Duration span);
  // One of the kinds of faults, of `count` members and for `span`: a member that is deaf or mute, a link that flaps,
  // members that are clogged, one that hears all late and then nothing, slow and lossy links, partitions of all shapes.
  // What is short lasts for `beat`, what is long for `lease`.
  void break_somehow(uint32_t count, Duration span, Duration beat, Duration lease);
  void partition(uint32_t count, Duration span);
  void mend();

 private:
  Prng& prng() { return timeline_.prng(); }
  int& shut(uint32_t from, uint32_t to) { return shut_[from * most_ + to]; }

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

}  // namespace bellwether::sim

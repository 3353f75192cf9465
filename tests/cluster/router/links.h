// The faults of a network between the nodes of a world, as a function of time and packets: what is lost, held back,
// doubled or delivered, and when. One direction between two nodes is a link with settings and counters of its own.
// Knows no device and no clock; owned and used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/prng.h"
#include "core/base/time.h"

namespace bellwether::router {

struct Faults {
  Duration delay;
  // Added to the delay, uniform in [0, jitter]. Packets keep their order all the same, as in a queue that fills.
  Duration jitter;
  double loss = 0;       // probabilities, in [0, 1]
  double duplicate = 0;  // the copy follows at once
  double reorder = 0;    // held back by `reorder_by`, so that later packets overtake
  Duration reorder_by = Duration::millis(10);
  uint64_t bytes_per_s = 0;  // 0: no limit. Beyond it packets wait, and are dropped when `queue` of them do.
  std::size_t queue = 1000;  // packets under way on this link when there is a rate
  bool cut = false;          // nothing passes, and what is under way is lost
};

struct Counters {
  uint64_t packets = 0;  // offered by the sender
  uint64_t bytes = 0;
  uint64_t delivered = 0;
  uint64_t cut = 0;
  uint64_t lost = 0;
  uint64_t overflow = 0;
  uint64_t duplicated = 0;
  uint64_t reordered = 0;
};

class Links {
 public:
  static constexpr std::size_t kMaxNodes = 256;
  static constexpr std::size_t kMaxUnderWay = 200'000;  // packets in all; more are dropped as overflow

  struct Delivery {
    std::size_t from = 0;
    std::size_t to = 0;
    std::string packet;
  };
  struct Link {
    Faults faults;
    Counters counters;
    Instant free_from;  // when the last packet will have left, under a rate
    Instant last_due;   // no packet that keeps the order may arrive earlier
    std::size_t under_way = 0;
  };

  explicit Links(uint64_t seed) : prng_(seed) {}

  // REQUIRES fewer than kMaxNodes nodes. Nodes are numbered from 0.
  std::size_t add_node();
  std::size_t nodes() const { return links_.size(); }
  // REQUIRES from, to < nodes().
  Link& link(std::size_t from, std::size_t to);
  // What is under way keeps the times that it has; what comes after is held up by the new settings only, and may
  // overtake.
  void change(std::size_t from, std::size_t to, const Faults& faults);

  void offer(Instant now, std::size_t from, std::size_t to, Bytes packet);
  // never() when nothing is under way.
  Instant next_due() const { return under_way_.empty() ? Instant::never() : under_way_.top().due; }
  // The next packet whose time has come.
  std::optional<Delivery> take(Instant now);

 private:
  struct UnderWay {
    Instant due;
    uint64_t number = 0;  // those due at once leave in the order in which they came
    std::size_t from = 0;
    std::size_t to = 0;
    mutable std::string packet;  // moved out of the queue's top
    bool operator<(const UnderWay& other) const { return due != other.due ? due > other.due : number > other.number; }
  };
  // Counts and gives nothing when the packet is dropped.
  std::optional<Instant> due_of(Instant now, Link& link, std::size_t size);

  Prng prng_;
  std::vector<std::vector<Link>> links_;
  std::priority_queue<UnderWay> under_way_;
  uint64_t numbered_ = 0;
};

}  // namespace bellwether::router

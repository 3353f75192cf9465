#include "sim/group/group_network.h"

#include "base/probe.h"

namespace bellwether::sim {

bool GroupNetwork::whole() const {
  return loss_ == 0 && late_for_ == kNoMember && flapping_ == 0 && slowest_ == usually_slowest_ &&
         std::all_of(shut_.begin(), shut_.end(), [](int faults) { return faults == 0; });
}

void GroupNetwork::mend() {
  ++mended_;
  flapping_ = 0;
  late_for_ = kNoMember;
  loss_ = twice_ = 0;
  slowest_ = usually_slowest_;
  std::fill(shut_.begin(), shut_.end(), 0);
}

void GroupNetwork::cut(uint32_t from, uint32_t to, Duration span) {
  ++shut(from, to);
  timeline_.after(span, [this, from, to, since = mended_] {
    if (since == mended_) --shut(from, to);
  });
}

void GroupNetwork::break_somehow(uint32_t count, Duration span, Duration beat, Duration lease) {
  const auto one = static_cast<uint32_t>(prng().below(count));
  switch (prng().below(7)) {
    case 0: {
      BW_PROBE("group network: a member does not hear, or is not heard");
      const bool deaf = prng().chance(0.5);
      for (uint32_t other = 0; other < count; ++other) {
        if (deaf) {
          cut(other, one, span);
        } else {
          cut(one, other, span);
        }
      }
      break;
    }
    case 1: {
      BW_PROBE("group network: a link flaps");
      const auto other = static_cast<uint32_t>(prng().below(count));
      ++flapping_;
      for (Duration at; at < span; at += beat * 2) {
        timeline_.after(at, [this, one, other, beat, since = mended_] {
          if (since == mended_) cut(one, other, beat);
        });
      }
      timeline_.after(span + beat, [this, since = mended_] {
        if (since == mended_) --flapping_;
      });
      break;
    }
    case 2:
      BW_PROBE("group network: members are clogged one after the other");
      for (uint32_t other = 0; other < count; ++other) {
        timeline_.after(prng().between(Duration::zero(), span), [this, one, other, lease, since = mended_] {
          if (since != mended_) return;
          cut(one, other, lease);
          cut(other, one, lease);
        });
      }
      break;
    case 3:
      BW_PROBE("group network: a member hears everything late, and then nothing");
      late_for_ = one;
      late_most_ = lease;
      timeline_.after(span, [this, one, count, lease, since = mended_] {
        if (since != mended_) return;
        late_for_ = kNoMember;
        for (uint32_t other = 0; other < count; ++other) {
          cut(other, one, lease * 2);
          cut(one, other, lease * 2);
        }
      });
      break;
    case 4:
      BW_PROBE("group network: slow, and messages are lost");
      loss_ = prng().unit() * 0.5;
      twice_ = prng().unit() * 0.3;
      slowest_ = prng().between(usually_slowest_, std::max(usually_slowest_, lease));
      timeline_.after(span, [this, since = mended_] {
        if (since != mended_) return;
        loss_ = twice_ = 0;
        slowest_ = usually_slowest_;
      });
      break;
    default: partition(count, span); break;
  }
}

void GroupNetwork::partition(uint32_t count, Duration span) {
  const auto bridge = static_cast<uint32_t>(prng().below(count));
  std::vector<bool> side(count);
  for (uint32_t member = 0; member < count; ++member) side[member] = prng().chance(0.5);
  const uint64_t kind = prng().below(4);
  for (uint32_t a = 0; a < count; ++a) {
    for (uint32_t b = 0; b < count; ++b) {
      if (a == b) continue;
      const bool apart = side[a] != side[b];
      switch (kind) {
        case 0:  // two sides
          BW_PROBE("group network: two sides");
          if (apart) cut(a, b, span);
          break;
        case 1:  // two sides, and one member that reaches both
          BW_PROBE("group network: a bridge");
          if (apart && a != bridge && b != bridge) cut(a, b, span);
          break;
        case 2: {  // everybody sees a majority, and no two the same one
          BW_PROBE("group network: a ring of majorities");
          const uint32_t ahead = (b + count - a) % count;
          if (std::min(ahead, count - ahead) > (count + 3) / 4) cut(a, b, span);
          break;
        }
        default:  // one way only
          BW_PROBE("group network: one way only");
          if (apart && !side[a]) cut(a, b, span);
          break;
      }
    }
  }
}

}  // namespace bellwether::sim

#include "sim/group/group_network.h"

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

void GroupNetwork::isolate(uint32_t one, uint32_t count, Duration span) {
  for (uint32_t other = 0; other < count; ++other) {
    if (other == one) continue;
    cut(one, other, span);
    cut(other, one, span);
  }
}

void GroupNetwork::deafen(const Extent& extent) {
  const uint32_t one = any(extent);
  const bool deaf = prng().chance(0.5);
  cut_where(extent, [&](uint32_t from, uint32_t to) { return (deaf ? to : from) == one; });
}

void GroupNetwork::flap(const Extent& extent) {
  const uint32_t one = any(extent);
  const uint32_t other = any(extent);
  ++flapping_;
  for (Duration at; at < extent.span; at += extent.beat * 2) {
    timeline_.after(at, [this, one, other, beat = extent.beat, since = mended_] {
      if (since == mended_) cut(one, other, beat);
    });
  }
  timeline_.after(extent.span + extent.beat, [this, since = mended_] {
    if (since == mended_) --flapping_;
  });
}

void GroupNetwork::clog(const Extent& extent) {
  const uint32_t one = any(extent);
  for (uint32_t other = 0; other < extent.count; ++other) {
    timeline_.after(prng().between(Duration::zero(), extent.span),
                    [this, one, other, lease = extent.lease, since = mended_] {
                      if (since != mended_) return;
                      cut(one, other, lease);
                      cut(other, one, lease);
                    });
  }
}

void GroupNetwork::hear_late(const Extent& extent) {
  const uint32_t one = any(extent);
  late_for_ = one;
  late_most_ = extent.lease;
  timeline_.after(extent.span, [this, one, extent, since = mended_] {
    if (since != mended_) return;
    late_for_ = kNoMember;
    isolate(one, extent.count, extent.lease * 2);
  });
}

void GroupNetwork::slow_down(const Extent& extent) {
  loss_ = prng().unit() * 0.5;
  twice_ = prng().unit() * 0.3;
  slowest_ = prng().between(usually_slowest_, std::max(usually_slowest_, extent.lease));
  timeline_.after(extent.span, [this, since = mended_] {
    if (since != mended_) return;
    loss_ = twice_ = 0;
    slowest_ = usually_slowest_;
  });
}

std::vector<bool> GroupNetwork::sides(const Extent& extent) {
  std::vector<bool> side(extent.count);
  for (uint32_t member = 0; member < extent.count; ++member) side[member] = prng().chance(0.5);
  return side;
}

void GroupNetwork::split(const Extent& extent) {
  const std::vector<bool> side = sides(extent);
  cut_where(extent, [&](uint32_t a, uint32_t b) { return side[a] != side[b]; });
}

void GroupNetwork::split_but_for_a_bridge(const Extent& extent) {
  const std::vector<bool> side = sides(extent);
  const uint32_t bridge = any(extent);
  cut_where(extent, [&](uint32_t a, uint32_t b) { return side[a] != side[b] && a != bridge && b != bridge; });
}

void GroupNetwork::ring(const Extent& extent) {
  cut_where(extent, [&](uint32_t a, uint32_t b) {
    const uint32_t ahead = (b + extent.count - a) % extent.count;
    return std::min(ahead, extent.count - ahead) > (extent.count + 3) / 4;
  });
}

void GroupNetwork::split_one_way(const Extent& extent) {
  const std::vector<bool> side = sides(extent);
  cut_where(extent, [&](uint32_t a, uint32_t b) { return side[a] && !side[b]; });
}

}  // namespace bellwether::sim

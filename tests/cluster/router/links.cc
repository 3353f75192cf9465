#include "router/links.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace bellwether::router {

std::size_t Links::add_node() {
  check(links_.size() < kMaxNodes, "a world has a limited number of nodes");
  for (auto& row : links_) row.emplace_back();
  links_.emplace_back(links_.size() + 1);
  return links_.size() - 1;
}

Links::Link& Links::link(std::size_t from, std::size_t to) {
  check(from < links_.size() && to < links_.size(), "links join nodes of the world");
  return links_[from][to];
}

void Links::change(std::size_t from, std::size_t to, const Faults& faults) {
  Link& changed = link(from, to);
  changed.faults = faults;
  changed.last_due = changed.free_from = Instant();
}

void Links::offer(Instant now, std::size_t from, std::size_t to, Bytes packet) {
  Link& through = link(from, to);
  ++through.counters.packets;
  through.counters.bytes += packet.size();
  const std::optional<Instant> due = due_of(now, through, packet.size());
  if (!due) return;
  const bool twice = prng_.chance(through.faults.duplicate);
  if (twice) ++through.counters.duplicated;
  for (int copies = twice ? 2 : 1; copies > 0; --copies) {
    ++through.under_way;
    under_way_.push({*due, numbered_++, from, to, std::string(as_text(packet))});
  }
}

std::optional<Instant> Links::due_of(Instant now, Link& link, std::size_t size) {
  const Faults& faults = link.faults;
  if (faults.cut) {
    ++link.counters.cut;
    return std::nullopt;
  }
  if (prng_.chance(faults.loss)) {
    ++link.counters.lost;
    return std::nullopt;
  }
  Instant leaves = now;
  if (faults.bytes_per_s > 0) {
    if (link.under_way >= faults.queue) {
      ++link.counters.overflow;
      return std::nullopt;
    }
    leaves = std::max(now, link.free_from) +
             Duration::from_seconds_f(static_cast<double>(size) / static_cast<double>(faults.bytes_per_s));
    link.free_from = leaves;
  }
  if (under_way_.size() >= kMaxUnderWay) {
    ++link.counters.overflow;
    return std::nullopt;
  }
  Instant due = leaves + faults.delay;
  if (faults.jitter > Duration::zero()) due += prng_.between(Duration::zero(), faults.jitter);
  if (prng_.chance(faults.reorder)) {
    ++link.counters.reordered;
    return std::max(due, link.last_due) + faults.reorder_by;  // and last_due stays: those behind it may pass
  }
  link.last_due = std::max(due, link.last_due);
  return link.last_due;
}

std::optional<Links::Delivery> Links::take(Instant now) {
  while (!under_way_.empty() && under_way_.top().due <= now) {
    const UnderWay& top = under_way_.top();
    Delivery delivery{top.from, top.to, std::move(top.packet)};
    under_way_.pop();
    Link& through = links_[delivery.from][delivery.to];
    --through.under_way;
    if (through.faults.cut) {
      ++through.counters.cut;
      continue;
    }
    ++through.counters.delivered;
    return delivery;
  }
  return std::nullopt;
}

}  // namespace bellwether::router

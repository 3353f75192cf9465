#include "cluster/membership/gossip_buffer.h"

#include <algorithm>
#include <cmath>

namespace bellwether::membership {
namespace {

constexpr int kMaxMisses = 8;  // of one kind in a packet

}  // namespace

GossipBuffer::Pushed GossipBuffer::push(const Update& update) {
  forget(update.node);
  const Pushed result = size() == limit_ ? drop_last() : Pushed();
  const auto kind = static_cast<std::size_t>(update.kind);
  auto& by_sent = by_kind_[kind];
  if (by_sent.empty()) by_sent.emplace_back();
  Entry& entry = by_sent.front().emplace_front(Entry{update.node, {}, kind});
  entry.bytes.reserve(size_of(update));
  PacketWriter(entry.bytes).update(update);
  places_.emplace(update.node, by_sent.front().begin());
  return result;
}

GossipBuffer::Pushed GossipBuffer::drop_last() {
  for (std::size_t kind = kUpdateKinds; kind-- > 0;) {
    auto& by_sent = by_kind_[kind];
    const auto last = std::find_if(by_sent.rbegin(), by_sent.rend(), [](const Entries& e) { return !e.empty(); });
    if (last == by_sent.rend()) continue;
    forget(last->back().node);
    return {true, static_cast<UpdateKind>(kind)};
  }
  return {};
}

void GossipBuffer::forget(NodeId node) {
  const auto found = places_.find(node);
  if (found == places_.end()) return;
  const Entries::iterator entry = found->second;
  places_.erase(found);
  by_kind_[entry->kind][entry->sent].erase(entry);
}

int GossipBuffer::fill(std::string& out, std::size_t limit, int times, NodeId except) {
  const std::size_t room = limit - std::min(limit, out.size());
  int count = 0;
  for (auto& by_sent : by_kind_) {
    int misses = 0;
    Entries risen;  // sent just now, and once less before
    for (Entries& waiting : by_sent) {
      Entries sent;
      for (auto next = waiting.begin(); next != waiting.end() && misses < kMaxMisses;) {
        const auto entry = next++;
        if (entry->node == except || entry->bytes.size() > room) continue;
        if (out.size() + entry->bytes.size() > limit) {
          ++misses;
          continue;
        }
        out += entry->bytes;
        ++entry->sent;
        ++count;
        sent.splice(sent.end(), waiting, entry);
      }
      waiting.splice(waiting.begin(), risen);
      risen.swap(sent);
    }
    if (!risen.empty()) by_sent.push_back(std::move(risen));
    for (; by_sent.size() > static_cast<std::size_t>(times); by_sent.pop_back()) {
      for (const Entry& entry : by_sent.back()) places_.erase(entry.node);
    }
  }
  return count;
}

int transmissions(int lambda, std::size_t members) {
  return lambda * static_cast<int>(std::ceil(std::log10(static_cast<double>(members) + 1)));
}

}  // namespace bellwether::membership

#include "cluster/membership/gossip_buffer.h"

#include <algorithm>
#include <cmath>

namespace bellwether::membership {

GossipBuffer::Pushed GossipBuffer::push(const Update& update) {
  forget(update.node);
  Pushed result;
  if (size_ == limit_) {
    for (std::size_t kind = kUpdateKinds; kind-- > 0;) {
      if (by_kind_[kind].empty()) continue;
      by_kind_[kind].pop_back();
      --size_;
      result = {true, static_cast<UpdateKind>(kind)};
      break;
    }
  }
  auto entry = std::make_unique<Entry>(Entry{update.node, 0, {}});
  entry->bytes.reserve(size_of(update));
  PacketWriter(entry->bytes).update(update);
  auto& entries = by_kind_[static_cast<std::size_t>(update.kind)];
  entries.insert(entries.begin(), std::move(entry));
  ++size_;
  return result;
}

void GossipBuffer::forget(NodeId node) {
  for (auto& entries : by_kind_) {
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e->node == node; });
    if (found == entries.end()) continue;
    entries.erase(found);
    --size_;
    return;
  }
}

int GossipBuffer::fill(std::string& out, std::size_t limit, int times, NodeId except) {
  int count = 0;
  for (auto& entries : by_kind_) {
    bool sent = false;
    for (const auto& entry : entries) {
      if (entry->node == except || out.size() + entry->bytes.size() > limit) continue;
      out += entry->bytes;
      ++entry->sent;
      ++count;
      sent = true;
    }
    if (!sent) continue;
    size_ -= std::erase_if(entries, [&](const auto& e) { return e->sent >= times; });
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a->sent < b->sent; });
  }
  return count;
}

int transmissions(int lambda, std::size_t members) {
  return lambda * static_cast<int>(std::ceil(std::log10(static_cast<double>(members) + 1)));
}

}  // namespace bellwether::membership

#include "election/vote/vote_events.h"

#include <array>
#include <cmath>

#include "core/base/bytes.h"

namespace bellwether::vote {
namespace {

// The text before the next `end`, which is taken away.
std::optional<uint64_t> number(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const auto value = parse_u64(text.substr(0, at));
  text.remove_prefix(at + 1);
  return value;
}

}  // namespace

void ReputationBook::add(NodeId node, Deed deed) {
  Counts& counts = nodes_[node];
  uint32_t& count = deed == Deed::kServed ? counts.served : deed == Deed::kLostHeartbeats ? counts.lost : counts.wrong;
  if (++count < kMaxCounted) return;
  counts = {counts.served / 2, counts.lost / 2, counts.wrong / 2};
}

double ReputationBook::reputation(NodeId node) const {
  const auto at = nodes_.find(node);
  if (at == nodes_.end()) return 1;
  const double good = 1.0 + at->second.served;
  return std::round(4 * good / (good + at->second.lost + 2.0 * at->second.wrong)) / 4;
}

std::string ReputationBook::text() const {
  std::string out;
  for (const auto& [node, counts] : nodes_) {
    out += fmt::format("{} {} {} {}\n", node.value(), counts.served, counts.lost, counts.wrong);
  }
  return out;
}

Result<ReputationBook> ReputationBook::read(std::string_view text) {
  ReputationBook book;
  while (!text.empty()) {
    const auto node = number(text, ' ');
    const std::array counts = {number(text, ' '), number(text, ' '), number(text, '\n')};
    bool good = node && *node != 0;
    for (const auto& count : counts) good = good && count && *count < kMaxCounted;
    if (!good || book.nodes_.size() == kMaxNodes)
      return fail(Errc::kInvalid, "the record of reputations cannot be read");
    book.nodes_[NodeId(*node)] = {static_cast<uint32_t>(*counts[0]), static_cast<uint32_t>(*counts[1]),
                                  static_cast<uint32_t>(*counts[2])};
  }
  return book;
}

}  // namespace bellwether::vote

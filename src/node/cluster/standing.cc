#include "node/cluster/standing.h"

#include <algorithm>
#include <tuple>

namespace bellwether::node {
namespace {

// How many leases a vacancy lasts before order counts for nothing any more.
constexpr int64_t kUnfitWaits = 3;
constexpr int64_t kLowerWaits = 2;

}  // namespace

const Rival* other_minded(std::span<const Rival> rivals, const std::string& decided_by) {
  const auto found = std::find_if(rivals.begin(), rivals.end(), [&](const Rival& one) {
    return !one.decided_by.empty() && one.decided_by != decided_by;
  });
  return found == rivals.end() ? nullptr : &*found;
}

const Rival* fittest(std::span<const Rival> rivals) {
  const Rival* best = nullptr;
  // The highest priority, then the lowest score, then the name, so that everybody chooses alike.
  const auto rank = [](const Rival& one) { return std::tuple(8 - one.priority, one.health_score, one.name); };
  for (const Rival& one : rivals) {
    if (one.electable && (best == nullptr || rank(one) < rank(*best))) best = &one;
  }
  return best;
}

std::string why_not_standing(const Situation& now) {
  if (const Rival* other = other_minded(now.rivals, now.decided_by); other != nullptr) {
    return "'" + other->name + "' leaves it to " + other->decided_by + " who leads, and this node to " +
           now.decided_by + ", so that there could be two leaders: 'leadership' must be the same on all nodes";
  }
  const auto waited = [&](int64_t leases) { return now.vacant && *now.vacant >= now.lease * leases; };
  if (!now.unfit.empty()) return waited(kUnfitWaits) ? std::string() : now.unfit;
  if (now.named || waited(kLowerWaits)) return {};
  // Of several that go first the fittest is named, so that all who wait say the same.
  const Rival* first = fittest(now.rivals);
  if (first != nullptr && first->priority > now.priority) return "'" + first->name + "' has a higher priority";
  return {};
}

}  // namespace bellwether::node

#include "cluster/register/small.h"

#include <algorithm>

#include "core/base/check.h"

namespace bellwether::registers {

bool ReplicaSet::has(const std::string& name) const {
  return std::binary_search(names.begin(), names.end(), name) || std::binary_search(next.begin(), next.end(), name);
}

std::vector<std::string> ReplicaSet::all() const {
  std::vector<std::string> all;
  std::set_union(names.begin(), names.end(), next.begin(), next.end(), std::back_inserter(all));
  return all;
}

bool is_fulfilled(const SetWish& wish, const ReplicaSet& set) {
  return (wish.add.empty() || set.has(wish.add)) && (wish.remove.empty() || !set.has(wish.remove));
}

Result<ReplicaSet> begin_change(const ReplicaSet& from, const SetWish& wish) {
  if (from.joint()) return fail(Errc::kInvalid, "a change of the replicas is under way");
  if (wish.add == wish.remove) return fail(Errc::kInvalid, "no change of the replicas is wanted");
  if (!wish.add.empty() && from.has(wish.add)) return fail(Errc::kExists, "'{}' is a replica already", wish.add);
  if (!wish.remove.empty() && !from.has(wish.remove)) {
    return fail(Errc::kNotFound, "'{}' is not a replica", wish.remove);
  }
  ReplicaSet set = from;
  ++set.number;
  set.next = from.names;
  std::erase(set.next, wish.remove);
  if (!wish.add.empty()) set.next.insert(std::lower_bound(set.next.begin(), set.next.end(), wish.add), wish.add);
  if (set.next.empty()) return fail(Errc::kRefused, "'{}' is the last replica", wish.remove);
  if (set.all().size() > kMaxReplicas) {
    return fail(Errc::kTooLarge, "there are {} replicas; the limit is {}", from.names.size(), kMaxReplicas);
  }
  return set;
}

ReplicaSet end_change(const ReplicaSet& from) {
  check(from.joint(), "only a change that is under way has an end");
  return {from.number + 1, from.next, {}};
}

}  // namespace bellwether::registers

#include "election/quorum/configuration.h"

#include <algorithm>

#include "core/base/check.h"

namespace bellwether::quorum {
namespace {

bool contains(const std::vector<MemberId>& members, MemberId member) {
  return std::binary_search(members.begin(), members.end(), member);
}

ConfigurationStamp next_stamp(ConfigurationStamp from, Term leader) {
  check(leader >= from.term, "a configuration is changed by its leader or by a later one");
  return leader == from.term ? ConfigurationStamp{leader, from.number + 1} : ConfigurationStamp{leader, 1};
}

}  // namespace

bool Configuration::has(MemberId member) const { return contains(voters, member) || contains(next, member); }

Result<Configuration> declare(std::vector<MemberId> members) {
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  if (members.empty()) return fail(Errc::kInvalid, "an elected group needs at least one member");
  if (members.front() == kNobody) return fail(Errc::kInvalid, "0 is not a valid id of a member");
  if (members.size() > kMaxMembers) {
    return fail(Errc::kTooLarge, "an elected group has at most {} voting members; make the others followers",
                kMaxMembers);
  }
  return Configuration{{Term(0), 1}, std::move(members), {}};
}

Result<Configuration> begin_change(const Configuration& from, MemberChange change, Term leader) {
  if (from.joint())
    return fail(Errc::kInvalid, "another change of the members is in progress: try again when it has ended");
  if (change.member == kNobody) return fail(Errc::kInvalid, "0 is not a valid id of a member");
  const bool is_member = contains(from.voters, change.member);
  Configuration to = from;
  to.next = from.voters;
  if (change.kind == MemberChange::Kind::kAdd) {
    if (is_member) return fail(Errc::kInvalid, "it votes already");
    if (from.voters.size() == kMaxMembers) return fail(Errc::kTooLarge, "the group has the largest number of members");
    to.next.insert(std::lower_bound(to.next.begin(), to.next.end(), change.member), change.member);
  } else {
    if (!is_member) return fail(Errc::kInvalid, "it does not vote");
    if (from.voters.size() == 1) return fail(Errc::kInvalid, "the last member cannot be removed");
    to.next.erase(std::lower_bound(to.next.begin(), to.next.end(), change.member));
  }
  to.stamp = next_stamp(from.stamp, leader);
  return to;
}

Configuration end_change(const Configuration& from, Term leader) {
  check(from.joint());
  return {next_stamp(from.stamp, leader), from.next, {}};
}

Configuration confirm(const Configuration& from, Term leader) {
  check(leader > from.stamp.term);
  return {next_stamp(from.stamp, leader), from.voters, from.next};
}

}  // namespace bellwether::quorum

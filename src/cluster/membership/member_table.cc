#include "cluster/membership/member_table.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/enum_names.h"

namespace bellwether::membership {
namespace {

uint64_t mix(NodeId id, const Member& member) {
  uint64_t h = id.value() ^ ((uint64_t{member.life} << 32 | member.incarnation) + 0x9e3779b97f4a7c15);
  h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93;
  h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93;
  return h ^ (h >> 32);
}

}  // namespace

const char* to_string(MemberState state) {
  return EnumNames<MemberState>("unknown", "alive", "suspect", "dead", "left")[state];
}

MemberTable::~MemberTable() {
  for (NodeIndex node = 0; node < slots(); ++node) {
    if (!has(node)) continue;
    directory_.release_profile(members_[node].profile);
    directory_.release(node);
  }
}

std::optional<NodeIndex> MemberTable::find(NodeId id) const {
  const auto node = directory_.find(id);
  return node && has(*node) ? node : std::nullopt;
}

std::vector<NodeIndex>::const_iterator MemberTable::place_of(const Endpoint& where, NodeIndex node) const {
  return std::lower_bound(by_endpoint_.begin(), by_endpoint_.end(), node, [&](NodeIndex one, NodeIndex) {
    const auto order = endpoint(one) <=> where;
    return order == 0 ? one < node : order < 0;
  });
}

std::optional<NodeIndex> MemberTable::with_endpoint_of(NodeIndex node) const {
  for (auto at = place_of(endpoint(node), 0); at != by_endpoint_.end() && endpoint(*at) == endpoint(node); ++at) {
    if (*at != node && is_present(members_[*at].state)) return *at;
  }
  return std::nullopt;
}

void MemberTable::count_in(NodeIndex node, bool in) {
  const Member& member = members_[node];
  const std::size_t one = in ? 1 : static_cast<std::size_t>(-1);
  counts_[static_cast<std::size_t>(member.state)] += one;
  if (!is_present(member.state)) return;
  const uint8_t role = profile(node).role;
  (member.state == MemberState::kSuspect ? suspects_ : alive_)[role] += static_cast<uint32_t>(one);
  const uint64_t hash = mix(id(node), member);
  root_ ^= hash;
  buckets_[bucket_of(id(node))] ^= hash;
}

std::optional<NodeIndex> MemberTable::enter(std::string_view name, const Member& member, const Profile& profile) {
  check(member.state != MemberState::kUnknown, "a member is entered with a state");
  const auto node = directory_.hold(name);
  if (!node) return std::nullopt;
  if (*node >= members_.size()) members_.resize(std::max<std::size_t>(*node + 1, directory_.size()));
  check(!has(*node), "a member is entered once");
  members_[*node] = member;
  members_[*node].profile = directory_.hold_profile(profile);
  by_endpoint_.insert(place_of(profile.endpoint, *node), *node);
  ++size_;
  count_in(*node, true);
  return node;
}

void MemberTable::set_state(NodeIndex node, MemberState state, uint32_t incarnation) {
  Member& member = members_[node];
  count_in(node, false);
  member.state = state;
  member.incarnation = incarnation;
  count_in(node, true);
}

void MemberTable::set_identity(NodeIndex node, uint32_t life, const Profile& profile) {
  Member& member = members_[node];
  count_in(node, false);
  const ProfileIndex held = directory_.hold_profile(profile);
  by_endpoint_.erase(place_of(endpoint(node), node));
  directory_.release_profile(member.profile);
  member.profile = held;
  by_endpoint_.insert(place_of(profile.endpoint, node), node);
  if (member.life != life) member.round_trip = {};
  member.life = life;
  count_in(node, true);
}

void MemberTable::forget(NodeIndex node) {
  check(has(node), "only who is in the view is forgotten");
  count_in(node, false);
  by_endpoint_.erase(place_of(endpoint(node), node));
  directory_.release_profile(members_[node].profile);
  directory_.release(node);
  members_[node] = {};
  --size_;
}

}  // namespace bellwether::membership

#include "membership/directory.h"

#include "base/check.h"

namespace bellwether::membership {

std::optional<NodeIndex> Directory::find(NodeId id) const {
  const auto found = by_id_.find(id.value());
  if (found == by_id_.end()) return std::nullopt;
  return found->second;
}

std::optional<NodeIndex> Directory::hold(std::string_view name) {
  const NodeId id = node_id(name);
  const auto [entry, fresh] = by_id_.try_emplace(id.value(), 0);
  if (!fresh) {
    Node& node = nodes_[entry->second];
    if (node.name != name) return std::nullopt;
    ++node.holders;
    return entry->second;
  }
  if (free_nodes_.empty()) {
    entry->second = static_cast<NodeIndex>(nodes_.size());
    nodes_.emplace_back();
  } else {
    entry->second = free_nodes_.back();
    free_nodes_.pop_back();
  }
  nodes_[entry->second] = {std::string(name), id, 1};
  return entry->second;
}

void Directory::release(NodeIndex node) {
  check(nodes_[node].holders > 0, "a name is released as often as it is held");
  if (--nodes_[node].holders > 0) return;
  by_id_.erase(nodes_[node].id.value());
  nodes_[node] = {};
  free_nodes_.push_back(node);
}

uint64_t Directory::hash(const Profile& profile) {
  const std::string_view ip(reinterpret_cast<const char*>(profile.endpoint.ip.data()), profile.endpoint.ip.size());
  return node_id(ip).value() ^ (uint64_t{profile.endpoint.port} << 8 | profile.role) * 0x9e3779b97f4a7c15 ^
         node_id(profile.meta).value();
}

ProfileIndex Directory::hold_profile(const Profile& profile) {
  const uint64_t key = hash(profile);
  for (auto [it, end] = by_hash_.equal_range(key); it != end; ++it) {
    if (profiles_[it->second].profile != profile) continue;
    ++profiles_[it->second].holders;
    return it->second;
  }
  ProfileIndex index = 0;
  if (free_profiles_.empty()) {
    index = static_cast<ProfileIndex>(profiles_.size());
    profiles_.emplace_back();
  } else {
    index = free_profiles_.back();
    free_profiles_.pop_back();
  }
  profiles_[index] = {profile, 1};
  by_hash_.emplace(key, index);
  return index;
}

void Directory::release_profile(ProfileIndex index) {
  HeldProfile& held = profiles_[index];
  check(held.holders > 0, "a profile is released as often as it is held");
  if (--held.holders > 0) return;
  for (auto [it, end] = by_hash_.equal_range(hash(held.profile)); it != end; ++it) {
    if (it->second != index) continue;
    by_hash_.erase(it);
    break;
  }
  held = {};
  free_profiles_.push_back(index);
}

}  // namespace bellwether::membership

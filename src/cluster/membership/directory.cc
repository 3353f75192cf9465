#include "cluster/membership/directory.h"

#include <algorithm>
#include <charconv>

#include "core/base/check.h"

namespace bellwether::membership {
namespace {

constexpr std::array<uint8_t, 12> kV4Prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

struct Run {
  int begin = 8;
  int length = 0;
};

// The longest run of two or more zero groups, the first of equals.
Run longest_zero_run(const std::array<uint16_t, 8>& groups) {
  Run best;
  for (int i = 0; i < 8;) {
    int end = i;
    while (end < 8 && groups[static_cast<std::size_t>(end)] == 0) ++end;
    if (end - i > best.length && end - i >= 2) best = {i, end - i};
    i = std::max(end, i + 1);
  }
  return best;
}

}  // namespace

Endpoint Endpoint::v4(std::array<uint8_t, 4> address, uint16_t port) {
  Endpoint endpoint;
  std::copy(kV4Prefix.begin(), kV4Prefix.end(), endpoint.ip.begin());
  std::copy(address.begin(), address.end(), endpoint.ip.begin() + 12);
  endpoint.port = port;
  return endpoint;
}

bool Endpoint::is_v4() const { return std::equal(kV4Prefix.begin(), kV4Prefix.end(), ip.begin()); }

std::string to_string(const Endpoint& endpoint) {
  std::array<char, 8> piece{};
  std::string text;
  if (endpoint.is_v4()) {
    for (std::size_t i = 12; i < 16; ++i) text += (i > 12 ? "." : "") + std::to_string(endpoint.ip[i]);
    return fmt::format("{}:{}", text, endpoint.port);
  }
  std::array<uint16_t, 8> groups{};
  for (std::size_t i = 0; i < 8; ++i)
    groups[i] = static_cast<uint16_t>(endpoint.ip[2 * i] << 8 | endpoint.ip[2 * i + 1]);
  const Run zeros = longest_zero_run(groups);
  text = "[";
  for (int i = 0; i < 8;) {
    if (i == zeros.begin) {
      text += "::";
      i += zeros.length;
      continue;
    }
    if (i > 0 && text.back() != ':') text += ":";
    const auto written =
        std::to_chars(piece.data(), piece.data() + piece.size(), groups[static_cast<std::size_t>(i++)], 16);
    text.append(piece.data(), written.ptr);
  }
  return fmt::format("{}]:{}", text, endpoint.port);
}

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

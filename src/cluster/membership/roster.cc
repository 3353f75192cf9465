#include "cluster/membership/roster.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace bellwether::membership {

void ProbeList::add(NodeIndex node, Prng& prng) {
  order_.push_back(node);
  std::swap(order_.back(), order_[prng.below(order_.size())]);
}

void ProbeList::remove(NodeIndex node) {
  const auto found = std::find(order_.begin(), order_.end(), node);
  if (found == order_.end()) return;
  if (static_cast<std::size_t>(found - order_.begin()) < at_) --at_;
  order_.erase(found);
}

std::optional<NodeIndex> ProbeList::next(Prng& prng) {
  if (order_.empty()) return std::nullopt;
  if (at_ >= order_.size()) {
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[prng.below(i)]);
    at_ = 0;
  }
  return order_[at_++];
}

Update Roster::record_of(NodeIndex node) const {
  const Member& member = table_.at(node);
  return {.kind = UpdateKind::kAlive,
          .node = table_.id(node),
          .incarnation = member.incarnation,
          .name = table_.name(node),
          .life = member.life,
          .profile = table_.profile(node),
          .accusers = {}};
}

std::string Roster::name_of(AccuserMark mark) const {
  for (NodeIndex node = 0; node < table_.slots(); ++node) {
    if (table_.has(node) && mark_of(table_.id(node)) == mark) return table_.name(node);
  }
  return {};
}

std::vector<Update> Roster::remember() const {
  std::vector<Update> view;
  view.reserve(table_.present());
  for (NodeIndex node = 0; node < table_.slots(); ++node) {
    if (node != me_ && table_.has(node) && is_present(table_.at(node).state)) view.push_back(record_of(node));
  }
  return view;
}

// --- changes ---------------------------------------------------------------------------------------------------------

void Roster::enter_self(uint32_t incarnation) {
  last_change_ = self_.now;
  const auto me = table_.enter(self_.config.name,
                               {.incarnation = incarnation, .life = self_.config.life, .state = MemberState::kAlive},
                               self_.config.profile);
  check(me.has_value(), "one's own name is the first in the view");
  me_ = *me;
}

std::optional<NodeIndex> Roster::enter(const Update& update) {
  const Member member{.incarnation = update.incarnation, .life = update.life, .state = MemberState::kAlive};
  const auto node = table_.enter(update.name, member, update.profile);
  if (!node) return node;
  order_.add(*node, self_.prng);
  changed(*node);
  return node;
}

void Roster::identify(NodeIndex node, uint32_t life, const Profile& profile) {
  // Another process counts its states from the beginning, in whichever life.
  if (life != table_.at(node).life) clock_.forget(table_.id(node).value());
  table_.set_identity(node, life, profile);
}

void Roster::become(NodeIndex node, MemberState state, uint32_t incarnation) {
  const bool was_present = is_present(table_.at(node).state);
  if (was_present && !is_present(state)) tombstones_.push_back({node, self_.now});
  if (!was_present && is_present(state))
    std::erase_if(tombstones_, [&](const auto& tomb) { return tomb.node == node; });
  table_.set_state(node, state, incarnation);
  changed(node);
}

void Roster::changed(NodeIndex node) {
  last_change_ = self_.now;
  if (!successor_known_) return;
  successor_known_ = successor_ && node != *successor_ && distance(node) >= distance(*successor_);
}

void Roster::raise(uint32_t incarnation, bool stirs) {
  table_.set_state(me_, MemberState::kAlive, incarnation);
  if (stirs) last_change_ = self_.now;
}

std::vector<NodeIndex> Roster::take_old_tombstones() {
  std::vector<NodeIndex> old;
  std::erase_if(tombstones_, [&](const Tombstone& tomb) {
    if (self_.now - tomb.since < self_.config.figures.tombstone_ttl) return false;
    old.push_back(tomb.node);
    return true;
  });
  return old;
}

void Roster::forget(NodeIndex node) {
  clock_.forget(table_.id(node).value());
  order_.remove(node);
  table_.forget(node);
}

// --- choices ---------------------------------------------------------------------------------------------------------

std::optional<NodeIndex> Roster::successor() {
  if (successor_known_) return successor_;
  successor_known_ = true;
  successor_.reset();
  for (NodeIndex node = 0; node < table_.slots(); ++node) {
    if (node == me_ || !table_.has(node) || table_.at(node).state != MemberState::kAlive) continue;
    if (!successor_ || distance(node) < distance(*successor_)) successor_ = node;
  }
  return successor_;
}

std::optional<NodeIndex> Roster::random_peer() {
  for (int tries = 0; order_.size() > 0 && tries < 8; ++tries) {
    const NodeIndex node = order_.any(self_.prng);
    if (is_present(table_.at(node).state)) return node;
  }
  return std::nullopt;
}

std::optional<NodeIndex> Roster::random_dead() {
  if (tombstones_.empty()) return std::nullopt;
  return tombstones_[self_.prng.below(tombstones_.size())].node;
}

}  // namespace bellwether::membership

#include "election/vote/vote_book.h"

#include <algorithm>

#include "core/base/check.h"

namespace bellwether::vote {

VoteBook::VoteBook(VoteConfig with, uint64_t seed)
    : config(std::move(with)),
      prng(seed),
      mark(prng.next() | 1),
      ledger(config.self, mark, config.timing.heartbeat_timeout / 4) {
  check(config.self != kNobody, "a node needs an id");
  check(config.members.size() <= kMaxNodes, "members are counted before they are used");
  check(config.timing.validate().has_value(), "times are validated before they are used");
  check(config.weights.validate().has_value(), "weights are validated before they are used");
  bool is_member = false;
  for (const NodeId node : config.members) {
    is_member |= node == config.self;
    if (node == config.self) continue;
    VotePeer& peer = peers[node];
    if (const auto at = config.capabilities.find(node); at != config.capabilities.end()) {
      peer.known.capabilities = at->second;
    }
  }
  check(is_member && peers.size() + 1 == config.members.size(), "a node is one of the members, and each is there once");
}

void VoteBook::refuse(NodeId from, VotePeer& peer, Refusal kind, std::string why, Effects& out) {
  ++refusals[static_cast<std::size_t>(kind)];
  if (peer.refused == why) return;
  peer.refused = why;
  out.push_back(Refused{from, std::move(why)});
}

void VoteBook::become(State to, std::string why, Effects& out) {
  if (to == state) return;
  out.push_back(StateChanged{state, to, std::move(why)});
  state = to;
}

void VoteBook::set_admin(NodeId who, Term term, std::string evidence, Effects& out) {
  const NodeId before = admin;
  // A node that was cut off hears of the same admin again, in a later term.
  const bool changed = before != who || (who != kNobody && term > admin_term);
  admin = who;
  if (who != kNobody) last_admin = who;
  admin_term = std::max(admin_term, term);
  highest = std::max(highest, term);
  if (changed) out.push_back(AdminChanged{before, who, term, std::move(evidence)});
}

}  // namespace bellwether::vote

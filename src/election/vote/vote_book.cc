#include "election/vote/vote_book.h"

#include "core/base/check.h"
#include "core/base/probe.h"

namespace bellwether::vote {

bool VoteLedger::persisted(Instant now, const Persisted& done, Effects& out) {
  if (!written(now, done, out)) {
    BW_PROBE("vote: the record could not be written");
    return false;
  }
  std::vector<Held> held;
  held.swap(held_);
  for (Held& one : held) {
    if (one.version <= durable_) {
      say(one.to, std::move(one.body), out);
    } else {
      held_.push_back(std::move(one));
    }
  }
  return true;
}

void VoteLedger::say(NodeId to, Body body, Effects& out) {
  // Until the number of this start is durable, the next one might have the same.
  if (durable_ == 0) return say_when_durable(1, to, std::move(body), out);
  Message message{self_, record.start, mark_, ++sequence_, last_term(), std::move(body)};
  if (to == kNobody) {
    out.push_back(Broadcast{std::move(message)});
  } else {
    out.push_back(Send{to, std::move(message)});
  }
}

void VoteLedger::say_when_durable(uint64_t version, NodeId to, Body body, Effects& out) {
  if (durable_ >= version && durable_ != 0) return say(to, std::move(body), out);
  if (held_.size() < kMaxHeld) held_.push_back({version, to, std::move(body)});
}

void VoteLedger::drop_answers() {
  std::erase_if(held_, [](const Held& one) { return std::holds_alternative<HeartbeatAnswer>(one.body); });
}

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
    peer.known.links = config.members.size() - 1;
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

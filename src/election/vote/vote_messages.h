// What nodes say to each other when they elect an admin by scored votes. Every message names the life of its sender (a
// number that is durable and grows with each start, and a mark that is drawn anew) and its place in the row of all that
// this life has said, so that what was recorded, what an older copy of a disk says, and a second process under the same
// id are found out. Drivers sign what is sent and refuse what is not signed by its sender.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/strong_id.h"
#include "core/base/time.h"
#include "election/epoch.h"
#include "election/vote/score.h"

namespace bellwether::vote {

using election::Term;

// A node for as long as its durable record lives: one that lost its record comes back under another id.
using NodeId = StrongId<struct NodeTag, uint64_t>;
inline constexpr NodeId kNobody{};
inline constexpr std::size_t kMostNodes = 127;

// Why an election is held, the most pressing first.
enum class Trigger : uint8_t {
  kSplitBrain,
  kManual,
  kHeartbeatTimeout,
  kQuorumRestored,
  kDiscoveryFailure,
};
inline constexpr std::size_t kTriggers = 5;
// "split_brain_detected", "manual_trigger", "admin_heartbeat_timeout", "quorum_restored", "no_admin_discovered".
std::string_view to_string(Trigger trigger);

struct DiscoveryRequest {};
// To who asks, by whoever knows an admin; to who comes back, by whoever remembers it; and to who is wrong about the
// admin or the term.
struct DiscoveryResponse {
  NodeId admin;  // kNobody: none is known
  Term admin_term;
  uint64_t start_seen = 0;  // the highest of the receiver; see Message::start
  uint64_t mark_seen = 0;   // of that start
};
// The word of an admin that it acts no more in its term, and who shall follow it.
struct Permission {
  Term term;
  NodeId heir;  // kNobody: whoever wins
  bool operator==(const Permission&) const = default;
};
struct ElectionStarted {
  Term term;
  Trigger trigger = Trigger::kDiscoveryFailure;
  std::optional<Permission> permission;  // of the sender
};
// Everybody who takes part says so, also who does not stand.
struct Candidacy {
  Term term;
  bool stands = false;
  Claim claim;  // when it stands
};
struct Vote {
  Term term;
  NodeId candidate;
};
// Said by the winner; asks for the same answer as a heartbeat.
struct Winner {
  Term term;
  uint64_t round = 0;
  std::vector<NodeId> voters;  // who has voted for it
};
struct Heartbeat {
  Term term;
  uint64_t round = 0;
};
struct HeartbeatAnswer {
  Term term;
  uint64_t round = 0;
  uint64_t admin_mark = 0;  // of the life that sent the heartbeat
  bool stands = false;
  double score = 0;  // when it stands
  // How long the sender answers nobody else, at least, from the sending of the heartbeat. Nodes may differ in it.
  Duration promise;
};

using Body = std::variant<DiscoveryRequest, DiscoveryResponse, ElectionStarted, Candidacy, Vote, Winner, Heartbeat,
                          HeartbeatAnswer>;

struct Message {
  NodeId from;
  uint64_t start = 0;     // how often the sender was started, by its durable record
  uint64_t mark = 0;      // drawn at that start
  uint64_t sequence = 0;  // of all that it has said since, from 1
  Term term;              // the highest that it knows
  Body body;
};

}  // namespace bellwether::vote

// A node's record of the scored votes that it takes part in, for people: counts, heartbeats, and the last messages. No
// decision depends on it. It reads no clock: times come in as values.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/net/vote_view.h"
#include "election/vote/vote_events.h"

namespace bellwether::cluster {

class VoteWatch {
 public:
  static constexpr std::size_t kMessages = 200;    // kept
  static constexpr std::size_t kElections = 1000;  // kept, of the last hour

  // `names`: of all members, `self` among them.
  VoteWatch(std::map<vote::NodeId, std::string> names, vote::NodeId self);

  void election_began(Instant now, vote::Term term, vote::Trigger trigger) { election_ = Election{term, trigger, now}; }
  // An election that has not begun here is not counted. `participation`: the share of members whose vote was heard.
  void election_ended(Instant now, vote::Term term, bool elected, std::optional<double> participation);
  // `to`: kNobody is all.
  void sent(Instant now, WallTime at, const vote::Message& message, vote::NodeId to);
  void heard(WallTime at, const vote::Message& message, std::optional<vote::Refusal> refusal);
  // `from`: by the connection, as is known before the message can be read.
  // True: it is the first of its kind.
  bool unheard(WallTime at, const std::string& from, Unheard why);
  // A message of the admin that this node follows has come.
  void heard_admin(Instant now, const vote::Message& message);

  // Without the kernel's promises and refusals, which the kernel has.
  VoteStatus status(Instant now) const;
  std::vector<VoteMessageView> messages() const;

 private:
  struct Beats {
    BeatCounts counts;
    uint64_t answered_round = 0;  // in the present term
    uint64_t missed = 0;          // bit i: the one i before the last was missed
  };
  struct Kept {
    WallTime at;
    bool sent = false;
    std::string peer;                      // where it could not be read
    std::optional<vote::Message> message;  // nothing: it could not be read
    vote::NodeId to;
    std::string_view refused;
  };
  struct Election {
    vote::Term term;
    vote::Trigger trigger = vote::Trigger::kDiscoveryFailure;
    Instant began;
  };
  struct Beat {
    bool sent = false;
    Instant at;
    vote::Term term;
    uint64_t round = 0;
    uint64_t sequence = 0;
    vote::NodeId admin;
  };

  std::string name_of(vote::NodeId node) const;  // of strangers: empty
  void keep(Kept kept);
  void sent_beat(Instant now, const vote::Message& message, vote::Term term, uint64_t round);

  std::map<vote::NodeId, std::string> names_;
  VoteCounts counts_;
  std::map<vote::NodeId, Beats> beats_;
  std::deque<Kept> kept_;
  std::deque<std::pair<Instant, bool>> ended_;  // when, and whether it elected an admin
  std::optional<Election> election_;            // under way
  std::optional<Beat> beat_;                    // the last
};

// Messages of a scored vote in words, for people. On the wire they are protobuf (vote_codec.h).

// "discovery_request", "discovery_response", "election_started", "candidacy", "vote", "winner", "heartbeat",
// "heartbeat_answer".
std::string_view kind_of(const vote::Body& body);

// The term of a message; of requests, the highest that the sender knows.
vote::Term term_of(const vote::Message& message);

// All of a message as one JSON object: nodes by their names, spans in seconds. A stranger, which has no name in
// `names`, appears as the number of its id.
std::string json_of(const vote::Message& message, const std::map<vote::NodeId, std::string>& names);

}  // namespace bellwether::cluster

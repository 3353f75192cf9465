// A node's view of the scored votes that it takes part in, for people: current heartbeats and promises, counts since
// its start, the last messages, and the last election. Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "election/vote/score.h"
#include "election/vote/vote_events.h"

namespace bellwether::cluster {

// A histogram in the manner of Prometheus: counts of values of at most this number of seconds.
struct ElectionLengths {
  static constexpr std::array<double, 10> kBounds{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
  std::array<uint64_t, kBounds.size()> at_most{};  // not added up
  uint64_t count = 0;
  double sum = 0;

  void add(Duration span);
};

// Of an admin's heartbeats to one other node. One is missed when no answer has come by the time of the next.
struct BeatCounts {
  uint64_t answered = 0;
  uint64_t missed = 0;
  uint64_t lately = 0;         // of the last ones, at most 64
  uint64_t missed_lately = 0;  // the number of them that were missed
};

// Messages that are dropped before their content is looked at.
enum class Unheard : uint8_t {
  kUnsigned,    // not signed by the key that this node has of the sender
  kUnreadable,  // no message of this version, or out of its bounds
  kImpostor,    // in the name of another node
};
inline constexpr std::size_t kUnheardKinds = 3;
// "not_signed", "unreadable", "impostor".
std::string_view to_string(Unheard unheard);

struct VoteCounts {
  struct Elections {
    uint64_t elected = 0;
    uint64_t nobody = 0;
  };
  std::array<Elections, vote::kTriggers> elections{};  // in which this node took part
  ElectionLengths lengths;                             // from its first word to its end, as this node heard them
  double participation = 0;                            // of the last: the assignment of members whose vote was heard
  uint64_t beats_sent = 0;                             // as the admin
  uint64_t beats_heard = 0;                            // of the admin
  uint64_t beats_lost = 0;                             // that it must have sent between two that were heard
  std::array<uint64_t, vote::kRefusals> refusals{};
  std::array<uint64_t, kUnheardKinds> unheard{};
  std::map<std::string, uint64_t> unsigned_of;  // by the claimed sender; members only
  // By kind; a message to all counts once.
  std::map<std::string_view, uint64_t> sent;
  std::map<std::string_view, uint64_t> heard;
};

struct VoteStatus {
  struct Heartbeat {
    bool sent = false;  // by this node, the admin; else heard of it
    Duration age;
    uint64_t term = 0;
    uint64_t round = 0;     // its number in this term
    uint64_t sequence = 0;  // among all messages of the admin's life
  };
  struct Promise {
    std::string by;
    std::string to;
    Duration ends_in;  // below zero: it has ended
  };
  // As the admin.
  struct Follower {
    std::string node;
    BeatCounts beats;
  };
  std::optional<Heartbeat> heartbeat;  // the last one
  std::vector<Promise> promises;       // an admin knows those that others gave it, others their own
  std::vector<Follower> followers;
  VoteCounts counts;
  std::size_t elections_last_hour = 0;
  std::size_t failed_last_hour = 0;  // without a winner
};

// One message of a scored vote.
struct VoteMessageView {
  WallTime at;
  bool sent = false;
  std::string peer;  // the receiver, or the claimed sender; empty: all
  std::string kind;  // empty: it could not be read
  uint64_t term = 0;
  uint64_t sequence = 0;
  std::string refused;  // why it counts for nothing; empty: it was listened to, or sent
  std::string json;     // all of its content; empty: it could not be read
};

// The last election as one node has seen it: the candidates, the claims of each and their value, the votes, and why it
// ended as it did.
struct VoteView {
  struct Node {
    std::string name;
    bool took_part = false;  // as far as this node has heard
    bool stood = false;
    vote::Claim claim;       // of a candidate
    vote::ScoreParts parts;  // of its score, before they are weighed
    std::string doubt;       // why it was not voted for here; else empty
    double penalty = 0;      // taken off its score here, for its reputation
    std::string voted_for;   // empty: nothing that counts was heard
    std::size_t votes = 0;   // for it
  };
  // The node that reconstructs the key of an admin, or did last.
  struct Keys {
    struct Refused {
      std::string from;
      std::string why;
    };
    uint64_t term = 0;
    std::string admin;
    std::string stage;  // "collecting", "ready", "failed"
    std::size_t held = 0;
    std::size_t needed = 0;
    std::vector<Refused> refused;
  };
  // A voter that this node does not hear.
  struct Unheard {
    std::string name;
    Duration span;
  };
  std::string state;  // of this node: "idle", "reconstructing_keys" …
  std::optional<Keys> keys;
  std::vector<Unheard> unheard;
  bool in_minority = false;  // without them, this node hears no majority
  uint64_t term = 0;         // 0: there was none since this node was started
  bool over = false;
  std::string trigger;
  std::string winner;  // empty: none
  std::string why;     // it ended so
  std::string rule;    // "majority", "plurality", "highest_score"
  std::size_t needed = 0;
  vote::ScoreWeights weights;
  std::vector<Node> nodes;  // all members
  VoteStatus status;
};

}  // namespace bellwether::cluster

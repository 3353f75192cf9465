// The requests of operators to a node, and its answers: plain structs, each described once (core/message/README.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/node/node_view.h"
#include "core/message/message.h"

namespace bellwether::node {

inline constexpr std::size_t kMaxAdminRequest = 4096;  // bytes

struct AskMembers {};
struct AskLeader {};
struct AskQuorum {};
// The node that is asked leaves in good order and ends.
struct Leave {};
// The leader hands over.
struct Transfer {
  std::string to;  // empty: to the fittest
};
struct ChangeVoters {
  bool add = false;  // else: remove
  std::string name;
};
// Also those that keep jobs.
struct AskManagers {};
struct ChangeManagers {
  bool add = false;  // else: remove
  std::string name;
};
// The secrets of this one node; a rotation asks every node in turn.
struct AskSecrets {
  enum class Act : uint8_t {
    kList,
    kLearn,   // also open with `text`
    kUse,     // seal with `id` from now on
    kForget,  // do not open with `id` any more
  };
  Act act = Act::kList;
  std::string text;
  uint32_t id = 0;
};
// The worker that is asked takes nothing new, finishes what it runs, leaves and ends.
struct Drain {};
// The last election by scores.
struct AskVotes {
  bool messages = false;  // also the last messages
};
// The admin gives up its office and an election follows; without an admin, one begins at once.
struct CallElection {
  bool forced = false;  // also soon after the last one
};

using AdminRequest = std::variant<AskMembers, AskLeader, AskQuorum, Leave, Transfer, ChangeVoters, AskSecrets, Drain,
                                  AskVotes, CallElection, AskManagers, ChangeManagers>;

struct MembersAnswer {
  std::vector<MemberView> members;
  std::string degradation;  // of the answering node
  int health_score = 0;
};
struct SecretsAnswer {
  std::vector<uint32_t> ids;  // the one in use first
};
struct VotesAnswer {
  struct Refused {
    std::string reason;
    uint64_t count = 0;
  };
  cluster::VoteView view;       // without its weights, and of its counts those of heartbeats only
  std::vector<double> weights;  // uptime, capability, resources, network, experience, fitness
  std::string answered_by;
  std::vector<Refused> refused;                    // refusals since the start of the node
  std::vector<std::string> unsigned_of;            // nodes that do not sign with the key that the answering node has of
                                                   // them
  std::vector<cluster::VoteMessageView> messages;  // the oldest first
};

// A text is the result of an act.
using AdminAnswer =
    std::variant<MembersAnswer, LeaderView, QuorumView, SecretsAnswer, std::string, VotesAnswer, ManagersView>;

// The answer to a question with only one kind of answers.
template <class Answer>
Result<Answer> only(Result<AdminAnswer> answer) {
  if (!answer) return tl::unexpected(std::move(answer.error()));
  if (Answer* one = std::get_if<Answer>(&*answer)) return std::move(*one);
  return fail(Errc::kProtocol, "the answer of the node does not match the request");
}

}  // namespace bellwether::node

namespace bellwether::message {
template <>
const Message& message_of<node::AdminRequest>();
template <>
const Message& message_of<node::AdminAnswer>();
}  // namespace bellwether::message

namespace bellwether::node {

// A node's knowledge of its scored votes, as an answer to operators. Pure.

// The answer contains only the newest messages that fit: it is one frame.
inline constexpr std::size_t kVoteMessageBytes = 512 * 1024;

VotesAnswer votes_answer(cluster::VoteView view, std::vector<cluster::VoteMessageView> messages, std::string self);

}  // namespace bellwether::node

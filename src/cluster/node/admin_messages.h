// What operators and pages ask of a node: its knowledge of its cluster as plain values, and the messages that carry
// requests and answers, each described once (core/message/README.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/net/vote_view.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/message/message.h"

namespace bellwether::node {

// A node's knowledge of its cluster at a moment, for operators and pages. Plain values.

struct MemberView {
  std::string name;
  std::string state;  // "alive", "suspect", "dead", "left"
  std::string role;
  std::string datacenter;
  std::string address;
  std::string software;
  uint32_t incarnation = 0;
  Duration since;  // in this state
  bool leads = false;
  bool self = false;
};

struct LeaderView {
  std::string name;  // empty: unknown
  uint64_t term = 0;
  Duration since;                     // known to this node
  std::optional<Duration> valid_for;  // only the leader itself knows
  std::string evidence;
  std::string answered_by = {};
};

struct VoterView {
  std::string name;
  bool alive = false;
  bool leads = false;
  bool self = false;
  bool joining = false;
  bool leaving = false;
};

struct QuorumView {
  std::vector<VoterView> voters;
  std::size_t needed = 0;
  std::size_t alive = 0;
  std::string role;  // of this node in the election; empty: it does not vote
  uint64_t term = 0;
  bool active = false;
  bool follows_only = false;
  bool has_quorum = false;  // enough are alive; while voters change, of the old ones and of the new ones
  bool changing = false;
  std::size_t jobs = 0;     // whose registers this node keeps
  std::string jobs_unable;  // why it takes no part in that, although it is a voter; else empty
  std::string decided_by;   // "quorum", or a store: then there are no voters
  std::string obstacle;     // why this node can neither stand nor name the leader
  std::string stands_back;  // why it lets other nodes go first
  std::string state;        // of this node's work: "active", "syncing: ..."; empty when it has none
  std::string submissions;  // why it takes no new jobs for now; else empty
};

// A manager, or another node that votes or keeps jobs.
struct ManagerView {
  std::string name;
  bool alive = false;
  bool self = false;
  bool leads = false;
  bool manager = false;  // by its role
  bool votes = false;
  bool keeps = false;    // jobs; while that changes, from now on or until now
  bool joining = false;  // comes to the voters or to those that keep jobs
  bool leaving = false;
  bool read = false;  // all that the others kept when it came
};

struct ManagersView {
  std::vector<ManagerView> managers;
  uint64_t number = 0;  // of the set of those that keep jobs; grows with each change of it
  bool changing = false;
  bool voters_lead = false;  // those that keep jobs are the voters
  std::string doing;         // the step of the change, or why the last one has failed
  std::string answered_by;
};

// The source of answers for pages and operators, and of the acts of operators.
class NodeControl {
 public:
  virtual ~NodeControl() = default;
  virtual std::vector<MemberView> members() const = 0;
  virtual LeaderView leader() const = 0;
  virtual QuorumView quorum() const = 0;
  // kUnsupported: no scored votes here.
  virtual Result<cluster::VoteView> last_vote() const = 0;
  // The last messages of a scored vote, the oldest first.
  virtual std::vector<cluster::VoteMessageView> vote_messages() const { return {}; }
  virtual std::string degradation() const = 0;
  virtual int health_score() const = 0;
  // Empty when it is ready for work, else why not.
  virtual std::string not_ready() const = 0;
  virtual bool joined() const = 0;
  // Its progress as a manager: "idle", "normal", "slow", "degraded", "stuck"; empty when it is none.
  virtual std::string progress() const { return {}; }
  // Each begins it and describes what will happen, or why not.
  virtual Result<std::string> leave(const std::string& who) = 0;
  virtual Result<std::string> drain(const std::string& who) = 0;
  virtual Result<std::string> transfer(const std::string& to) = 0;
  virtual Result<std::string> call_election(bool forced) = 0;
  virtual Result<std::string> change_voters(bool add, const std::string& name) = 0;
  virtual ManagersView managers() const = 0;
  virtual Result<std::string> change_managers(bool add, const std::string& name) = 0;
  virtual Result<std::string> learn_secret(std::string secret) = 0;
  virtual Result<std::string> use_secret(uint32_t id) = 0;
  virtual Result<std::string> forget_secret(uint32_t id) = 0;
  virtual std::vector<uint32_t> secrets() const = 0;
};

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
extern template const Message& message_of<node::AdminRequest>();
extern template const Message& message_of<node::AdminAnswer>();
}  // namespace bellwether::message

namespace bellwether::node {

// A node's knowledge of its scored votes, as an answer to operators. Pure.

// The answer contains only the newest messages that fit: it is one frame.
inline constexpr std::size_t kVoteMessageBytes = 512 * 1024;

VotesAnswer votes_answer(cluster::VoteView view, std::vector<cluster::VoteMessageView> messages, std::string self);

}  // namespace bellwether::node

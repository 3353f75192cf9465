#include "cluster/node/admin_messages.h"

#include <utility>

#include "cluster/wire/frame.h"
#include "cluster/wire/identity.h"
#include "cluster/wire/keyring.h"
#include "core/message/describe.h"

namespace bellwether::message {

using namespace node;  // NOLINT(google-build-using-namespace)
using cluster::VoteMessageView;
using cluster::VoteStatus;
using cluster::VoteView;

namespace {

constexpr Rule kNodeName =
    text(wire::kMaxName, "name of a node: 1 to 64 letters, digits, '-', '_' and '.'", &wire::is_name, "abcXYZ019-_.");
// For people, in an answer. The writer cuts it, so that no long trouble hides the rest.
constexpr Rule kWords = cut(4096);
// Below zero it says nothing, and counts as none.
constexpr Rule kSince = clamped(at_least(Duration()));
constexpr Rule kNumber = at_most(UINT32_MAX);
constexpr std::size_t kMaxMembers = 16'384;
constexpr std::size_t kMaxVoters = 256;
constexpr std::size_t kMaxVoteMessages = 1'000;
constexpr std::size_t kMaxVoteJson = 128 * 1024;

std::string_view wrong_secret(const AskSecrets& ask) {
  using Act = AskSecrets::Act;
  if (ask.act != Act::kLearn && !ask.text.empty()) return "a secret text that the act does not need";
  if (ask.act == Act::kLearn && ask.text.empty()) return "no text of a secret to learn";
  return (ask.act == Act::kUse || ask.act == Act::kForget) && ask.id == 0 ? "no id of a secret" : "";
}

}  // namespace

// --- what is asked ---------------------------------------------------------------------------------------------------

template <>
constexpr auto kDescription<AskMembers> = describe<AskMembers>("a request for members");
template <>
constexpr auto kDescription<AskLeader> = describe<AskLeader>("a request for the leader");
template <>
constexpr auto kDescription<AskQuorum> = describe<AskQuorum>("a request for the quorum");
template <>
constexpr auto kDescription<Leave> = describe<Leave>("a request to leave");
template <>
constexpr auto kDescription<Transfer> = describe<Transfer>("a transfer", field<&Transfer::to>(1, or_empty(kNodeName)));
template <>
constexpr auto kDescription<ChangeVoters> = describe<ChangeVoters>("a change of voters", field<&ChangeVoters::add>(1),
                                                                   field<&ChangeVoters::name>(2, kNodeName));
template <>
constexpr auto kDescription<AskSecrets> = describe<AskSecrets, &wrong_secret>(
    "an act on secrets", field<&AskSecrets::act>(1, one_of(4)),
    field<&AskSecrets::text>(2, or_empty(text(wire::kMaxSecret, wire::kMinSecret))), field<&AskSecrets::id>(3));
template <>
constexpr auto kDescription<Drain> = describe<Drain>("a request to drain a worker");
template <>
constexpr auto kDescription<AskVotes> = describe<AskVotes>("a request for votes", field<&AskVotes::messages>(1));
template <>
constexpr auto kDescription<CallElection> =
    describe<CallElection>("a request for an election", field<&CallElection::forced>(1));

template <>
constexpr auto kDescription<AskManagers> = describe<AskManagers>("a request for the managers");
template <>
constexpr auto kDescription<ChangeManagers> = describe<ChangeManagers>(
    "a change of managers", field<&ChangeManagers::add>(1), field<&ChangeManagers::name>(2, kNodeName));

template <>
constexpr auto kDescription<AdminRequest> =
    describe<AdminRequest>(
        "a request", alternative<AskMembers, AdminRequest>(1, "members"),
        alternative<AskLeader, AdminRequest>(2, "leader"), alternative<AskQuorum, AdminRequest>(3, "quorum"),
        alternative<Leave, AdminRequest>(4, "leave"), alternative<Transfer, AdminRequest>(5, "transfer"),
        alternative<ChangeVoters, AdminRequest>(6, "voters"), alternative<AskSecrets, AdminRequest>(7, "secret"),
        alternative<Drain, AdminRequest>(8, "drain"), alternative<AskVotes, AdminRequest>(9, "votes"),
        alternative<CallElection, AdminRequest>(10, "elect"), alternative<AskManagers, AdminRequest>(11, "managers"),
        alternative<ChangeManagers, AdminRequest>(12, "manager"))
        .within(kMaxAdminRequest, Errc::kInvalid);

// --- what is answered ------------------------------------------------------------------------------------------------

template <>
constexpr auto kDescription<MemberView> = describe<MemberView>(
    "a member", field<&MemberView::name>(1, kWords), field<&MemberView::state>(2, kWords),
    field<&MemberView::role>(3, kWords), field<&MemberView::datacenter>(4, kWords),
    field<&MemberView::address>(5, kWords), field<&MemberView::incarnation>(6), field<&MemberView::since>(7, kSince),
    field<&MemberView::software>(8, kWords), field<&MemberView::leads>(9), field<&MemberView::self>(10));
template <>
constexpr auto kDescription<MembersAnswer> =
    describe<MembersAnswer>("the members", field<&MembersAnswer::members>(1, list(kMaxMembers)),
                            field<&MembersAnswer::degradation>(2, kWords), field<&MembersAnswer::health_score>(3));

template <>
constexpr auto kDescription<LeaderView> =
    describe<LeaderView>("the leader", field<&LeaderView::name>(1, kWords), field<&LeaderView::term>(2),
                         field<&LeaderView::since>(3, kSince), field<&LeaderView::valid_for>(4),
                         field<&LeaderView::evidence>(5, kWords), field<&LeaderView::answered_by>(6, kWords));

template <>
constexpr auto kDescription<VoterView> = describe<VoterView>(
    "a voter", field<&VoterView::name>(1, kWords), field<&VoterView::alive>(2), field<&VoterView::leads>(3),
    field<&VoterView::self>(4), field<&VoterView::joining>(5), field<&VoterView::leaving>(6));
template <>
constexpr auto kDescription<QuorumView> = describe<QuorumView>(
    "the quorum", field<&QuorumView::voters>(1, list(kMaxVoters)), field<&QuorumView::needed>(2, kNumber),
    field<&QuorumView::alive>(3, kNumber), field<&QuorumView::role>(4, kWords), field<&QuorumView::term>(5),
    field<&QuorumView::active>(6), field<&QuorumView::follows_only>(7), field<&QuorumView::has_quorum>(8),
    field<&QuorumView::changing>(9), field<&QuorumView::jobs>(10, kNumber), field<&QuorumView::jobs_unable>(11, kWords),
    field<&QuorumView::decided_by>(12, kWords), field<&QuorumView::obstacle>(13, kWords),
    field<&QuorumView::stands_back>(14, kWords), field<&QuorumView::submissions>(15, kWords),
    field<&QuorumView::state>(16, kWords));

template <>
constexpr auto kDescription<ManagerView> =
    describe<ManagerView>("a manager", field<&ManagerView::name>(1, kWords), field<&ManagerView::alive>(2),
                          field<&ManagerView::self>(3), field<&ManagerView::leads>(4), field<&ManagerView::manager>(5),
                          field<&ManagerView::votes>(6), field<&ManagerView::keeps>(7), field<&ManagerView::joining>(8),
                          field<&ManagerView::leaving>(9), field<&ManagerView::read>(10));
template <>
constexpr auto kDescription<ManagersView> = describe<ManagersView>(
    "the managers", field<&ManagersView::managers>(1, list(kMaxMembers)), field<&ManagersView::number>(2),
    field<&ManagersView::changing>(3), field<&ManagersView::voters_lead>(4), field<&ManagersView::doing>(5, kWords),
    field<&ManagersView::answered_by>(6, kWords));

template <>
constexpr auto kDescription<SecretsAnswer> =
    describe<SecretsAnswer>("the secrets", field<&SecretsAnswer::ids>(1, list(wire::Keyring::kMaxSecrets)));

using Candidate = VoteView::Node;
template <>
constexpr auto kDescription<Candidate> = describe<Candidate>(
    "a node of an election", field<&Candidate::name>(1, kWords), field<&Candidate::took_part>(2),
    field<&Candidate::stood>(3),
    field<&Candidate::claim, &vote::Claim::capabilities>(4,
                                                         list(vote::kMaxCapabilities, text(vote::kMaxCapabilityBytes))),
    field<&Candidate::claim, &vote::Claim::uptime>(5, kSince),
    field<&Candidate::claim, &vote::Claim::experience>(6, kSince),
    field<&Candidate::claim, &vote::Claim::resources, &vote::Resources::cpu_used>(7).as("resources.cpu_usage"),
    field<&Candidate::claim, &vote::Claim::resources, &vote::Resources::memory_used>(8).as("resources.memory_usage"),
    field<&Candidate::claim, &vote::Claim::resources, &vote::Resources::disk_used>(9).as("resources.disk_usage"),
    field<&Candidate::claim, &vote::Claim::resources, &vote::Resources::network_quality>(10).as(
        "resources.network_quality"),
    field<&Candidate::claim, &vote::Claim::score>(11),
    field<&Candidate::parts, &vote::ScoreParts::uptime>(12).as("parts.uptime"),
    field<&Candidate::parts, &vote::ScoreParts::capability>(13).as("parts.capability"),
    field<&Candidate::parts, &vote::ScoreParts::resources>(14).as("parts.resources"),
    field<&Candidate::parts, &vote::ScoreParts::network>(15).as("parts.network"),
    field<&Candidate::parts, &vote::ScoreParts::experience>(16).as("parts.experience"),
    field<&Candidate::doubt>(17, kWords), field<&Candidate::voted_for>(18, kWords),
    field<&Candidate::votes>(19, kNumber), field<&Candidate::penalty>(20),
    field<&Candidate::claim, &vote::Claim::fitness>(21).as("parts.context"));

using Beat = VoteStatus::Heartbeat;
template <>
constexpr auto kDescription<Beat> =
    describe<Beat>("a heartbeat", field<&Beat::sent>(1), field<&Beat::age>(2, kSince), field<&Beat::term>(3),
                   field<&Beat::round>(4), field<&Beat::sequence>(5));

using Promise = VoteStatus::Promise;
template <>
constexpr auto kDescription<Promise> = describe<Promise>("a promise", field<&Promise::by>(1, kWords),
                                                         field<&Promise::to>(2, kWords), field<&Promise::ends_in>(3));

using Follower = VoteStatus::Follower;
template <>
constexpr auto kDescription<Follower> = describe<Follower>(
    "a follower", field<&Follower::node>(1, kWords).as("name"),
    field<&Follower::beats, &cluster::BeatCounts::answered>(2),
    field<&Follower::beats, &cluster::BeatCounts::missed>(3), field<&Follower::beats, &cluster::BeatCounts::lately>(4),
    field<&Follower::beats, &cluster::BeatCounts::missed_lately>(5));

template <>
constexpr auto kDescription<VotesAnswer::Refused> = describe<VotesAnswer::Refused>(
    "a count of refusals", field<&VotesAnswer::Refused::reason>(1, kWords), field<&VotesAnswer::Refused::count>(2));

template <>
constexpr auto kDescription<VoteMessageView> = describe<VoteMessageView>(
    "a message of a vote", field<&VoteMessageView::at>(1, clamped(at_least(WallTime{}))),
    field<&VoteMessageView::sent>(2), field<&VoteMessageView::peer>(3, kWords),
    field<&VoteMessageView::kind>(4, kWords), field<&VoteMessageView::term>(5), field<&VoteMessageView::sequence>(6),
    field<&VoteMessageView::refused>(7, kWords), field<&VoteMessageView::json>(8, cut(kMaxVoteJson)).as("message"));

using KeyRefused = VoteView::Keys::Refused;
template <>
constexpr auto kDescription<KeyRefused> = describe<KeyRefused>(
    "a refused key share", field<&KeyRefused::from>(1, kWords), field<&KeyRefused::why>(2, kWords));
template <>
constexpr auto kDescription<VoteView::Keys> = describe<VoteView::Keys>(
    "the key of an admin", field<&VoteView::Keys::term>(1), field<&VoteView::Keys::admin>(2, kWords),
    field<&VoteView::Keys::stage>(3, kWords), field<&VoteView::Keys::held>(4, kNumber),
    field<&VoteView::Keys::needed>(5, kNumber), field<&VoteView::Keys::refused>(6, list(kMaxVoters)));

template <>
constexpr auto kDescription<VoteView::Unheard> =
    describe<VoteView::Unheard>("an unheard voter", field<&VoteView::Unheard::name>(1, kWords),
                                field<&VoteView::Unheard::span>(2, kSince).as("for"));

template <>
constexpr auto kDescription<VotesAnswer> = describe<VotesAnswer>(
    "the votes", field<&VotesAnswer::view, &VoteView::term>(1), field<&VotesAnswer::view, &VoteView::over>(2),
    field<&VotesAnswer::view, &VoteView::trigger>(3, kWords), field<&VotesAnswer::view, &VoteView::winner>(4, kWords),
    field<&VotesAnswer::view, &VoteView::why>(5, kWords), field<&VotesAnswer::view, &VoteView::rule>(6, kWords),
    field<&VotesAnswer::view, &VoteView::needed>(7, kNumber),
    field<&VotesAnswer::view, &VoteView::nodes>(8, list(kMaxVoters)), field<&VotesAnswer::weights>(9, list(6)),
    field<&VotesAnswer::answered_by>(10, kWords),
    field<&VotesAnswer::view, &VoteView::status, &VoteStatus::heartbeat>(11),
    field<&VotesAnswer::view, &VoteView::status, &VoteStatus::promises>(12, list(kMaxVoters)),
    field<&VotesAnswer::view, &VoteView::status, &VoteStatus::followers>(13, list(kMaxVoters)),
    field<&VotesAnswer::refused>(14, list(64)), field<&VotesAnswer::unsigned_of>(15, list(kMaxVoters, kWords)),
    field<&VotesAnswer::view, &VoteView::status, &VoteStatus::elections_last_hour>(16, kNumber)
        .as("elections_last_hour.all"),
    field<&VotesAnswer::view, &VoteView::status, &VoteStatus::failed_last_hour>(17, kNumber)
        .as("elections_last_hour.without_winner"),
    field<&VotesAnswer::view, &VoteView::status, &VoteStatus::counts, &cluster::VoteCounts::beats_heard>(18).as(
        "heartbeats_heard"),
    field<&VotesAnswer::view, &VoteView::status, &VoteStatus::counts, &cluster::VoteCounts::beats_lost>(19).as(
        "heartbeats_lost"),
    field<&VotesAnswer::messages>(20, list(kMaxVoteMessages)), field<&VotesAnswer::view, &VoteView::state>(30, kWords),
    field<&VotesAnswer::view, &VoteView::keys>(31).as("key"),
    field<&VotesAnswer::view, &VoteView::unheard>(32, list(kMaxVoters)),
    field<&VotesAnswer::view, &VoteView::in_minority>(33));

template <>
constexpr auto kDescription<AdminAnswer> =
    describe<AdminAnswer>(
        "an answer", alternative<MembersAnswer, AdminAnswer>(1, "members"),
        alternative<LeaderView, AdminAnswer>(2, "leader"), alternative<QuorumView, AdminAnswer>(3, "quorum"),
        alternative<SecretsAnswer, AdminAnswer>(4, "secrets"), alternative<std::string, AdminAnswer>(5, "done", kWords),
        alternative<VotesAnswer, AdminAnswer>(6, "votes"), alternative<ManagersView, AdminAnswer>(7, "managers"))
        .within(wire::kMaxFrame);

template const Message& message_of<AdminRequest>();
template const Message& message_of<AdminAnswer>();

}  // namespace bellwether::message

namespace bellwether::node {
namespace {

void drop_what_does_not_fit(std::vector<cluster::VoteMessageView>& messages) {
  auto first = messages.end();
  for (std::size_t room = kVoteMessageBytes; first != messages.begin();) {
    const std::size_t size = std::prev(first)->json.size() + 256;  // and the rest of it, at most
    if (size > room) break;
    room -= size;
    --first;
  }
  messages.erase(messages.begin(), first);
}

}  // namespace

VotesAnswer votes_answer(cluster::VoteView view, std::vector<cluster::VoteMessageView> messages, std::string self) {
  VotesAnswer out;
  const vote::ScoreWeights& weights = view.weights;
  out.weights = {weights.uptime,  weights.capability, weights.resources,
                 weights.network, weights.experience, weights.fitness};
  const auto put_refused = [&](std::string_view reason, uint64_t count) {
    if (count > 0) out.refused.push_back({std::string(reason), count});
  };
  const cluster::VoteCounts& counts = view.status.counts;
  for (std::size_t i = 0; i < counts.unheard.size(); ++i) {
    put_refused(to_string(static_cast<cluster::Unheard>(i)), counts.unheard[i]);
  }
  for (std::size_t i = 0; i < counts.refusals.size(); ++i) {
    put_refused(to_string(static_cast<vote::Refusal>(i)), counts.refusals[i]);
  }
  for (const auto& [name, count] : counts.unsigned_of) out.unsigned_of.push_back(name);
  drop_what_does_not_fit(messages);
  out.messages = std::move(messages);
  out.answered_by = std::move(self);
  out.view = std::move(view);
  return out;
}

}  // namespace bellwether::node

#include "cluster/net/leadership_codec.h"

#include <algorithm>
#include <functional>

#include "core/message/describe.h"
#include "election/quorum/quorum_timing.h"

namespace bellwether::cluster {
namespace {

constexpr std::size_t kBytesMost = 4096;

std::string_view wrong_members(const quorum::Configuration& of) {
  for (const auto* list : {&of.voters, &of.next}) {
    const bool ascends = std::adjacent_find(list->begin(), list->end(), std::greater_equal<>()) == list->end();
    if (!ascends || (!list->empty() && list->front() == quorum::kNobody)) return "members that are no set";
  }
  return "";
}
std::string_view wrong_configure(const quorum::Configure& of) { return wrong_members(of.members); }

}  // namespace
}  // namespace bellwether::cluster

namespace bellwether::message {

using namespace quorum;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject

namespace {

// A refusal of a newer version is one all the same.
constexpr Rule kRefusal = one_of(static_cast<std::size_t>(Refusal::kDisk) + 1, Refusal::kVoted);
constexpr Rule kLease = at_most(kLongestLease);

}  // namespace

template <>
constexpr auto kDescription<ConfigurationStamp> = describe<ConfigurationStamp>(
    "a stamp of a configuration", field<&ConfigurationStamp::term>(1), field<&ConfigurationStamp::number>(2));

template <>
constexpr auto kDescription<Configuration> = describe<Configuration, &cluster::wrong_members>(
    "a configuration", field<&Configuration::stamp>(1), field<&Configuration::voters>(2, list(kMostMembers, fixed())),
    field<&Configuration::next>(3, list(kMostMembers, fixed())));

template <>
constexpr auto kDescription<Standing> =
    describe<Standing>("a standing", field<&Standing::health>(1, at_most(8)), field<&Standing::priority>(2),
                       field<&Standing::electable>(3), field<&Standing::active>(4), field<&Standing::state>(5));

template <>
constexpr auto kDescription<Permission> =
    describe<Permission>("a permission", field<&Permission::leader>(1, fixed()), field<&Permission::term>(2));

template <>
constexpr auto kDescription<Greeting> = describe<Greeting>("a greeting", field<&Greeting::challenge>(1, fixed()));

template <>
constexpr auto kDescription<GreetingAnswer> =
    describe<GreetingAnswer>("an answer to a greeting", field<&GreetingAnswer::life>(1, fixed()),
                             field<&GreetingAnswer::challenge>(2, fixed()), field<&GreetingAnswer::newest_record>(3));

template <>
constexpr auto kDescription<Superseded> =
    describe<Superseded>("an end of a life", field<&Superseded::life>(1, fixed()));

template <>
constexpr auto kDescription<WhoAreYou> = describe<WhoAreYou>("a question for a greeting");

template <>
constexpr auto kDescription<PreVote> =
    describe<PreVote>("a pre-vote", field<&PreVote::number>(1), field<&PreVote::proposed>(2),
                      field<&PreVote::members>(3), field<&PreVote::standing>(4));

template <>
constexpr auto kDescription<PreVoteAnswer> =
    describe<PreVoteAnswer>("an answer to a pre-vote", field<&PreVoteAnswer::number>(1),
                            field<&PreVoteAnswer::refusal>(2, kRefusal), field<&PreVoteAnswer::again_after>(3, kLease));

template <>
constexpr auto kDescription<Vote> =
    describe<Vote>("a request for a vote", field<&Vote::number>(1), field<&Vote::members>(2), field<&Vote::standing>(3),
                   field<&Vote::permission>(4));

template <>
constexpr auto kDescription<VoteAnswer> =
    describe<VoteAnswer>("a vote", field<&VoteAnswer::number>(1), field<&VoteAnswer::refusal>(2, kRefusal),
                         field<&VoteAnswer::again_after>(3, kLease));

template <>
constexpr auto kDescription<Heartbeat> = describe<Heartbeat>(
    "a heartbeat", field<&Heartbeat::round>(1), field<&Heartbeat::lease>(2, kLease), field<&Heartbeat::members>(3));

template <>
constexpr auto kDescription<HeartbeatAnswer> = describe<HeartbeatAnswer>(
    "an answer to a heartbeat", field<&HeartbeatAnswer::round>(1), field<&HeartbeatAnswer::leader_life>(2, fixed()),
    field<&HeartbeatAnswer::promised>(3), field<&HeartbeatAnswer::members>(4), field<&HeartbeatAnswer::standing>(5));

template <>
constexpr auto kDescription<StandNow> = describe<StandNow>("a hand-over");
template <>
constexpr auto kDescription<Resigned> = describe<Resigned>("a resignation");
template <>
constexpr auto kDescription<Configure> = describe<Configure, &cluster::wrong_configure>(
    "a configuration", field<&Configure::members, &Configuration::stamp>(1),
    field<&Configure::members, &Configuration::voters>(2, list(kMostMembers, fixed())),
    field<&Configure::members, &Configuration::next>(3, list(kMostMembers, fixed())));

template <>
constexpr auto kDescription<quorum::Message> =
    describe<quorum::Message>("a message of the election", field<&quorum::Message::from>(1, fixed(kSome)),
                              field<&quorum::Message::term>(2), field<&quorum::Message::life>(3, fixed()),
                              field<&quorum::Message::record>(4),
                              alternative<Greeting, &quorum::Message::body>(5, "greeting"),
                              alternative<GreetingAnswer, &quorum::Message::body>(6, "greeting_answer"),
                              alternative<Superseded, &quorum::Message::body>(7, "superseded"),
                              alternative<WhoAreYou, &quorum::Message::body>(8, "who_are_you"),
                              alternative<PreVote, &quorum::Message::body>(9, "pre_vote"),
                              alternative<PreVoteAnswer, &quorum::Message::body>(10, "pre_vote_answer"),
                              alternative<Vote, &quorum::Message::body>(11, "vote"),
                              alternative<VoteAnswer, &quorum::Message::body>(12, "vote_answer"),
                              alternative<Heartbeat, &quorum::Message::body>(13, "heartbeat"),
                              alternative<HeartbeatAnswer, &quorum::Message::body>(14, "heartbeat_answer"),
                              alternative<StandNow, &quorum::Message::body>(15, "stand_now"),
                              alternative<Resigned, &quorum::Message::body>(16, "resigned"),
                              alternative<Configure, &quorum::Message::body>(17, "configure"))
        .within(cluster::kBytesMost);

template <>
constexpr auto kDescription<Record> =
    describe<Record>("a record of votes", field<&Record::version>(1, kSome), field<&Record::term>(2),
                     field<&Record::vote>(3, fixed()), field<&Record::longest_lease>(4, kLease),
                     field<&Record::members>(5), field<&Record::lost>(6))
        .within(cluster::kBytesMost, Errc::kInvalid);

template <>
const Message& message_of<quorum::Message>() {
  return described<quorum::Message>();
}
template <>
const Message& message_of<Record>() {
  return described<Record>();
}

}  // namespace bellwether::message

namespace bellwether::cluster {

std::string encode_message(const quorum::Message& message) { return message::encode(message); }
Result<quorum::Message> decode_message(std::string_view bytes) { return message::decode<quorum::Message>(bytes); }
std::string encode_record(const quorum::Record& record) { return message::encode(record); }
Result<quorum::Record> decode_record(std::string_view bytes) { return message::decode<quorum::Record>(bytes); }

}  // namespace bellwether::cluster

#include "cluster/leadership_codec.h"

#include <algorithm>
#include <type_traits>

#include "election/quorum/quorum_timing.h"
#include "proto/leadership.pb.h"

namespace bellwether::cluster {
namespace {

using namespace quorum;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject

constexpr std::size_t kBytesMost = 4096;
constexpr uint32_t kRefusals = static_cast<uint32_t>(Refusal::kDisk) + 1;

// --- writing ---------------------------------------------------------------------------------------------------------

void put(const ConfigurationStamp& from, wire::QuorumStamp& to) {
  to.set_term(from.term.value());
  to.set_number(from.number);
}

void put(const Configuration& from, wire::QuorumMembers& to) {
  put(from.stamp, *to.mutable_stamp());
  for (const MemberId one : from.voters) to.add_voters(one.value());
  for (const MemberId one : from.next) to.add_next(one.value());
}

void put(const Standing& from, wire::QuorumStanding& to) {
  to.set_health(from.health);
  to.set_priority(from.priority);
  to.set_electable(from.electable);
  to.set_active(from.active);
  to.set_state(from.state);
}

template <class Answer>
void put_answer(const Answer& from, wire::QuorumMessage::VoteAnswer& to) {
  to.set_number(from.number);
  to.set_refusal(static_cast<uint32_t>(from.refusal));
  to.set_again_after_ns(from.again_after.ns());
}

struct Writer {
  wire::QuorumMessage& to;

  void operator()(const Greeting& from) const { to.mutable_greeting()->set_challenge(from.challenge); }
  void operator()(const GreetingAnswer& from) const {
    auto& answer = *to.mutable_greeting_answer();
    answer.set_life(from.life);
    answer.set_challenge(from.challenge);
    answer.set_newest_record(from.newest_record);
  }
  void operator()(const Superseded& from) const { to.mutable_superseded()->set_life(from.life); }
  void operator()(const WhoAreYou&) const { to.mutable_who_are_you(); }
  void operator()(const PreVote& from) const {
    auto& ask = *to.mutable_pre_vote();
    ask.set_number(from.number);
    ask.set_proposed(from.proposed.value());
    put(from.members, *ask.mutable_members());
    put(from.standing, *ask.mutable_standing());
  }
  void operator()(const PreVoteAnswer& from) const { put_answer(from, *to.mutable_pre_vote_answer()); }
  void operator()(const Vote& from) const {
    auto& ask = *to.mutable_vote();
    ask.set_number(from.number);
    put(from.members, *ask.mutable_members());
    put(from.standing, *ask.mutable_standing());
    if (!from.permission) return;
    ask.mutable_permission()->set_leader(from.permission->leader.value());
    ask.mutable_permission()->set_term(from.permission->term.value());
  }
  void operator()(const VoteAnswer& from) const { put_answer(from, *to.mutable_vote_answer()); }
  void operator()(const Heartbeat& from) const {
    auto& beat = *to.mutable_heartbeat();
    beat.set_round(from.round);
    beat.set_lease_ns(from.lease.ns());
    put(from.members, *beat.mutable_members());
  }
  void operator()(const HeartbeatAnswer& from) const {
    auto& answer = *to.mutable_heartbeat_answer();
    answer.set_round(from.round);
    answer.set_leader_life(from.leader_life);
    answer.set_promised(from.promised);
    put(from.members, *answer.mutable_members());
    put(from.standing, *answer.mutable_standing());
  }
  void operator()(const StandNow&) const { to.mutable_stand_now(); }
  void operator()(const Resigned&) const { to.mutable_resigned(); }
  void operator()(const Configure& from) const { put(from.members, *to.mutable_configure()); }
};

// --- reading ---------------------------------------------------------------------------------------------------------

// Reads what is not plainly a number, and remembers what was wrong with it.
class Reader {
 public:
  const char* wrong = nullptr;

  ConfigurationStamp stamp(const wire::QuorumStamp& from) { return {Term(from.term()), from.number()}; }
  Standing standing(const wire::QuorumStanding& from) {
    if (from.health() > 8 || from.priority() > 255) wrong = "a standing out of its bounds";
    return {.health = static_cast<uint8_t>(from.health()),
            .priority = static_cast<uint8_t>(from.priority()),
            .electable = from.electable(),
            .active = from.active(),
            .state = from.state()};
  }
  Duration span(int64_t ns) {
    if (ns < 0 || ns > kLongestLease.ns()) wrong = "a span out of its bounds";
    return Duration::nanos(wrong != nullptr ? 0 : ns);
  }
  Configuration members(const wire::QuorumMembers& from) {
    Configuration out;
    out.stamp = stamp(from.stamp());
    if (from.voters_size() > static_cast<int>(kMostMembers) || from.next_size() > static_cast<int>(kMostMembers)) {
      wrong = "too many members";
      return out;
    }
    for (const uint64_t one : from.voters()) out.voters.emplace_back(one);
    for (const uint64_t one : from.next()) out.next.emplace_back(one);
    for (const auto* list : {&out.voters, &out.next}) {
      const bool ascends = std::adjacent_find(list->begin(), list->end(), std::greater_equal<>()) == list->end();
      if (!ascends || (!list->empty() && list->front() == kNobody)) wrong = "members that are no set";
    }
    return out;
  }
  template <class Answer>
  Answer answer(const wire::QuorumMessage::VoteAnswer& from) {
    // A refusal of a newer version is one all the same.
    const auto refusal = from.refusal() < kRefusals ? static_cast<Refusal>(from.refusal()) : Refusal::kVoted;
    return {.number = from.number(), .refusal = refusal, .again_after = span(from.again_after_ns())};
  }
  Vote vote(const wire::QuorumMessage::Vote& from) {
    Vote out{.number = from.number(),
             .members = stamp(from.members()),
             .standing = standing(from.standing()),
             .permission = std::nullopt};
    if (from.has_permission()) {
      out.permission = Permission{MemberId(from.permission().leader()), Term(from.permission().term())};
    }
    return out;
  }
  std::optional<Body> body(const wire::QuorumMessage& from);
};

std::optional<Body> Reader::body(const wire::QuorumMessage& from) {
  using Case = wire::QuorumMessage::BodyCase;
  switch (from.body_case()) {
    case Case::kGreeting: return Greeting{from.greeting().challenge()};
    case Case::kGreetingAnswer:
      return GreetingAnswer{from.greeting_answer().life(), from.greeting_answer().challenge(),
                            from.greeting_answer().newest_record()};
    case Case::kSuperseded: return Superseded{from.superseded().life()};
    case Case::kWhoAreYou: return WhoAreYou{};
    case Case::kPreVote:
      return PreVote{from.pre_vote().number(), Term(from.pre_vote().proposed()), stamp(from.pre_vote().members()),
                     standing(from.pre_vote().standing())};
    case Case::kPreVoteAnswer: return answer<PreVoteAnswer>(from.pre_vote_answer());
    case Case::kVote: return vote(from.vote());
    case Case::kVoteAnswer: return answer<VoteAnswer>(from.vote_answer());
    case Case::kHeartbeat:
      return Heartbeat{from.heartbeat().round(), span(from.heartbeat().lease_ns()), stamp(from.heartbeat().members())};
    case Case::kHeartbeatAnswer: {
      const auto& told = from.heartbeat_answer();
      return HeartbeatAnswer{told.round(), told.leader_life(), told.promised(), stamp(told.members()),
                             standing(told.standing())};
    }
    case Case::kStandNow: return StandNow{};
    case Case::kResigned: return Resigned{};
    case Case::kConfigure: return Configure{members(from.configure())};
    case Case::BODY_NOT_SET: break;
  }
  return std::nullopt;
}

}  // namespace

std::string encode_message(const quorum::Message& message) {
  wire::QuorumMessage out;
  out.set_from(message.from.value());
  out.set_term(message.term.value());
  out.set_life(message.life);
  out.set_record(message.record);
  std::visit(Writer{out}, message.body);
  return out.SerializeAsString();
}

Result<quorum::Message> decode_message(std::string_view bytes) {
  wire::QuorumMessage in;
  if (bytes.size() > kBytesMost || !in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kProtocol, "a message of the election that cannot be read");
  }
  Reader reader;
  auto body = reader.body(in);
  if (in.from() == 0) reader.wrong = "nobody as the sender";
  if (reader.wrong != nullptr)
    return fail(Errc::kProtocol, std::string("a message of the election with ") + reader.wrong);
  if (!body) return fail(Errc::kUnsupported, "a message of the election of a kind that is not known");
  return quorum::Message{MemberId(in.from()), Term(in.term()), in.life(), in.record(), std::move(*body)};
}

std::string encode_record(const quorum::Record& record) {
  // By name and whole: a part that is added to the record and forgotten here does not compile.
  const auto& [version, term, vote, longest_lease, members, lost] = record;
  wire::QuorumRecord out;
  out.set_version(version);
  out.set_term(term.value());
  out.set_vote(vote.value());
  out.set_longest_lease_ns(longest_lease.ns());
  put(members, *out.mutable_members());
  out.set_lost(lost);
  return out.SerializeAsString();
}

Result<quorum::Record> decode_record(std::string_view bytes) {
  wire::QuorumRecord in;
  Reader reader;
  if (bytes.size() > kBytesMost || !in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kInvalid, "a record of votes that cannot be read");
  }
  quorum::Record out;
  out.version = in.version();
  out.term = Term(in.term());
  out.vote = MemberId(in.vote());
  out.longest_lease = reader.span(in.longest_lease_ns());
  out.members = reader.members(in.members());
  out.lost = in.lost();
  if (in.version() == 0) reader.wrong = "no version";
  if (reader.wrong != nullptr) return fail(Errc::kInvalid, std::string("a record of votes with ") + reader.wrong);
  return out;
}

}  // namespace bellwether::cluster

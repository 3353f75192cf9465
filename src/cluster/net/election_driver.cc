#include "cluster/net/election_driver.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "cluster/net/message_classes.h"
#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/message/describe.h"
#include "election/quorum/quorum_timing.h"

namespace bellwether::cluster {
namespace {

constexpr std::size_t kMaxBytes = 4096;

std::string_view wrong_members(const quorum::Configuration& of) {
  for (const auto* list : {&of.voters, &of.next}) {
    const bool ascends = std::adjacent_find(list->begin(), list->end(), std::greater_equal<>()) == list->end();
    if (!ascends || (!list->empty() && list->front() == quorum::kNobody)) return "members out of order or listed twice";
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
    "a configuration", field<&Configuration::stamp>(1), field<&Configuration::voters>(2, list(kMaxMembers, fixed())),
    field<&Configuration::next>(3, list(kMaxMembers, fixed())));

template <>
constexpr auto kDescription<Eligibility> = describe<Eligibility>(
    "an eligibility", field<&Eligibility::health>(1, at_most(8)), field<&Eligibility::priority>(2),
    field<&Eligibility::electable>(3), field<&Eligibility::active>(4), field<&Eligibility::state>(5));

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
constexpr auto kDescription<WhoAreYou> = describe<WhoAreYou>("a request for a greeting");

template <>
constexpr auto kDescription<PreVote> =
    describe<PreVote>("a pre-vote", field<&PreVote::number>(1), field<&PreVote::proposed>(2),
                      field<&PreVote::members>(3), field<&PreVote::eligibility>(4));

template <>
constexpr auto kDescription<PreVoteAnswer> =
    describe<PreVoteAnswer>("an answer to a pre-vote", field<&PreVoteAnswer::number>(1),
                            field<&PreVoteAnswer::refusal>(2, kRefusal), field<&PreVoteAnswer::again_after>(3, kLease));

template <>
constexpr auto kDescription<Vote> =
    describe<Vote>("a request for a vote", field<&Vote::number>(1), field<&Vote::members>(2),
                   field<&Vote::eligibility>(3), field<&Vote::permission>(4));

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
    field<&HeartbeatAnswer::promised>(3), field<&HeartbeatAnswer::members>(4), field<&HeartbeatAnswer::eligibility>(5));

template <>
constexpr auto kDescription<StandNow> = describe<StandNow>("a hand-over");
template <>
constexpr auto kDescription<Resigned> = describe<Resigned>("a resignation");
template <>
constexpr auto kDescription<Configure> = describe<Configure, &cluster::wrong_configure>(
    "a configuration", field<&Configure::members, &Configuration::stamp>(1),
    field<&Configure::members, &Configuration::voters>(2, list(kMaxMembers, fixed())),
    field<&Configure::members, &Configuration::next>(3, list(kMaxMembers, fixed())));

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
        .within(cluster::kMaxBytes);

template <>
constexpr auto kDescription<Record> =
    describe<Record>("a record of votes", field<&Record::version>(1, kSome), field<&Record::term>(2),
                     field<&Record::vote>(3, fixed()), field<&Record::longest_lease>(4, kLease),
                     field<&Record::members>(5), field<&Record::lost>(6))
        .within(cluster::kMaxBytes, Errc::kInvalid);

template const Message& message_of<quorum::Message>();
template const Message& message_of<Record>();

}  // namespace bellwether::message

namespace bellwether::cluster {

namespace {

using runtime::task;

constexpr const char* kRecord = "election/record";

quorum::QuorumConfig config_of(const ElectionSettings& settings) {
  quorum::QuorumConfig config;
  config.self = member_id(settings.self);
  config.timing = settings.timing;
  for (const std::string& name : settings.voters) config.bootstrap.push_back(member_id(name));
  // People count upwards, the kernel counts places in a queue.
  config.priority = static_cast<uint8_t>(8 - std::min(settings.priority, 8u));
  return config;
}

}  // namespace

ElectionDriver::ElectionDriver(runtime::Runtime& runtime, Kv& kv, PeerLinks& links, MessageRouter& router,
                               Addresses addresses, ElectionSettings settings, uint64_t seed, Listener& listener)
    : runtime_(runtime),
      kv_(kv),
      links_(links),
      router_(router),
      addresses_(addresses),
      settings_(std::move(settings)),
      listener_(listener),
      kernel_(config_of(settings_), seed) {
  learn(settings_.self);
  for (const std::string& name : settings_.voters) learn(name);
  router_.connect(message_type::kLeadership, *this);
}

ElectionDriver::~ElectionDriver() { router_.disconnect(message_type::kLeadership); }

std::string ElectionDriver::name_of(quorum::MemberId member) const {
  const auto found = names_.find(member);
  return found == names_.end() ? std::string() : found->second;
}

task<void> ElectionDriver::run(runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  std::string missing = fmt::format("'{}' has no record of its earlier votes", settings_.self);
  const auto start =
      co_await load_record<quorum::Start>(kv_, kRecord, settings_.first_start, std::move(missing), listener_);
  scope_ = &scope;
  loop_.begin(start);
  loop_.tell(quorum::Stand{stands_});
  co_await loop_.keep_time(quorum::Tick{}, scope.cancellation());
  scope.cancel();
  co_await scope.join();
  loop_.end();
  scope_ = nullptr;
  terms_.drop();
}

void ElectionDriver::tell(quorum::Event event) {
  if (loop_.running()) loop_.tell(std::move(event));
}

void ElectionDriver::on_message(link::Connection& connection, const wire::Inbound& inbound) {
  if (!loop_.running()) return;
  auto message = message::decode<quorum::Message>(as_text(inbound.body));
  const std::string& sender = connection.peer().identity.node;
  if (!message) {
    ++refused_;
    return;
  }
  if (message->from != member_id(sender)) {
    ++refused_;
    return router_.refuse(connection, wire::Refusal::kName, "an election message in the name of another node");
  }
  learn(sender);
  loop_.tell(quorum::Received{std::move(*message)});
}

Status ElectionDriver::hand_over(const std::string& cause, const std::string& heir) {
  quorum::StepDown wish{.cause = cause, .heir = quorum::kNobody};
  if (!heir.empty()) {
    const std::vector<Voter> voters = view().voters;
    const bool known = std::any_of(voters.begin(), voters.end(), [&](const Voter& one) { return one.name == heir; });
    if (!known)
      return fail(Errc::kInvalid, "'{}' is not a voter of this cluster; `bellwether cluster quorum` lists the voters",
                  printable(heir));
    if (heir == settings_.self) return fail(Errc::kInvalid, "'{}' is the leader already", heir);
    wish.heir = member_id(heir);
  }
  if (!kernel_.has_heir(runtime_.boot_now())) {
    return fail(Errc::kRefused,
                fmt::format("'{}' stays the leader: no other voter that could take over answers", settings_.self));
  }
  tell(wish);
  return {};
}

void ElectionDriver::leave(const std::string& cause) {
  tell(quorum::StepDown{.cause = cause, .heir = quorum::kNobody, .leaving = true});
}

// The kernel answers within the call.
Status ElectionDriver::change_voters(bool add, const std::string& name) {
  const auto kind = add ? quorum::MemberChange::Kind::kAdd : quorum::MemberChange::Kind::kRemove;
  learn(name);
  change_refused_.clear();
  tell(quorum::ChangeMembers{{kind, member_id(name)}});
  if (!change_refused_.empty())
    return fail(Errc::kRefused, "the voters stay as they are ('{}': {}); `bellwether cluster quorum` lists them", name,
                change_refused_);
  return {};
}

std::string ElectionDriver::obstacle() const {
  return kernel_.follows_only() ? "it does not vote: its record of votes is lost" : std::string();
}

Leadership::View ElectionDriver::view() const {
  const quorum::Configuration& members = kernel_.members();
  const auto has = [](const std::vector<quorum::MemberId>& all, quorum::MemberId id) {
    return std::find(all.begin(), all.end(), id) != all.end();
  };
  View view{.decided_by = "quorum", .role = to_string(kernel_.role()), .term = kernel_.term().value()};
  view.active = kernel_.active();
  view.follows_only = kernel_.follows_only();
  for (const quorum::MemberId id : members.voters) {
    view.voters.push_back({.name = name_of(id), .leaving = members.joint() && !has(members.next, id)});
  }
  for (const quorum::MemberId id : members.next) {
    if (!has(members.voters, id)) view.voters.push_back({.name = name_of(id), .joining = true});
  }
  view.changing = members.joint() || (kernel_.role() == quorum::Role::kLeader && !kernel_.members_settled());
  return view;
}

std::string ElectionDriver::named(const std::string& text) const { return with_names(text, "member ", names_); }

void ElectionDriver::carry_out(const quorum::Send& send) {
  const std::string name = name_of(send.to);
  const auto peer = name.empty() ? std::nullopt : addresses_(name);
  if (!peer) return;  // as if it had been lost: the kernel repeats important messages
  links_.send(*peer, message_type::kLeadership, wire::Priority::kLeadership, message::encode(send.message),
              settings_.timing.lease);
}

void ElectionDriver::carry_out(quorum::Persist& persist) {
  scope_->spawn(this->persist(this, std::move(persist.record)));
}

task<void> ElectionDriver::persist(ElectionDriver* self, quorum::Record record) {
  std::vector<KvChange> changes;
  changes.push_back({kRecord, message::encode(record)});
  const Status done = co_await self->kv_.put(std::move(changes));
  quorum::Persisted persisted{.version = record.version, .ok = done.has_value(), .why = {}};
  if (!done) persisted.why = done.error().message;
  self->loop_.tell(std::move(persisted));
}

void ElectionDriver::carry_out(const quorum::TermEnded& ended) {
  election::TermEnded told = ended;
  told.why = named(told.why);
  terms_.ended(told);
}

void ElectionDriver::carry_out(const quorum::LeaderChanged& changed) {
  listener_.on_leader_changed(name_of(changed.leader), changed.term, named(changed.evidence));
}

void ElectionDriver::carry_out(const quorum::MembersChanged& changed) {
  std::vector<std::string> names;
  for (const quorum::MemberId one : changed.members.voters) names.push_back(name_of(one));
  listener_.on_voters_changed(names);
}

}  // namespace bellwether::cluster

#include "cluster/net/election_driver.h"

#include <algorithm>
#include <utility>

#include "cluster/net/leadership_codec.h"
#include "cluster/net/message_types.h"
#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/encoding.h"

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

ElectionDriver::ElectionDriver(runtime::Runtime& runtime, Kv& kv, PeerLinks& links, Switchboard& switchboard,
                               const Addresses& addresses, ElectionSettings settings, uint64_t seed, Listener& listener)
    : runtime_(runtime),
      kv_(kv),
      links_(links),
      switchboard_(switchboard),
      addresses_(addresses),
      settings_(std::move(settings)),
      listener_(listener),
      kernel_(config_of(settings_), seed) {
  learn(settings_.self);
  for (const std::string& name : settings_.voters) learn(name);
  switchboard_.connect(message_type::kLeadership, *this);
}

ElectionDriver::~ElectionDriver() { switchboard_.disconnect(message_type::kLeadership); }

std::string ElectionDriver::name_of(quorum::MemberId member) const {
  const auto found = names_.find(member);
  return found == names_.end() ? std::string() : found->second;
}

// What this voter has ever said. That nothing is there proves nothing: a disk may have been replaced.
task<quorum::Start> ElectionDriver::load() {
  quorum::Start start;
  const auto stored = co_await kv_.get(kRecord);
  if (stored && stored->has_value()) {
    auto record = decode_record(**stored);
    if (record) {
      start.found = quorum::Start::Found::kRecord;
      start.record = std::move(*record);
      co_return start;
    }
    listener_.on_note(true, record.error().message);
  } else if (!stored) {
    listener_.on_note(true, "what this voter has voted cannot be read: " + stored.error().message);
  } else if (settings_.first_start) {
    start.found = quorum::Start::Found::kNew;
    co_return start;
  } else {
    listener_.on_note(true,
                      "nothing is known of earlier votes of '" + settings_.self +
                          "', so it follows and does not vote. If it has never been a voter of this cluster, start it "
                          "once with --first-start; if its disk was lost, let a new voter take its place");
  }
  start.found = quorum::Start::Found::kUnreadable;
  co_return start;
}

task<void> ElectionDriver::run(runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  const quorum::Start start = co_await load();
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
  auto message = decode_message(as_text(inbound.body));
  const std::string& sender = connection.peer().identity.node;
  if (!message) {
    ++refused_;
    return;
  }
  if (message->from != member_id(sender)) {
    ++refused_;
    return switchboard_.refuse(connection, wire::Refusal::kName,
                               "a message of an election in the name of another node");
  }
  learn(sender);
  loop_.tell(quorum::Received{std::move(*message)});
}

Status ElectionDriver::hand_over(const std::string& cause, const std::string& heir) {
  quorum::StepDown wish{.cause = cause, .heir = quorum::kNobody};
  if (!heir.empty()) {
    const std::vector<Voter> voters = view().voters;
    const bool known = std::any_of(voters.begin(), voters.end(), [&](const Voter& one) { return one.name == heir; });
    if (!known) return fail(Errc::kInvalid, "'" + printable(heir) + "' is no voter of this cluster");
    if (heir == settings_.self) return fail(Errc::kInvalid, "'" + heir + "' leads already");
    wish.heir = member_id(heir);
  }
  if (!kernel_.has_heir(runtime_.boot_now())) {
    return fail(Errc::kRefused,
                "'" + settings_.self + "' goes on leading: no other voter answers that could take over");
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
  if (!change_refused_.empty()) return fail(Errc::kRefused, "the voters stay as they are: " + change_refused_);
  return {};
}

std::string ElectionDriver::obstacle() const {
  return kernel_.follows_only() ? "its record of votes is lost: it does not vote" : std::string();
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
  const auto peer = name.empty() ? std::nullopt : addresses_.find(name);
  if (!peer) return;  // as if it had been lost: the kernel says again what matters
  links_.send(*peer, message_type::kLeadership, wire::Priority::kLeadership, encode_message(send.message),
              settings_.timing.lease);
}

void ElectionDriver::carry_out(quorum::Persist& persist) {
  scope_->spawn(this->persist(this, std::move(persist.record)));
}

task<void> ElectionDriver::persist(ElectionDriver* self, quorum::Record record) {
  std::vector<KvChange> changes;
  changes.push_back({kRecord, encode_record(record)});
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

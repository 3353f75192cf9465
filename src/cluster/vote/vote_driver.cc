#include "cluster/vote/vote_driver.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cluster/net/message_classes.h"
#include "cluster/vote/vote_codec.h"
#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "election/quorum/configuration.h"

namespace bellwether::cluster {
namespace {

using runtime::task;

constexpr const char* kRecord = "vote/record";
constexpr const char* kExperience = "vote/experience";  // nanoseconds
constexpr Duration kExperienceEvery = Duration::minutes(1);

vote::NodeId node_id(const std::string& name) { return vote::NodeId(member_id(name).value()); }

vote::VoteConfig config_of(const VoteSettings& settings) {
  vote::VoteConfig config;
  config.self = node_id(settings.self);
  for (const std::string& name : settings.members) config.members.push_back(node_id(name));
  config.rule = settings.rule;
  config.timing = settings.timing;
  config.weights = settings.weights;
  config.reputation_weight = settings.reputation_weight;
  config.reconstructs_keys = settings.key_holding.has_value();
  return config;
}

std::map<vote::NodeId, std::string> names_in(const VoteSettings& settings) {
  std::map<vote::NodeId, std::string> out;
  for (const std::string& name : settings.members) out[node_id(name)] = name;
  return out;
}

HearingWatch hearing_of(const VoteSettings& settings, Instant now) {
  std::vector<std::string> others = settings.members;
  std::erase(others, settings.self);
  // Each is asked in its turn; a node that misses that twice is not heard.
  const Duration round = settings.timing.heartbeat() / 2 * static_cast<int64_t>(others.size());
  return {others, settings.timing.heartbeat_timeout + round * 2, now};
}

}  // namespace

void NetworkQuality::answered(Duration round_trip) {
  const double seconds = std::max(round_trip.seconds_f(), 0.0);
  round_trip_ = std::exchange(heard_, true) ? round_trip_ + kNewest * (seconds - round_trip_) : seconds;
  loss_ = std::exchange(asked_, true) ? loss_ * (1 - kNewest) : 0;
}

void NetworkQuality::lost() { loss_ = std::exchange(asked_, true) ? loss_ + kNewest * (1 - loss_) : 1; }

std::optional<double> NetworkQuality::value() const {
  if (!asked_) return std::nullopt;
  return (1 - loss_) / (1 + round_trip_ / kHalfQuality.seconds_f());
}

VoteDriver::VoteDriver(runtime::Runtime& runtime, Kv& kv, PeerLinks& links, MessageRouter& router, Addresses addresses,
                       const VoteSeal& seal, const ResourceSource& resources, VoteSettings settings, uint64_t seed,
                       Listener& listener)
    : runtime_(runtime),
      kv_(kv),
      links_(links),
      router_(router),
      addresses_(addresses),
      seal_(seal),
      resources_(resources),
      settings_(std::move(settings)),
      listener_(listener),
      kernel_(config_of(settings_), seed),
      names_(names_in(settings_)),
      vetting_(settings_.vetting, settings_.self),
      watch_(names_, kernel_.config().self) {
  for (const auto& [node, name] : names_) {
    if (name != settings_.self) network_[node];
  }
  router_.connect(message_type::kVote, *this);
  if (!settings_.key_holding) return;
  const vote::VoteTiming& timing = settings_.timing;
  KeyRecoverySettings keeping{settings_.key, settings_.self, settings_.members, timing.gather, timing.election * 3 / 4};
  keys_.emplace(runtime_, links_, router_, addresses_, seal_, std::move(keeping), std::move(*settings_.key_holding),
                KeyRecovery::Owner{.follows = callback_to<&VoteDriver::follows>(*this),
                                   .on_key = callback_to<&VoteDriver::on_key>(*this),
                                   .on_warning = callback_to<&VoteDriver::on_key_warning>(*this)});
}

VoteDriver::~VoteDriver() { router_.disconnect(message_type::kVote); }

std::string VoteDriver::name_of(vote::NodeId node) const {
  const auto found = names_.find(node);
  return found == names_.end() ? std::string() : found->second;
}

task<void> VoteDriver::run(runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  std::string missing = fmt::format("'{}' has no record of its earlier votes, so it follows and does not vote. {}",
                                    settings_.self, quorum::kNoRecordRemedy);
  const auto start =
      co_await load_record<vote::Start>(kv_, kRecord, settings_.first_start, std::move(missing), listener_);
  const auto stored = co_await kv_.get(kExperience);
  if (stored && stored->has_value()) {
    const uint64_t kept = parse_u64(**stored).value_or(0);
    experience_ = Duration::nanos(static_cast<int64_t>(std::min<uint64_t>(kept, vote::kLongestExperience.ns())));
  }
  co_await load_book();
  started_ = experience_kept_ = runtime_.boot_now();
  hearing_.emplace(hearing_of(settings_, started_));
  scope_ = &scope;
  loop_.begin(vote::Measured{claim()});
  loop_.tell(start);
  for (const auto& [node, name] : names_) loop_.tell(vote::PeerReputation{node, book_.reputation(node)});
  scope.spawn(keep_measuring(scope.cancellation()));
  co_await loop_.keep_time(vote::Tick{}, scope.cancellation());
  scope.cancel();
  co_await scope.join();
  loop_.end();
  scope_ = nullptr;
  terms_.drop();
}

// Twice in the time of a heartbeat, so that each one carries current values.
task<void> VoteDriver::keep_measuring(runtime::Cancellation* cancel) {
  Periodic period(Period::about(settings_.timing.heartbeat() / 2), runtime_.prng().fork());
  while (true) {
    const bool passed = co_await runtime_.sleep(period.next(), cancel);
    if (!passed) break;
    loop_.tell(vote::Measured{claim()});
    co_await ask_someone(cancel);
    const Instant now = runtime_.boot_now();
    for (const HearingWatch::Change& one : hearing_->look(now)) listener_.on_note(one.fewer, one.text);
    for (const std::string& name : hearing_->judge(now)) write_down(node_id(name), vote::Deed::kLostHeartbeats);
    if (runtime_.boot_now() - experience_kept_ >= kExperienceEvery) co_await keep_experience();
  }
  co_await keep_experience();
}

// One after the other, so that many nodes send no more than few.
task<void> VoteDriver::ask_someone(runtime::Cancellation* cancel) {
  if (network_.empty()) co_return;
  const auto next = std::next(network_.begin(), static_cast<std::ptrdiff_t>(++asked_ % network_.size()));
  const vote::NodeId node = next->first;
  const auto peer = addresses_(name_of(node));
  if (!peer) co_return;
  const Instant sent = runtime_.read_clock();
  const auto answer = co_await links_.request(*peer, message_type::kVote, wire::Priority::kLeadership, {},
                                              settings_.timing.heartbeat() / 2, cancel);
  if (cancel->cancelled()) co_return;
  NetworkQuality& quality = network_[node];
  if (answer) {
    quality.answered(runtime_.read_clock() - sent);
    hearing_->heard(peer->name, runtime_.boot_now());
  } else {
    quality.lost();
  }
  tell(vote::PeerMeasured{node, *quality.value()});
}

task<void> VoteDriver::keep_experience() {
  experience_kept_ = runtime_.boot_now();
  std::vector<KvChange> changes;
  changes.push_back({kExperience, std::to_string((experience_ + (experience_kept_ - started_)).ns())});
  // Lost, it is a minute less of experience.
  static_cast<void>(co_await kv_.put(std::move(changes)));
}

void VoteDriver::tell(vote::Event event) {
  if (loop_.running()) loop_.tell(std::move(event));
}

// The kernel answers within the call.
Status VoteDriver::ask(vote::Event event) {
  denied_.clear();
  tell(std::move(event));
  if (!denied_.empty()) return fail(Errc::kRefused, denied_);
  return {};
}

// The asking node measures the round trip.
void VoteDriver::on_request(link::Connection& connection, const wire::Inbound& request) {
  connection.respond(request.id, wire::ReplyStatus::kOk, {});
}

void VoteDriver::on_message(link::Connection& connection, const wire::Inbound& inbound) {
  if (!loop_.running()) return;
  const std::string& sender = connection.peer().identity.node;
  const auto bytes = seal_.open(as_text(inbound.body), sender);
  auto message = bytes ? message::decode<vote::Message>(*bytes) : tl::unexpected(bytes.error());
  Unheard why = bytes ? Unheard::kUnreadable : Unheard::kUnsigned;
  if (message && message->from != node_id(sender)) {
    why = Unheard::kImpostor;
    message = fail(Errc::kProtocol, "'{}' sent a message in the name of another node", printable(sender));
    router_.refuse(connection, wire::Refusal::kName, "a vote message in the name of another node");
  }
  if (message) {
    vet(sender, *message);
    return loop_.tell(vote::Received{std::move(*message)});
  }
  // The first of many is reported.
  if (watch_.unheard(runtime_.wall_now(), sender, why)) listener_.on_note(true, message.error().message);
}

bool VoteDriver::follows(const std::string& admin, election::Term term) const {
  return kernel_.follows(node_id(admin), term, runtime_.boot_now());
}

void VoteDriver::on_key(election::Term term, Result<secret::SecretBytes> key) {
  vote::KeysReady ready{term, key.has_value(), key ? std::string() : key.error().message};
  key_ = key ? std::move(*key) : secret::SecretBytes();
  tell(std::move(ready));
}

// For every end of an election or a term: nothing of the key outlives it.
void VoteDriver::look_at_keys() {
  if (!keys_ || kernel_.office() == vote::Office::kReconstructing) return;
  keys_->stop();
  key_ = {};
}

void VoteDriver::set_health(const quorum::LocalHealth& health) {
  const bool critical = health.load == quorum::Load::kCritical;
  if (!kernel_.leads(runtime_.boot_now()) || (!critical && health.disk)) return;
  // The kernel denies it without an heir.
  tell(vote::Transfer{vote::kNobody, critical ? "it is overloaded (critical)" : "its disk does not answer"});
}

Status VoteDriver::hand_over(const std::string& cause, const std::string& heir) {
  if (heir.empty()) return ask(vote::Transfer{vote::kNobody, cause});
  if (!names_.contains(node_id(heir))) {
    return fail(Errc::kInvalid, "'{}' is not a member of this group", printable(heir));
  }
  return ask(vote::Transfer{node_id(heir), cause});
}

// A node that may do nothing does not stand.
void VoteDriver::stand(bool stands) {
  stands_ = stands;
  tell(vote::Measured{claim()});
}

void VoteDriver::leave(const std::string& cause) { tell(vote::Leave{cause}); }

Status VoteDriver::change_voters(bool, const std::string&) {
  return fail(
      Errc::kUnsupported,
      "the settings of all nodes name the members of a scored vote: stop all nodes, and change 'voters' on each");
}

Status VoteDriver::call_election(bool forced) { return ask(vote::CallElection{forced}); }

std::string VoteDriver::obstacle() const {
  return kernel_.follows_only() ? "it does not vote: its record of votes is lost" : std::string();
}

std::string VoteDriver::named(const std::string& text) const { return with_names(text, "node ", names_); }

void VoteDriver::send(vote::NodeId to, const vote::Message& message) {
  const auto peer = addresses_(name_of(to));
  if (!peer) return;  // as if it had been lost: the kernel repeats important messages
  links_.send(*peer, message_type::kVote, wire::Priority::kLeadership, seal_.seal(message::encode(message)),
              settings_.timing.heartbeat_timeout);
}

task<void> VoteDriver::persist(VoteDriver* self, vote::Record record) {
  std::vector<KvChange> changes;
  changes.push_back({kRecord, message::encode(record)});
  const Status done = co_await self->kv_.put(std::move(changes));
  vote::Persisted persisted{.version = record.version, .ok = done.has_value(), .why = {}};
  if (!done) persisted.why = done.error().message;
  self->loop_.tell(std::move(persisted));
}

void VoteDriver::carry_out(const vote::Broadcast& all) {
  for (const auto& [node, name] : names_) {
    if (name != settings_.self) send(node, all.message);
  }
}

void VoteDriver::carry_out(const vote::Elected& won) {
  const election::TermOfOffice term = terms_.elected(won);
  if (keys_ && settings_.key_receiver) settings_.key_receiver(term, std::move(key_));
}

void VoteDriver::carry_out(const vote::Reconstruct& wanted) {
  if (keys_) keys_->collect(wanted.term, *scope_);
}

void VoteDriver::carry_out(const vote::TermEnded& ended) {
  election::TermEnded told = ended;
  told.why = named(told.why);
  terms_.ended(told);
}

void VoteDriver::carry_out(const vote::AdminChanged& changed) {
  listener_.on_leader_changed(name_of(changed.new_admin), changed.term, named(changed.evidence));
}

void VoteDriver::carry_out(const vote::ElectionComplete& complete) {
  ended_ = complete;
  listener_.on_election_complete(name_of(complete.winner), complete.term, named(complete.why));
}

void VoteDriver::carry_out(const vote::Refused& refused) {
  listener_.on_note(true, fmt::format("a message of '{}' is ignored: {}", name_of(refused.from), refused.why));
}

// A node's claim about itself, its vetting of others, and its reputation book.

namespace {

constexpr const char* kReputation = "vote/reputation";  // the text of a book

}  // namespace

vote::Claim VoteDriver::claim() {
  vote::Claim claim;
  if (stands_) claim.capabilities = vetting_.claimable(settings_.capabilities, runtime_.wall_now());
  claim.attestation = vetting_.own_attestation();
  claim.uptime = runtime_.boot_now() - started_;
  claim.experience = experience_ + claim.uptime;
  claim.resources = resources_.resources();
  if (settings_.fitness) claim.fitness = settings_.fitness();
  double sum = 0;
  std::size_t known = 0;
  for (const auto& [node, quality] : network_) {
    if (const auto value = quality.value()) sum += *value, ++known;
  }
  claim.resources.network_quality = known == 0 ? 1 : sum / static_cast<double>(known);
  return claim;
}

task<void> VoteDriver::load_book() {
  const auto stored = co_await kv_.get(kReputation);
  if (!stored || !stored->has_value()) co_return;
  auto book = vote::ReputationBook::read(**stored);
  if (!book) listener_.on_note(true, book.error().message + ": it starts empty");
  if (book) book_ = std::move(*book);
}

task<void> VoteDriver::keep_book(VoteDriver* self) {
  std::vector<KvChange> changes;
  changes.push_back({kReputation, self->book_.text()});
  // Lost, it is one deed less.
  static_cast<void>(co_await self->kv_.put(std::move(changes)));
}

void VoteDriver::remember(const vote::Conduct& conduct) {
  if (conduct.deed != vote::Deed::kLostHeartbeats) return write_down(conduct.node, conduct.deed);
  hearing_->admin_lost(name_of(conduct.node), runtime_.boot_now());
}

void VoteDriver::write_down(vote::NodeId node, vote::Deed deed) {
  const double before = book_.reputation(node);
  book_.add(node, deed);
  const double reputation = book_.reputation(node);
  if (reputation != before) {
    const long percent = std::lround(reputation * 100);
    listener_.on_note(false, fmt::format("the reputation of '{}' is now {} %", name_of(node), percent));
  }
  loop_.tell(vote::PeerReputation{node, reputation});
  scope_->spawn(keep_book(this));
}

void VoteDriver::vet(const std::string& sender, const vote::Message& message) {
  hearing_->heard(sender, runtime_.boot_now());
  const auto* candidacy = std::get_if<vote::Candidacy>(&message.body);
  if (candidacy == nullptr || !candidacy->stands) return;
  const bool is_there = addresses_(sender).has_value();
  loop_.tell(vetting_.vet(message.from, sender, candidacy->claim, is_there, runtime_.wall_now()));
}

}  // namespace bellwether::cluster

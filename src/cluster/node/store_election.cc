#include "cluster/node/store_election.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/periodic.h"
#include "core/base/units.h"
#include "election/quorum/quorum_elector.h"

namespace bellwether::node {
namespace {

// How many leases a vacancy lasts before order counts for nothing any more.
constexpr int64_t kUnfitWaits = 3;
constexpr int64_t kLowerWaits = 2;

using election::Elector;
using election::Epoch;
using election::EvidenceKind;
using runtime::task;

constexpr const char* kEpoch = "leadership/epoch";
// A leader that is not fit gives way, but not oftener than this.
constexpr Duration kStableFor = Duration::seconds(30);

std::string quoted(const std::string& name) { return fmt::format("'{}'", printable(name)); }

std::string unfit(const quorum::LocalHealth& health) {
  if (!health.ready) return "this node is not ready";
  if (health.load == quorum::Load::kCritical) return "this node is overloaded";
  if (health.score >= quorum::kFitBelow) return fmt::format("the health score of this node is {}", health.score);
  return {};
}

}  // namespace

const Rival* other_minded(std::span<const Rival> rivals, const std::string& decided_by) {
  const auto found = std::find_if(rivals.begin(), rivals.end(), [&](const Rival& one) {
    return !one.decided_by.empty() && one.decided_by != decided_by;
  });
  return found == rivals.end() ? nullptr : &*found;
}

const Rival* fittest(std::span<const Rival> rivals) {
  const Rival* best = nullptr;
  // The highest priority, then the lowest score, then the name, so that all nodes choose alike.
  const auto rank = [](const Rival& one) { return std::tuple(8 - one.priority, one.health_score, one.name); };
  for (const Rival& one : rivals) {
    if (one.electable && (best == nullptr || rank(one) < rank(*best))) best = &one;
  }
  return best;
}

std::string why_not_candidate(const Situation& now) {
  if (const Rival* other = other_minded(now.rivals, now.decided_by); other != nullptr) {
    return fmt::format(
        "'{}' lets {} elect the leader, but this node {}, so there could be two leaders: 'leadership' must be the same "
        "on all nodes",
        other->name, other->decided_by, now.decided_by);
  }
  const auto waited = [&](int64_t leases) { return now.vacant && *now.vacant >= now.lease * leases; };
  if (!now.unfit.empty()) return waited(kUnfitWaits) ? std::string() : now.unfit;
  if (now.named || waited(kLowerWaits)) return {};
  // Of several that go first the fittest is named, so that all waiting nodes name the same.
  const Rival* first = fittest(now.rivals);
  if (first != nullptr && first->priority > now.priority) return fmt::format("'{}' has a higher priority", first->name);
  return {};
}

StoreElection::StoreElection(runtime::Runtime& runtime, store::LeaseStore& store, store::StoreKey& key, cluster::Kv* kv,
                             Rivals rivals, StoreElectionSettings settings, uint64_t seed, Listener& listener)
    : runtime_(runtime),
      store_(store),
      key_(key),
      kv_(kv),
      rivals_(rivals),
      settings_(std::move(settings)),
      seed_(seed),
      listener_(listener) {}

// --- the highest epoch that was seen ---------------------------------------------------------------------------------

// For another store or another key than now it means nothing.
task<Result<Epoch>> StoreElection::recall() {
  if (kv_ == nullptr) co_return Epoch();
  BW_CO_TRY(const auto stored, co_await kv_->get(kEpoch));
  if (!stored) co_return Epoch();
  const std::string& text = *stored;
  const std::size_t space = std::min(text.find(' '), text.size());
  const auto epoch = parse_u64(std::string_view(text).substr(0, space));
  if (!epoch) co_return fail(Errc::kInvalid, "the stored epoch is damaged");
  co_return text.substr(space) == fmt::format(" {} {}", store_.describe(), settings_.key) ? Epoch(*epoch) : Epoch();
}

task<void> StoreElection::keep(StoreElection* self, Epoch floor) {
  std::vector<cluster::KvChange> changes;
  changes.push_back({kEpoch, fmt::format("{} {} {}", floor.value(), self->store_.describe(), self->settings_.key)});
  const Status done = co_await self->kv_->put(std::move(changes));
  if (!done) self->listener_.on_note(true, "the epoch could not be stored: " + done.error().message);
}

void StoreElection::on_floor(Epoch floor) {
  if (kv_ != nullptr) scope_->spawn(keep(this, floor));
}

// --- its life --------------------------------------------------------------------------------------------------------

task<void> StoreElection::run(runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  scope_ = &scope;
  began_ = runtime_.boot_now();
  election::ElectorConfig config;
  config.key = settings_.key;
  config.claim.holder = settings_.self;
  config.timing = settings_.timing;
  config.traits = store_.traits();
  config.stable_for = kStableFor;
  const auto floor = co_await recall();
  if (floor) {
    config.floor = *floor;
  } else {
    // A store that has lost data could not be told from one that has not.
    config.campaign = false;
    listener_.on_note(true, "this node is not a candidate, it only follows: " + floor.error().message);
  }
  candidate_ = std::make_unique<lead::Candidate>(runtime_, key_, std::move(config), seed_, *this);
  why_not_ = "it has not read the store yet";
  candidate_->bad_evidence(EvidenceKind::kSelf, why_not_);
  if (leave_cause_) candidate_->resign({.cause = *leave_cause_, .heir = {}, .stay_out = true});
  scope.spawn(look_round(scope.cancellation()));
  co_await candidate_->run(scope.cancellation());
  scope.cancel();
  co_await scope.join();
  scope_ = nullptr;
  candidate_.reset();
  listener_.on_retired();
}

task<void> StoreElection::look_round(runtime::Cancellation* cancel) {
  Periodic turns(Period::about(settings_.timing.lease / 10), runtime_.prng().fork());
  while (true) {
    review();
    const bool due = co_await runtime_.sleep(turns.next(), cancel);
    if (!due) co_return;
  }
}

// --- what the candidate says -----------------------------------------------------------------------------------------

void StoreElection::on_elected(const election::TermOfOffice& term) {
  stable_from_ = term.since + kStableFor;
  listener_.on_elected(term);
  review();
}

void StoreElection::on_term_ended(const election::TermEnded& ended) {
  listener_.on_term_ended(ended);
  review();
}

void StoreElection::on_leader_changed(const election::LeaseRecord&, const std::string&) { review(); }

void StoreElection::on_store_error(bool, const std::string& why) {
  trouble_ = why;
  trouble_at_ = runtime_.boot_now();
}

// --- what follows from it --------------------------------------------------------------------------------------------

void StoreElection::review() {
  if (candidate_ == nullptr) return;
  const Instant now = runtime_.boot_now();
  const Elector& elector = candidate_->elector();
  if (elector.seen_at() >= trouble_at_) trouble_.clear();
  // An unknown state of the store is no vacancy.
  const bool vacant = elector.seen_at() >= began_ && obstacle().empty() && elector.holder_until() <= now;
  if (!vacant) {
    vacant_since_.reset();
  } else if (!vacant_since_) {
    vacant_since_ = now;
  }
  const std::vector<Rival> rivals = rivals_();
  Situation situation{.unfit = unfit_,
                      .priority = settings_.priority,
                      .decided_by = settings_.decided_by,
                      .lease = settings_.timing.lease,
                      .rivals = rivals};
  if (vacant_since_) situation.vacant = now - *vacant_since_;
  const election::LeaseRecord& record = elector.seen().record;
  situation.named = !record.held() && record.heir == settings_.self;
  const std::string why = elector.holds() ? std::string() : why_not_candidate(situation);
  if (why != why_not_) {
    why_not_ = why;
    if (why.empty()) {
      candidate_->good_evidence(EvidenceKind::kSelf);
    } else {
      candidate_->bad_evidence(EvidenceKind::kSelf, why);
    }
  }
  step_down_when_unfit(now);
  tell_of_leader(now);
}

// The next leader must be able to lead: an unfit leader is better than none.
void StoreElection::step_down_when_unfit(Instant now) {
  const Elector& elector = candidate_->elector();
  if (unfit_.empty() || elector.state() != Elector::State::kLeading || now < stable_from_) return;
  const std::vector<Rival> rivals = rivals_();
  const Rival* heir = fittest(rivals);
  if (heir == nullptr) return;
  candidate_->resign({.cause = unfit_, .heir = heir->name, .stay_out = false, .forced = false});
}

void StoreElection::tell_of_leader(Instant now) {
  const Elector& elector = candidate_->elector();
  const election::LeaseRecord& record = elector.seen().record;
  std::string leader;
  std::string evidence;
  Epoch epoch = epoch_;
  if (leads(now)) {
    leader = settings_.self;
    epoch = elector.epoch();
    evidence = fmt::format("{} granted it the key {}", store_.describe(), settings_.key);
  } else if (elector.holder_until() > now && record.holder != settings_.self) {
    leader = record.holder;
    epoch = record.epoch;
    evidence = fmt::format("{} shows it as the holder of the key {}", store_.describe(), settings_.key);
  } else {
    evidence = why_nobody();
  }
  if (leader == leader_ && (leader.empty() || epoch == epoch_)) return;
  leader_ = leader;
  epoch_ = epoch;
  listener_.on_leader_changed(leader_, election::Term(epoch_.value()), evidence);
}

std::string StoreElection::why_nobody() const {
  if (!trouble_.empty()) return fmt::format("{} does not answer: {}", store_.describe(), trouble_);
  const election::LeaseRecord& record = candidate_->elector().seen().record;
  if (record.holder == settings_.self) return "the key belongs to an earlier term of this node";
  if (record.held()) return fmt::format("the lease of {} has expired", quoted(record.holder));
  return record.cause.empty() ? "nobody holds the key " + settings_.key : record.cause;
}

// --- what the node asks ----------------------------------------------------------------------------------------------

bool StoreElection::leads(Instant now) const {
  return candidate_ != nullptr && candidate_->elector().holds() && candidate_->elector().term_ends() > now;
}

void StoreElection::set_health(const quorum::LocalHealth& health) {
  unfit_ = unfit(health);
  review();
}

Status StoreElection::hand_over(const std::string& cause, const std::string& heir) {
  if (heir == settings_.self) return fail(Errc::kInvalid, quoted(heir) + " is the leader already");
  const std::vector<Rival> rivals = rivals_();
  const Rival* to = fittest(rivals);
  if (!heir.empty()) {
    const auto found = std::find_if(rivals.begin(), rivals.end(), [&](const Rival& one) { return one.name == heir; });
    if (found == rivals.end()) return fail(Errc::kInvalid, quoted(heir) + " is not a gate or manager that is alive");
    to = found->electable ? &*found : nullptr;
  }
  if (to == nullptr) {
    return fail(Errc::kRefused, "{}{}: it must be ready, and reach {}",
                heir.empty() ? "no other gate or manager" : quoted(heir),
                heir.empty() ? " can lead now" : " cannot lead now", store_.describe());
  }
  if (candidate_ != nullptr) candidate_->resign({.cause = cause, .heir = to->name, .stay_out = false});
  return {};
}

void StoreElection::leave(const std::string& cause) {
  leave_cause_ = cause;
  if (candidate_ == nullptr) return;
  const std::vector<Rival> rivals = rivals_();
  const Rival* heir = fittest(rivals);
  candidate_->resign({.cause = cause, .heir = heir == nullptr ? std::string() : heir->name, .stay_out = true});
}

Status StoreElection::change_voters(bool, const std::string&) {
  return fail(
      Errc::kUnsupported,
      store_.describe() +
          " elects the leader of this cluster, so there are no voters: every gate and manager that joins may lead");
}

std::string StoreElection::obstacle() const {
  if (candidate_ == nullptr) return {};
  const Duration silent = runtime_.boot_now() - std::max(candidate_->elector().seen_at(), began_);
  if (silent <= settings_.timing.lease) return {};
  return fmt::format("{}, which elects the leader, has not answered for {}{}", store_.describe(),
                     format_duration(silent), trouble_.empty() ? "" : ": " + trouble_);
}

bool StoreElection::electable() const {
  if (candidate_ == nullptr || leave_cause_ || !unfit_.empty()) return false;
  if (!candidate_->elector().config().campaign || candidate_->elector().seen_at() < began_) return false;
  const std::vector<Rival> rivals = rivals_();
  return obstacle().empty() && other_minded(rivals, settings_.decided_by) == nullptr;
}

cluster::Leadership::View StoreElection::view() const {
  View view{.decided_by = fmt::format("{}, key {}", store_.describe(), settings_.key), .term = epoch_.value()};
  if (candidate_ == nullptr) return view;
  view.active = true;
  view.role = leads(runtime_.boot_now()) ? "leader" : why_not_.empty() ? "candidate" : "follower";
  if (!candidate_->elector().holds()) view.stands_back = why_not_;
  return view;
}

}  // namespace bellwether::node

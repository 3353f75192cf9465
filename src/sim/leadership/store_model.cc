#include "sim/leadership/store_model.h"

#include <algorithm>

#include "core/base/probe.h"

namespace bellwether::sim {
namespace {

using election::ClaimKind;
using election::Epoch;
using election::Observation;
using election::WriteOutcome;
using election::WriteRequest;
using Kind = WriteRequest::Kind;

constexpr std::size_t kMaxPast = 8;

}  // namespace

election::StoreTraits StoreModel::traits() const {
  election::StoreTraits traits;
  if (mechanism_ == Mechanism::kEtcd) {
    traits.claim = ClaimKind::kQueue;
    traits.chooses_epoch = true;
  }
  return traits;
}

Observation StoreModel::look(uint32_t who, const std::string& token, Instant now) {
  if (mechanism_ == Mechanism::kEtcd) return look_queue(who, token, now);
  Observation seen;
  seen.present = present_;
  seen.record = record_;
  // As the real stores do: history of the store, holder, epoch, renewal.
  seen.version = fmt::format("{}.{}.{}.{}.{}{}", history_, record_.token, epoch_.value(), record_.renewal, record_.heir,
                             present_ ? "" : "-");
  if (holder_dead_ && present_ && record_.held()) {
    seen.sight = election::HolderSight::kDead;
    seen.evidence = "its process is gone";
  }
  const bool honest = !is("epoch-in-memory");
  seen.may_have_lost_data = !known_whole_ && honest;
  // The epoch lives apart from the record; a store that may have lost it begins above every possible value.
  if (honest) seen.floor = Epoch(known_whole_ ? epoch_.value() + 1 : std::max(epoch_.value() + 1, clock_epoch(now)));
  return seen;
}

// Grows faster than elections happen, so that an epoch counted from it has not been used before.
uint64_t StoreModel::clock_epoch(Instant now) const {
  return 1'000'000 + static_cast<uint64_t>(now.ns() / Duration::millis(1).ns());
}

WriteOutcome StoreModel::act(uint32_t who, const WriteRequest& request, Instant now) {
  if (mechanism_ == Mechanism::kEtcd) return act_queue(who, request, now);
  WriteOutcome outcome;
  const Observation before = look(who, request.token, now);
  outcome.applied = before.version == request.expected;
  if (is("ignores-expected-version") && request.kind == Kind::kTake) outcome.applied = true;
  if (is("release-deletes-unseen") && request.kind == Kind::kRelease) outcome.applied = true;
  if (is("dead-process-taken-blindly") && request.kind == Kind::kTake && mechanism_ == Mechanism::kHostLock) {
    outcome.applied = true;
  }
  if (outcome.applied) apply(request);
  outcome.after = look(who, request.token, now);
  return outcome;
}

void StoreModel::apply(const WriteRequest& request) {
  past_.push_back({present_, record_, epoch_});
  if (past_.size() > kMaxPast) past_.erase(past_.begin());
  present_ = true;
  record_ = request.record;
  if (request.kind == Kind::kTake || request.kind == Kind::kRenew) holder_dead_ = false;
  if (request.kind == Kind::kTake) known_whole_ = true;
  epoch_ = std::max(epoch_, record_.epoch);
  if (is("release-erases-epoch") && request.kind == Kind::kRelease) {
    present_ = false;
    record_ = {};
    epoch_ = Epoch();
  }
}

void StoreModel::process_died(const std::string& token, bool pid_in_use) {
  if (mechanism_ != Mechanism::kHostLock || !present_ || record_.token != token) return;
  if (pid_in_use && is("pid-alone-means-alive")) return;
  holder_dead_ = true;
}

bool StoreModel::record_deleted() {
  if (!present_ || mechanism_ == Mechanism::kEtcd) return false;
  present_ = false;
  record_ = {};
  holder_dead_ = false;
  return true;
}

void StoreModel::crash(Prng& prng, Instant now) {
  switch (mechanism_) {
    case Mechanism::kHostLock:
    case Mechanism::kLeaseFile:
    case Mechanism::kKubernetes: break;  // every answered write was on the disk
    case Mechanism::kEtcd:
      // Leases begin anew when the leader changes; claims without renewals go away later.
      for (Claim& claim : queue_) claim.expires = now + claim.lease;
      BW_PROBE("leadership: etcd begins its leases anew");
      break;
    case Mechanism::kRedis:
      if (prng.chance(0.4)) {
        BW_PROBE("leadership: a store comes back empty");
        present_ = false;
        record_ = {};
        epoch_ = Epoch();
        known_whole_ = false;
        ++history_;
        past_.clear();
        break;
      }
      [[fallthrough]];
    case Mechanism::kPostgres:
      if (!past_.empty() && prng.chance(0.5)) {
        BW_PROBE("leadership: a store comes back with an older state");
        const Past& past = past_[prng.below(past_.size())];
        present_ = past.present;
        record_ = past.record;
        epoch_ = past.epoch;
        known_whole_ = false;  // another server, another history: it knows that
        ++history_;
        past_.clear();
      }
      break;
  }
}

// --- etcd: a queue of claims, each bound to a lease that the server ends ---------------------------------------------

Observation StoreModel::look_queue(uint32_t who, const std::string& token, Instant now) {
  expire_claims(now);
  const auto own =
      std::find_if(queue_.begin(), queue_.end(), [&](const Claim& c) { return c.who == who && c.token == token; });
  Observation seen;
  seen.version = fmt::format("-{}", revision_);
  if (own != queue_.end()) {
    own->expires = now + own->lease;
    seen.place.joined = true;
    seen.place.ahead = static_cast<uint32_t>(own - queue_.begin());
  }
  seen.floor = Epoch(revision_ + 1);
  if (queue_.empty()) return seen;
  const Claim& first = queue_.front();
  seen.present = true;
  seen.version = std::to_string(first.revision);
  seen.record.holder = first.holder;
  seen.record.token = first.token;
  seen.record.epoch = Epoch(first.revision);
  seen.record.lease = first.lease;
  return seen;
}

WriteOutcome StoreModel::act_queue(uint32_t who, const WriteRequest& request, Instant now) {
  expire_claims(now);
  WriteOutcome outcome;
  const auto own = std::find_if(queue_.begin(), queue_.end(),
                                [&](const Claim& c) { return c.who == who && c.token == request.token; });
  const bool first = own != queue_.end() && own == queue_.begin();
  switch (request.kind) {
    case Kind::kTake:
      if (own == queue_.end()) {
        queue_.push_back(
            {who, request.token, request.record.holder, ++revision_, request.record.lease, now + request.record.lease});
      }
      outcome.applied = queue_.front().who == who && queue_.front().token == request.token;
      break;
    case Kind::kRenew:
      outcome.applied = first && std::to_string(own->revision) == request.expected;
      if (outcome.applied) own->lease = request.record.lease;  // bound to another lease, in its place in the queue
      if (own != queue_.end()) own->expires = now + own->lease;
      break;
    case Kind::kRelease:
      outcome.applied = own != queue_.end();
      if (own != queue_.end()) queue_.erase(own);
      ++revision_;
      break;
    case Kind::kAmend: break;
  }
  outcome.after = look_queue(who, request.token, now);
  return outcome;
}

}  // namespace bellwether::sim

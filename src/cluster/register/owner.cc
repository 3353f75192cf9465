#include "cluster/register/owner.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/overloaded.h"
#include "core/base/probe.h"

namespace bellwether::registers {

JobOwner::JobOwner(JobOwnerConfig config, uint64_t seed)
    : config_(std::move(config)),
      prng_(seed),
      renewals_(Period::up_to(config_.renew_every), prng_.fork()),
      number_(prng_.next() >> 1) {
  check(!config_.key.empty() && config_.key.size() <= kMaxKeyBytes, "keys are validated before they are used");
  check(config_.lease <= kLongestJobLease && config_.renew_every * 3 <= config_.lease &&
            config_.renew_every > Duration::zero() && config_.retry > Duration::zero(),
        "times are validated before they are used");
  const ReplicaIds replicas = std::exchange(config_.replicas, {});
  OwnerEffects none;
  replicas_are(Instant(), replicas, none);
}

void JobOwner::step(Instant now, const OwnerEvent& event, OwnerEffects& out) {
  // A node that was paused past its lease finds that out before anything else.
  if (owning() && now >= ends_) lose(now, quorum::kNobody, "no majority answered before the lease expired", out);
  std::visit(Overloaded{
                 [&](const TakeJob&) {
                   wants_ = true;
                   if (state_ == State::kIdle) take(now, out);
                 },
                 [&](const GiveJobBack&) { give_back(now, out); },
                 [&](const WriteJob& write) {
                   want(now, {write.ticket, true, write.value}, out);
                 },
                 [&](const ReadJob& read) {
                   want(now, {read.ticket, false, {}}, out);
                 },
                 [&](const Withdraw& unwanted) { withdraw(unwanted.ticket, out); },
                 [&](const JobFreed&) { freed(now); },
                 [&](const JobAnswered& answer) { answered(now, answer, out); },
                 [&](const JobTick&) { on_tick(now, out); },
                 [&](const ReplicasAre& replicas) { replicas_are(now, replicas.replicas, out); },
             },
             event);
}

void JobOwner::on_tick(Instant now, OwnerEffects& out) {
  if (state_ == State::kWaiting && now >= again_at_) {
    if (wants_) {
      take(now, out);
    } else {
      state_ = State::kIdle;
    }
  } else if (asking_ && now >= repeat_at_) {
    // Those that refused and those that do not answer can keep it from ever being decided: a new attempt asks them all.
    const bool some_refused = std::any_of(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.refused; });
    if (!owning() && some_refused && now >= sent_ + config_.retry * kPatience) return refused(now, out);
    repeat_at_ = now + config_.retry;
    send(out);
  } else if (owning() && !asking_ && now >= renew_at_) {
    for_wish_ = false;
    ask(now, Confirm{}, out);
  }
}

Instant JobOwner::wake() const {
  Instant wake = Instant::never();
  if (state_ == State::kWaiting) wake = again_at_;
  if (asking_) wake = std::min(wake, repeat_at_);
  if (owning()) wake = std::min(wake, asking_ ? ends_ : std::min(ends_, renew_at_));
  return wake;
}

void JobOwner::take(Instant now, OwnerEffects& out) {
  state_ = State::kPreparing;
  claim_ = {JobFence(std::max(highest_fence_, claim_.fence).value() + 1), config_.self, prng_.next() | 1};
  freed_ = false;
  prepare(now, out);
}

void JobOwner::prepare(Instant now, OwnerEffects& out) {
  newest_ = {};
  value_.clear();
  again_after_ = Duration::zero();
  ask(now, Prepare{}, out);
}

// The lease was given back at one peer, and about now at the others.
void JobOwner::freed(Instant now) {
  freed_ = true;
  if (state_ == State::kWaiting) again_at_ = std::min(again_at_, now + prng_.between(Duration::zero(), config_.retry));
}

void JobOwner::give_back(Instant now, OwnerEffects& out) {
  wants_ = false;
  if (state_ == State::kIdle || state_ == State::kWaiting) {
    state_ = State::kIdle;
    return;
  }
  const Claim claim = claim_;
  const Release release{owning() ? newest_.write : 0};
  lose(now, quorum::kNobody, "released", out);
  asking_ = false;
  for (const Peer& peer : peers_) {
    out.push_back(SendAsk{peer.id, {config_.key, ++number_, config_.lease, claim, release}});
  }
}

void JobOwner::want(Instant now, Wish wish, OwnerEffects& out) {
  if (!owning() || waiting_.size() >= kMaxWaiting || wish.value.size() > kMaxValueBytes) {
    out.push_back(JobFailed{wish.ticket, false,
                            !owning()                            ? "this node does not own the job"
                            : wish.value.size() > kMaxValueBytes ? "the value is longer than 64 KiB"
                                                                 : "too many writes of this job are waiting"});
    return;
  }
  waiting_.push_back(std::move(wish));
  next(now, out);
}

void JobOwner::withdraw(uint64_t ticket, OwnerEffects& out) {
  const auto found =
      std::find_if(waiting_.begin(), waiting_.end(), [&](const Wish& wish) { return wish.ticket == ticket; });
  if (found == waiting_.end() || (found == waiting_.begin() && asking_ && for_wish_)) return;
  waiting_.erase(found);
  out.push_back(JobFailed{ticket, false, "the write was cancelled before it started"});
}

// One after the other. A read is asked for after it was wished for: a renewal that is under way proves nothing about
// it.
void JobOwner::next(Instant now, OwnerEffects& out) {
  if (!owning() || asking_ || waiting_.empty()) return;
  for_wish_ = true;
  const Wish& wish = waiting_.front();
  if (!wish.write) return ask(now, Confirm{}, out);
  written_ = {claim_.fence, newest_.write + 1};
  writing_ = wish.value;
  ask(now, Accept{written_.write, wish.value}, out);
}

// --- questions -------------------------------------------------------------------------------------------------------

void JobOwner::ask(Instant now, decltype(Ask::body) body, OwnerEffects& out) {
  asking_ = true;
  question_ = {config_.key, ++number_, config_.lease, claim_, std::move(body)};
  sent_ = now;
  repeat_at_ = now + config_.retry;
  for (Peer& peer : peers_) peer.granted = peer.refused = false;
  send(out);
}

void JobOwner::send(OwnerEffects& out) {
  for (const Peer& peer : peers_) {
    if (!peer.granted && !peer.refused) out.push_back(SendAsk{peer.id, question_});
  }
}

template <class In>
bool JobOwner::agreed(In in) const {
  for (const auto list : {&Peer::in_old, &Peer::in_next}) {
    std::size_t of = 0;
    std::size_t count = 0;
    for (const Peer& peer : peers_) {
      if (!(peer.*list)) continue;
      ++of;
      if (in(peer)) ++count;
    }
    if (of != 0 && count < quorum::majority_of(of)) return false;
  }
  return true;
}

void JobOwner::replicas_are(Instant now, const ReplicaIds& replicas, OwnerEffects& out) {
  check(!replicas.old.empty(), "replicas are validated");
  if (replicas == config_.replicas) return;
  config_.replicas = replicas;
  const std::vector<Peer> former = std::exchange(peers_, {});
  const auto add = [&](MemberId id, bool Peer::*list) {
    auto peer = std::find_if(peers_.begin(), peers_.end(), [&](const Peer& p) { return p.id == id; });
    if (peer == peers_.end()) {
      const auto known = std::find_if(former.begin(), former.end(), [&](const Peer& p) { return p.id == id; });
      peer = peers_.insert(peer, known == former.end() ? Peer{.id = id} : *known);
      peer->in_old = peer->in_next = false;
    }
    (*peer).*list = true;
  };
  for (const MemberId id : replicas.old) add(id, &Peer::in_old);
  for (const MemberId id : replicas.next) add(id, &Peer::in_next);
  check(peers_.size() <= kMaxReplicas, "replicas are validated");
  if (!asking_) return;
  if (state_ == State::kPreparing) return prepare(now, out);
  ask(now, question_.body, out);
}

void JobOwner::answered(Instant now, const JobAnswered& answered, OwnerEffects& out) {
  const Answer& answer = answered.answer;
  highest_fence_ = std::max(highest_fence_, answer.promised.fence);
  const auto peer = std::find_if(peers_.begin(), peers_.end(), [&](const Peer& p) { return p.id == answered.from; });
  if (peer == peers_.end() || !asking_ || answer.number != number_) return;
  if (answer.verdict == Verdict::kUnable) return;  // it may be able when asked again
  if (answer.verdict != Verdict::kGranted) {
    peer->refused = true;
    rival_ = answer.promised.owner;
    if (answer.verdict == Verdict::kLeased) {
      again_after_ = std::max(again_after_, answer.again_after);
      held_by_ = answer.promised.owner;
    }
    return judge(now, out);
  }
  if (answer.promised != claim_) return;
  peer->granted = true;
  // The first sending counts, so that an answer that took long never makes a lease longer.
  if (!peer->acked || sent_ > peer->acked_sent) peer->acked_sent = sent_;
  peer->acked = true;
  if (state_ == State::kPreparing && answer.accepted > newest_) {
    newest_ = answer.accepted;
    value_ = answer.value;
  }
  judge(now, out);
}

// A peer that refuses may have been asked by a node that reaches no majority: only a majority deposes an owner.
void JobOwner::judge(Instant now, OwnerEffects& out) {
  if (agreed([](const Peer& peer) { return peer.granted; })) return decided(now, out);
  if (!agreed([](const Peer& peer) { return !peer.refused; })) refused(now, out);
}

void JobOwner::refused(Instant now, OwnerEffects& out) {
  if (state_ != State::kPreparing) {
    BW_PROBE("register: an owner learns that it is none any more");
    return lose(now, rival_, "another node has taken the job", out);
  }
  asking_ = false;
  if (again_after_ > Duration::zero()) out.push_back(JobBusy{held_by_, again_after_});
  // Two that take it at once would go on to refuse each other.
  if (freed_) return wait(now + prng_.between(Duration::zero(), config_.retry));
  wait(now + std::min(again_after_, config_.lease) + spread());
}

// A majority has granted the request.
void JobOwner::decided(Instant now, OwnerEffects& out) {
  asking_ = false;
  if (state_ == State::kPreparing) return adopt(now, out);
  if (state_ == State::kAdopting) {
    if (now >= leased_until()) return lose(now, quorum::kNobody, "the takeover took longer than the lease", out);
    newest_ = written_;
    state_ = State::kOwning;
    failures_ = 0;
    ends_ = leased_until();
    out.push_back(JobTaken{claim_.fence, ends_, newest_, value_});
  } else {
    if (leased_until() > ends_) {
      ends_ = leased_until();
      out.push_back(JobRenewed{ends_});
    }
    finish(out);
  }
  renew_at_ = now + renewals_.next();
  next(now, out);
}

// The newest value becomes one of this owner, so that every later reader sees it.
void JobOwner::adopt(Instant now, OwnerEffects& out) {
  state_ = State::kAdopting;
  written_ = {claim_.fence, 1};
  // Only from here on do answers carry a lease.
  for (Peer& peer : peers_) peer.acked = false;
  ask(now, Accept{written_.write, value_}, out);
}

void JobOwner::finish(OwnerEffects& out) {
  if (!for_wish_) return;
  const Wish wish = std::move(waiting_.front());
  waiting_.pop_front();
  if (wish.write) {
    newest_ = written_;
    value_ = std::move(writing_);
    out.push_back(JobWritten{wish.ticket, newest_});
  } else {
    out.push_back(JobRead{wish.ticket, newest_, value_});
  }
}

// Until then majorities give promises to no other node, as this node's clock shows it.
Instant JobOwner::leased_until() const {
  Instant sent;
  for (const Peer& peer : peers_) {
    const auto as_late = [&](const Peer& other) { return other.acked && other.acked_sent >= peer.acked_sent; };
    if (peer.acked && peer.acked_sent > sent && agreed(as_late)) sent = peer.acked_sent;
  }
  return sent + Duration::from_seconds_f(config_.lease.seconds_f() * (1 - config_.drift));
}

void JobOwner::lose(Instant now, MemberId owner, const std::string& why, OwnerEffects& out) {
  const bool owned = owning();
  const bool writing = owned && asking_ && std::holds_alternative<Accept>(question_.body);
  asking_ = false;
  state_ = State::kIdle;
  ends_ = Instant();
  if (owned) out.push_back(JobLost{claim_.fence, owner, why});
  bool first = true;
  for (const Wish& wish : waiting_) {
    out.push_back(JobFailed{wish.ticket, first && writing && wish.write, why});
    first = false;
  }
  waiting_.clear();
  // Another owner holds it for a lease; this node asks again after that, or a little later when no owner is known.
  if (wants_) {
    const Duration rest = owner == quorum::kNobody ? config_.retry : config_.lease;
    wait(now + rest + spread());
  }
}

// Longer each time: the more nodes want it, the further apart they must come.
Duration JobOwner::spread() {
  const Duration widest = std::min(config_.retry * (int64_t{1} << std::min(failures_, 8)), config_.lease);
  ++failures_;
  return prng_.between(Duration::zero(), widest);
}

}  // namespace bellwether::registers

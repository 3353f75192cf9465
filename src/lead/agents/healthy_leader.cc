#include "lead/agents/healthy_leader.h"

namespace bellwether::lead {

using election::Elector;
using election::HolderSight;
using election::Verdict;

bool HealthyLeader::is_seen_by(const Elector& elector, WallTime now) {
  const election::Observation& seen = elector.seen();
  const election::LeaseRecord& record = seen.record;
  // A record of our own name is what an earlier process of this agent has left behind.
  const bool another = record.held() && record.holder != elector.config().claim.holder;
  const bool follows = elector.state() == Elector::State::kFollowing && another;
  if (!follows || elector.verdict().kind != Verdict::Kind::kHeld || seen.sight == HolderSight::kDead) return false;
  if (seen.sight == HolderSight::kAlive) return true;
  if (version_.empty() || record.token != token_) {
    token_ = record.token;
    version_ = seen.version;
  }
  if (seen.version != version_) return true;
  if (seen.left) return *seen.left > Duration::zero();
  return now.unix_ns - record.renewed_at.unix_ns < record.lease.ns();
}

}  // namespace bellwether::lead

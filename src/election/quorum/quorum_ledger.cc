#include "election/quorum/quorum_ledger.h"

#include <algorithm>

#include "core/base/probe.h"

namespace bellwether::quorum {

uint64_t QuorumLedger::persist(Effects& out) {
  ++record.version;
  out.push_back(Persist{record});
  return record.version;
}

bool QuorumLedger::persisted(Instant now, const Persisted& done, Effects& out) {
  if (!done.ok) {
    BW_PROBE("quorum: the record could not be written");
    if (!failed_) out.push_back(Note{true, "abstains: the record could not be made durable: " + done.why});
    failed_ = true;
    again_ = now + patience_;
    held_.clear();
    return false;
  }
  durable_ = std::max(durable_, done.version);
  if (failed_ && durable_ == record.version) {
    out.push_back(Note{false, "takes part again: the record is durable"});
    failed_ = false;
    again_ = Instant::never();
  }
  std::vector<Held> held;
  held.swap(held_);
  for (Held& one : held) {
    // Messages of a past term are dropped: an acknowledgement is a promise.
    if (one.term != record.term) continue;
    if (one.version <= durable_) {
      send(one.to, std::move(one.body), out);
    } else {
      held_.push_back(std::move(one));
    }
  }
  return true;
}

void QuorumLedger::tick(Instant now, Effects& out) {
  if (now < again_) return;
  again_ = Instant::never();
  if (failed_) persist(out);
}

void QuorumLedger::send(MemberId to, Body body, Effects& out) const {
  out.push_back(Send{to, {self_, record.term, life_, verified ? durable_ : found_, std::move(body)}});
}

void QuorumLedger::send_when_durable(uint64_t version, MemberId to, Body body, Effects& out) {
  if (durable_ >= version) return send(to, std::move(body), out);
  // Of answers to one member only the last counts.
  std::erase_if(held_, [to](const Held& one) { return one.to == to; });
  if (held_.size() < kMaxHeld) held_.push_back({version, record.term, to, std::move(body)});
}

}  // namespace bellwether::quorum

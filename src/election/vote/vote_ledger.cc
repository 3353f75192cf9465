#include "election/vote/vote_ledger.h"

#include <utility>

#include "core/base/probe.h"

namespace bellwether::vote {

uint64_t VoteLedger::persist(Effects& out) {
  ++record.version;
  out.push_back(Persist{record});
  return record.version;
}

bool VoteLedger::persisted(Instant now, const Persisted& done, Effects& out) {
  if (!done.ok) {
    BW_PROBE("vote: the record could not be written");
    if (!failed_) out.push_back(Note{true, "abstains: the record could not be made durable: " + done.why});
    failed_ = true;
    again_ = now + patience_;
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
    if (one.version <= durable_) {
      say(one.to, std::move(one.body), out);
    } else {
      held_.push_back(std::move(one));
    }
  }
  return true;
}

void VoteLedger::tick(Instant now, Effects& out) {
  if (now < again_) return;
  again_ = Instant::never();
  if (failed_) persist(out);
}

void VoteLedger::say(NodeId to, Body body, Effects& out) {
  // Until the number of this start is durable, the next one might have the same.
  if (durable_ == 0) return say_when_durable(1, to, std::move(body), out);
  Message message{self_, record.start, mark_, ++sequence_, last_term(), std::move(body)};
  if (to == kNobody) {
    out.push_back(Broadcast{std::move(message)});
  } else {
    out.push_back(Send{to, std::move(message)});
  }
}

void VoteLedger::say_when_durable(uint64_t version, NodeId to, Body body, Effects& out) {
  if (durable_ >= version && durable_ != 0) return say(to, std::move(body), out);
  if (held_.size() < kMaxHeld) held_.push_back({version, to, std::move(body)});
}

void VoteLedger::drop_answers() {
  std::erase_if(held_, [](const Held& one) { return std::holds_alternative<HeartbeatAnswer>(one.body); });
}

}  // namespace bellwether::vote

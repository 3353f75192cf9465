#include "cluster/wire/replay.h"

#include <algorithm>

namespace bellwether::wire {
Refusal ReplayWindow::look(uint64_t number) const {
  if (number == 0) return Refusal::kReplayed;
  if (number > highest_) return Refusal::kNone;
  if (highest_ - number >= kWidth) return Refusal::kReplayed;
  const bool seen = (seen_[number / 64 % kWords] >> (number % 64) & 1U) != 0;
  return seen ? Refusal::kReplayed : Refusal::kNone;
}

Refusal ReplayWindow::take(uint64_t number) {
  const Refusal refusal = look(number);
  if (refusal != Refusal::kNone) return refusal;
  if (number > highest_) {
    // The words between the old front and the new one belong to numbers that were never seen.
    const uint64_t from = highest_ / 64;
    const uint64_t to = number / 64;
    for (uint64_t i = 1; i <= std::min<uint64_t>(to - from, kWords); ++i) seen_[(from + i) % kWords] = 0;
    highest_ = number;
  }
  seen_[number / 64 % kWords] |= uint64_t{1} << (number % 64);
  return Refusal::kNone;
}

ReplayGuard::ReplayGuard(std::size_t senders_max, Prng prng) : senders_max_(senders_max), prng_(prng) { change_tag(); }

Refusal ReplayGuard::look(const EnvelopeHeader& header) const {
  if (header.number == 0) return Refusal::kReplayed;
  const auto found = senders_.find(header.sender);
  if (found != senders_.end() && found->second.session == header.session) {
    return found->second.window.look(header.number);
  }
  return header.tag == tag_ ? Refusal::kNone : Refusal::kUnproven;
}

Refusal ReplayGuard::take(const EnvelopeHeader& header) {
  const Refusal refusal = look(header);
  if (refusal != Refusal::kNone) return refusal;
  return remember(header.sender, header.session).window.take(header.number);
}

void ReplayGuard::introduce(uint64_t sender, const SessionId& session) { remember(sender, session); }

ReplayGuard::Sender& ReplayGuard::remember(uint64_t sender, const SessionId& session) {
  const auto found = senders_.find(sender);
  if (found != senders_.end() && found->second.session == session) {
    touch(sender, found->second);
    return found->second;
  }
  if (found != senders_.end()) change_tag();
  if (found == senders_.end() && senders_.size() >= senders_max_) {
    change_tag();
    const auto oldest = by_heard_.begin();
    senders_.erase(oldest->second);
    by_heard_.erase(oldest);
  }
  Sender& entry = senders_[sender];
  const uint64_t heard = entry.heard;
  entry = Sender{.session = session, .window = {}, .heard = heard};
  touch(sender, entry);
  return entry;
}

void ReplayGuard::touch(uint64_t sender, Sender& entry) {
  if (entry.heard == heard_ && heard_ != 0) return;
  if (entry.heard != 0) by_heard_.erase(entry.heard);
  entry.heard = ++heard_;
  by_heard_[entry.heard] = sender;
}

}  // namespace bellwether::wire

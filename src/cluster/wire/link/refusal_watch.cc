#include "cluster/wire/link/refusal_watch.h"

namespace bellwether::link {

void RefusalWatch::note(wire::Refusal refusal, const runtime::Endpoint& from, std::string_view detail, Instant now) {
  counts_.add(refusal);
  Reason& reason = reasons_[static_cast<std::size_t>(refusal)];
  if (!listener_.on_refused || (reason.told && now < reason.next)) {
    ++reason.unheard;
    return;
  }
  reason.told = true;
  reason.next = now + between_;
  listener_.on_refused(refusal, from, detail, std::exchange(reason.unheard, 0));
}

void RefusalWatch::note(const wire::Declined& declined, const runtime::Endpoint& from, Instant now) {
  const bool names = !declined.mismatch.expected.empty() || !declined.mismatch.received.empty();
  if (listener_.on_mismatch && names) listener_.on_mismatch(declined.refusal, declined.mismatch);
  note(declined.refusal, from, declined.detail, now);
}

}  // namespace bellwether::link

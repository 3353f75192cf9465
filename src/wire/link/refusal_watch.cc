#include "wire/link/refusal_watch.h"

namespace bellwether::link {

void RefusalWatch::note(wire::Refusal refusal, const runtime::Endpoint& from, std::string_view detail, Instant now) {
  counts_.add(refusal);
  Reason& reason = reasons_[static_cast<std::size_t>(refusal)];
  if (listener_ == nullptr || (reason.told && now < reason.next)) {
    ++reason.unheard;
    return;
  }
  reason.told = true;
  reason.next = now + between_;
  listener_->on_refused(refusal, from, detail, std::exchange(reason.unheard, 0));
}

}  // namespace bellwether::link

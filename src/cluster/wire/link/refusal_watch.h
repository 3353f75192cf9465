// Counts refusals, and reports them to a logger, at a bounded rate: garbage at line rate must not become a line of log
// for each packet.
#pragma once

#include <cstdint>
#include <string_view>

#include "cluster/wire/handshake.h"
#include "cluster/wire/refusal.h"
#include "core/base/callback.h"
#include "core/base/time.h"
#include "core/runtime/address.h"

namespace bellwether::link {

struct RefusalListener {
  // `unheard`: refusals of this reason since the last call that were only counted.
  Callback<void(wire::Refusal refusal, const runtime::Endpoint& from, std::string_view detail, uint64_t unheard)>
      on_refused;
  // The mismatch of every refusal that compares names; to be counted.
  Callback<void(wire::Refusal refusal, const wire::Mismatch& names)> on_mismatch;
};

class RefusalWatch {
 public:
  // At most one call for each reason in `between`. `listener` outlives this.
  explicit RefusalWatch(RefusalListener listener = {}, Duration between = Duration::seconds(1))
      : listener_(listener), between_(between) {}

  void note(wire::Refusal refusal, const runtime::Endpoint& from, std::string_view detail, Instant now);
  void note(const wire::Declined& declined, const runtime::Endpoint& from, Instant now);
  const wire::RefusalCounts& counts() const { return counts_; }

 private:
  struct Reason {
    Instant next;
    uint64_t unheard = 0;
    bool told = false;
  };
  RefusalListener listener_;
  Duration between_;
  wire::RefusalCounts counts_;
  std::array<Reason, wire::kRefusalKinds> reasons_{};
};

}  // namespace bellwether::link

// Holds evictions while more than half of the members of a kind seem to fail at once: then the fault is likelier in the
// network, or here, than in all of them. It holds silent failures only, never proven deaths. It needs at least four
// members of the kind. It ends after a limit, so that the cluster acts on a real catastrophe.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/base/time.h"

namespace bellwether::membership {

class CorrelationGuard {
 public:
  explicit CorrelationGuard(Duration limit) : limit_(limit) {}

  // May a suspect of this kind be declared dead? `alive` and `suspect`: members of the kind, both without this node.
  bool holds(uint8_t kind, std::size_t alive, std::size_t suspect, Instant now);
  void died_silently(uint8_t kind, Instant now) { deaths_.push_back({kind, now}); }
  // Since when it holds; never() when it does not.
  Instant since(uint8_t kind) const { return since_[kind]; }
  Duration limit() const { return limit_; }

 private:
  struct Death {
    uint8_t kind;
    Instant at;
  };
  Duration limit_;
  std::vector<Death> deaths_;  // of the last `limit`
  std::array<Instant, 256> since_ = filled();
  static std::array<Instant, 256> filled() {
    std::array<Instant, 256> all{};
    all.fill(Instant::never());
    return all;
  }
};

}  // namespace bellwether::membership

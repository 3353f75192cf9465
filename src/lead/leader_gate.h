// The question before every act in the name of a key: may I act now? A process that shares an identity with others acts
// from several places (it dispatches work, reacts to messages, sends heartbeats). Each place is a named surface and
// asks before each act. A process that does not lead receives and renders as before, and is silent.
//
// The gate keeps no boolean: it knows the end of the term, and compares. The leading thread sets the end; any thread
// may ask, at the cost of two loads and a count. Times are of the boot clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "election/term_of_office.h"

namespace bellwether::lead {

enum class FailPolicy : uint8_t {
  kClosed,  // no proof of leadership: no act
  kOpen,    // acts without proof too, while no other process is seen to hold the key
};

class LeaderGate {
 public:
  class Surface {
   public:
    Surface(const LeaderGate& gate, std::string_view name) : gate_(gate), name_(name) {}
    // Whether the act may happen now; counted either way.
    bool permits(Instant now) {
      const bool proven = gate_.proven(now);
      const bool may = proven || gate_.permits(now);
      (may ? permitted_ : suppressed_).fetch_add(1, std::memory_order_relaxed);
      if (may && !proven) without_proof_.fetch_add(1, std::memory_order_relaxed);
      return may;
    }
    const std::string& name() const { return name_; }
    uint64_t permitted() const { return permitted_.load(std::memory_order_relaxed); }
    uint64_t suppressed() const { return suppressed_.load(std::memory_order_relaxed); }
    // The permitted acts under FailPolicy::kOpen alone.
    uint64_t without_proof() const { return without_proof_.load(std::memory_order_relaxed); }

   private:
    const LeaderGate& gate_;
    std::string name_;
    std::atomic<uint64_t> permitted_{0};
    std::atomic<uint64_t> suppressed_{0};
    std::atomic<uint64_t> without_proof_{0};
  };

  explicit LeaderGate(FailPolicy policy) : policy_(policy) {}

  // The surface of this name, made at first use; it lives as long as the gate. To be called before several threads ask.
  Surface& surface(std::string_view name) {
    for (Surface& known : surfaces_) {
      if (known.name() == name) return known;
    }
    return surfaces_.emplace_back(*this, name);
  }
  const std::deque<Surface>& surfaces() const { return surfaces_; }

  // We lead until then: elected, or renewed.
  void leads_until(Instant end) { term_.move_to(end); }
  void term_ended() { term_.move_to(Instant()); }
  // Whether acting without proof is permitted at present: no other process is seen to hold the key. Changes nothing
  // under FailPolicy::kClosed.
  void set_open(bool open) { open_.store(open, std::memory_order_release); }

  bool proven(Instant now) const { return term_.valid_for(now) > Duration::zero(); }
  bool permits(Instant now) const {
    return proven(now) || (policy_ == FailPolicy::kOpen && open_.load(std::memory_order_acquire));
  }

 private:
  FailPolicy policy_;
  election::TermEnd term_;
  std::atomic<bool> open_{false};
  std::deque<Surface> surfaces_;
};

}  // namespace bellwether::lead

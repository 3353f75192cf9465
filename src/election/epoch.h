// Fencing tokens: numbers that grow with each change of the actor and travel with every act, so that a resource can
// refuse late acts. The kinds do not convert into each other, because comparing two kinds means nothing.
#pragma once

#include <compare>
#include <cstdint>

#include "core/base/strong_id.h"

namespace bellwether::election {

// Of a key: grows by at least one at each change of holder, over the whole life of the key. 0: no holder ever.
using Epoch = StrongId<struct EpochTag, uint64_t>;
// Of an elected group: a command is in order when its term is at least the one known.
using Term = StrongId<struct TermTag, uint64_t>;
// Of a job: grows with each owner of the job; in order when at least the one known.
using JobFence = StrongId<struct JobFenceTag, uint64_t>;

// Of one dispatch of a piece of work. A receiver accepts only a greater one than it knows, so that a repeated or late
// dispatch never runs the work again.
struct DispatchAttempt {
  JobFence job;
  uint32_t attempt = 0;
  constexpr auto operator<=>(const DispatchAttempt&) const = default;
};

constexpr bool in_order(Epoch offered, Epoch known) { return offered >= known; }
constexpr bool in_order(Term offered, Term known) { return offered >= known; }
constexpr bool in_order(JobFence offered, JobFence known) { return offered >= known; }
constexpr bool in_order(DispatchAttempt offered, DispatchAttempt known) { return offered > known; }

// The next epoch after everything that is known of a key.
constexpr Epoch next_epoch(Epoch a, Epoch b) { return Epoch((a < b ? b : a).value() + 1); }

// The fence of a guarded resource: the highest token that it has seen. Pure; its owner also stores the highest token on
// its disk, before the act takes place (DurableFence of bellwether/leadership.h does it for files).
template <class Token>
class BasicFenceGuard {
 public:
  enum class Answer : uint8_t {
    kRefused,       // the token is out of order: a newer actor has acted
    kAdmitted,      // as known: act
    kAdmittedNewer  // act once highest() is on the disk
  };
  BasicFenceGuard() = default;
  // `known`: the fence kept over the restart.
  explicit BasicFenceGuard(Token known) : highest_(known) {}

  Answer admit(Token token) {
    if (!in_order(token, highest_)) {
      ++refused_;
      return Answer::kRefused;
    }
    ++admitted_;
    if (token == highest_) return Answer::kAdmitted;
    highest_ = token;
    return Answer::kAdmittedNewer;
  }
  Token highest() const { return highest_; }
  uint64_t admitted() const { return admitted_; }
  uint64_t refused() const { return refused_; }

 private:
  Token highest_{};
  uint64_t admitted_ = 0;
  uint64_t refused_ = 0;
};

using FenceGuard = BasicFenceGuard<Epoch>;

}  // namespace bellwether::election

// What a guarded resource keeps: the highest fencing token it has seen. Pure; whoever owns one keeps the highest on its
// disk too, and does so before the act takes place (DurableFence of bellwether/leadership.h does it for files).
#pragma once

#include <cstdint>

#include "election/epoch.h"

namespace bellwether::election {

template <class Token>
class BasicFenceGuard {
 public:
  enum class Answer : uint8_t {
    kRefused,       // the token is out of order: somebody newer has acted
    kAdmitted,      // as known: act
    kAdmittedNewer  // act once highest() is on the disk
  };
  BasicFenceGuard() = default;
  // `known`: what was kept over the restart.
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

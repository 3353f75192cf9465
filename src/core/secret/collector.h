// Restores one secret from key shares as they come, each from a holder with a number. It refuses a key share that does
// not match the commitment, with its name, its sender and the reason, before it can spoil anything. It holds no more
// key shares than it needs, and wipes them once the secret was given.
//
//   kCollecting ── as many as the threshold ──▶ kReady ── give() ──▶ kGiven, or kSpoiled: the commitment is wrong
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/secret/sharing.h"

namespace bellwether::secret {

class Collector {
 public:
  enum class State : uint8_t { kCollecting, kReady, kGiven, kSpoiled };
  enum class Taken : uint8_t {
    kNew,
    kDouble,     // it is here already
    kNotNeeded,  // it is good; there are enough without it
  };

  explicit Collector(Commitment commitment) : commitment_(std::move(commitment)) {}

  // From the holder `from`. Errors: as Commitment::check(), with the sender in front.
  Result<Taken> take(uint64_t from, KeyShare share);
  // The secret, once. From then on it holds no key share. Errors: kInvalid: it is not kReady yet, or the committed key
  // shares do not give the committed secret, and it is kSpoiled; kClosed: it has ended before.
  Result<SecretBytes> give();

  State state() const { return state_; }
  std::size_t held() const { return shares_.size(); }
  std::size_t needed() const;            // how many more it takes; 0 when it is not kCollecting
  std::vector<uint8_t> missing() const;  // the indices of missing ones, ascending; none when none is needed
  // The last reason for each of the first kMaxRefused holders with a refused key share.
  const std::map<uint64_t, std::string>& refused() const { return refused_; }
  // For people: "2 of 3 key shares of secret 7; refused: of node 9: key share 4 was changed…".
  std::string text() const;

  static constexpr std::size_t kMaxRefused = 64;

 private:
  bool holds(uint8_t index) const;

  Commitment commitment_;
  std::vector<KeyShare> shares_;
  std::map<uint64_t, std::string> refused_;
  uint64_t refused_more_ = 0;  // key shares of unlisted holders
  State state_ = State::kCollecting;
};

}  // namespace bellwether::secret

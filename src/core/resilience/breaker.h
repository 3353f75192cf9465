// Circuit breakers: callers leave a failing peer alone for a while, so they fail at once instead of waiting, and the
// peer can recover. Each peer has one, and within it one for each category of error: a peer that cannot store anything
// still answers questions about its health (M. Nygard, "Release It!", 2007).
//
//   CLOSED → three failures within 30 s → OPEN → after 10 s → HALF OPEN: one trial → CLOSED or OPEN again
//
// No clock, no threads; at most kMaxPeers peers. The peer that was quiet the longest is forgotten first.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/resilience/retry.h"

namespace bellwether::resilience {

enum class Category : unsigned char { kNetwork, kProtocol, kExecution, kState };
inline constexpr std::size_t kCategories = 4;
std::string_view to_string(Category category);
// Connections, times and names are the network's; frames, versions and certificates the protocol's; disks and resources
// the state's; all else is execution's.
Category category_of(Errc error);

struct BreakerSettings {
  std::size_t failures = 3;
  Duration window = Duration::seconds(30);
  Duration open_for = Duration::seconds(10);
};

enum class BreakerState : unsigned char { kClosed, kOpen, kHalfOpen };
std::string_view to_string(BreakerState state);

class Breaker {
 public:
  static constexpr std::size_t kMaxFailures = 16;

  // REQUIRES 0 < failures <= kMaxFailures.
  explicit Breaker(BreakerSettings settings);

  // Whether a call may be made now. True in the half-open state makes the call the trial: its outcome must be reported,
  // and until then, or until `open_for` has passed again, no other call may try.
  bool allow(Instant now);
  void succeeded();
  void failed(Instant now);

  BreakerState state(Instant now) const;
  std::size_t failures(Instant now) const;  // within the window
  uint64_t times_opened() const { return times_opened_; }
  Instant open_until() const { return open_until_; }  // in the past unless it is open
  Instant last_failure() const { return last_failure_; }

 private:
  void open(Instant now);
  BreakerSettings settings_;
  std::array<Instant, kMaxFailures> recent_{};  // a ring
  std::size_t count_ = 0;                       // in the ring
  std::size_t next_ = 0;
  bool is_open_ = false;
  std::optional<Instant> trial_;  // when it began
  Instant open_until_;
  Instant last_failure_;
  uint64_t times_opened_ = 0;
};

class Breakers {
 public:
  static constexpr std::size_t kMaxPeers = 16'384;

  explicit Breakers(BreakerSettings settings = {}) : settings_(settings) {}

  bool allow(Instant now, std::string_view peer, Category category);
  // Any answer, a refusal and BUSY too, shows that the peer is well in this category.
  void succeeded(std::string_view peer, Category category);
  void failed(Instant now, std::string_view peer, Errc error);
  void forget(std::string_view peer);

  // Whether some category of this peer is open: a choice among peers skips it.
  bool is_open(Instant now, std::string_view peer) const;
  // How long until this one lets a trial through; zero: it is closed, or does.
  Duration retry_in(Instant now, std::string_view peer, Category category) const;

  struct Status {
    std::string peer;
    Category category = Category::kNetwork;
    BreakerState state = BreakerState::kClosed;
    std::size_t failures = 0;
    uint64_t times_opened = 0;
    Duration retry_in;  // zero unless it is open
  };
  // The categories that ever failed, by name.
  std::vector<Status> status(Instant now) const;
  std::size_t peers() const { return peers_.size(); }

 private:
  struct Peer {
    std::array<std::optional<Breaker>, kCategories> breakers;
    Instant last_failure;
  };
  BreakerSettings settings_;
  std::map<std::string, Peer, std::less<>> peers_;
};

}  // namespace bellwether::resilience

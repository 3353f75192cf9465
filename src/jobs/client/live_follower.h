// The live channel as one client follows it: what to ask next, and when, and what is new in an answer. Answers are
// asked for at most as often as the listener may be called; what changes in between is merged by the manager, so that a
// client that is slow sees each window once, in its newest form. Pure. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bellwether/client_types.h"
#include "core/resilience/token_bucket.h"
#include "jobs/dispatch/letters.h"

namespace bellwether::client::detail {

class LiveFollower {
 public:
  static constexpr double kCallsPerSecond = 20;
  static constexpr double kBurst = 5;

  explicit LiveFollower(std::string job) : job_(std::move(job)) {}

  dispatch::WatchLive question(Duration wait) const { return {job_, life_, change_, wait}; }
  // When it may be asked again; not after `now`: at once.
  Instant ready(Instant now) { return calls_.ready(now); }
  // What is to be told of an answer; nothing: there is nothing new.
  std::optional<LiveNews> take(Instant now, const dispatch::LiveNews& news);
  // Nothing more comes.
  bool over() const { return over_; }

 private:
  std::string job_;
  uint64_t life_ = 0;
  uint64_t change_ = 0;
  uint64_t next_ = 0;  // the window after the last that was told
  bool over_ = false;
  resilience::TokenBucket calls_{kCallsPerSecond, kBurst};
};

}  // namespace bellwether::client::detail

// The one place where a node decides what it takes in. Every message that comes over a connection passes here before
// the part of the node that it is for gets to see it (switchboard.h). In this order:
//
//   - what is critical passes (message_classes.h);
//   - what the present state of load does not bear is turned away (core/resilience/overload.h);
//   - who asks for more than its share is turned away (core/resilience/request_limiter.h).
//
// A request that is turned away is answered busy, with the time after which to ask again, spread at random, so that not
// all who were turned away at once come back at once; a message without an answer is dropped. All of it is counted. One
// thread.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cluster/net/message_classes.h"
#include "cluster/net/switchboard.h"
#include "cluster/net/vital_signs.h"
#include "core/base/prng.h"
#include "core/resilience/overload.h"
#include "core/resilience/request_limiter.h"

namespace bellwether::cluster {

class FrontDesk final : public Switchboard::Doorman {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    // `reason`: what made it so, for people; empty when it is healthy.
    virtual void on_load_changed(resilience::LoadState state, std::string_view reason) = 0;
  };
  struct Counts {
    std::array<uint64_t, resilience::kUrgencies> admitted{};
    std::array<uint64_t, resilience::kUrgencies> shed{};      // for there is too much to do
    std::array<uint64_t, resilience::kOperations> limited{};  // for their sender has had its share
  };

  // Both must outlive it.
  // All must outlive it.
  FrontDesk(runtime::Runtime& runtime, const MessageClasses& classes, Listener& listener);
  FrontDesk(const FrontDesk&) = delete;
  FrontDesk& operator=(const FrontDesk&) = delete;

  std::optional<wire::Busy> turns_away(const link::Connection& connection, const wire::Inbound& inbound) override;
  // The same, of what somebody sent at `now`.
  std::optional<wire::Busy> turns_away(Instant now, const wire::Identity& sender, uint16_t type, Bytes body);

  // From VitalMeter, as often as that says.
  void on_loop_lag(double ratio);
  void on_vital_signs(const VitalSigns& signs);
  // What is under way on all connections, as often.
  void on_connections(const std::vector<link::Connection*>& connections);
  // How full a queue is on which all work waits, in [0, 1].
  void on_queue(double fill) { detector_.queue(fill); }

  resilience::LoadState state() const { return detector_.state(); }
  std::string_view reason() const { return detector_.reason(); }
  const Counts& counts() const { return counts_; }
  std::size_t known_senders() const { return limiter_.known(); }

 private:
  Duration spread(Duration wait, double share);

  runtime::Runtime& runtime_;
  const MessageClasses& classes_;
  Listener& listener_;
  Prng prng_;
  resilience::OverloadDetector detector_;
  resilience::RequestLimiter limiter_;
  Counts counts_;
};

}  // namespace bellwether::cluster

// A transfer of context leadership to a named node, between the leader and its target:
//
//   leader                                                    target
//   prepare   its jobs end, nothing is written any more
//   transfer  StateOffer ───────────────────────────────────▶ reads it
//             ◀─────────────────────────────── StateReceived
//   validate  ◀──────────────────────────────── StateVerdict  what it takes, and what it drops
//   execute   gives its register and its office to the target, and waits until the target leads
//
// A lost offer or answer costs one of the tries. If the target refuses, does not answer, or does not lead in time, the
// leader continues. The state helps and proves nothing: the register (request_queue.h) decides about requests, the
// election about the office, and both refuse late nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "election/context/context_settings.h"
#include "election/context/failover_state.h"

namespace bellwether::context_lead {

// A time on the clock that kernels are stepped by, and the wall clock beside it, which is for people and files.
struct Moment {
  Instant clock;
  WallTime wall;
};

// --- between nodes ---------------------------------------------------------------------------------------------------

// Which transfer: numbered by each leader from 1.
struct TransferId {
  Epoch epoch;
  uint64_t number = 0;
  constexpr auto operator<=>(const TransferId&) const = default;
};
struct StateOffer {
  TransferId id;
  std::string state;  // as of encode()
};
struct StateReceived {
  TransferId id;
};
struct StateVerdict {
  TransferId id;
  bool accepted = false;
  std::string why;                  // it was not
  std::vector<StateIssue> dropped;  // the parts that the target does not accept
};
// The leader continues itself.
struct OfferWithdrawn {
  TransferId id;
};
using Message = std::variant<StateOffer, StateReceived, StateVerdict, OfferWithdrawn>;

// --- the leader's side -----------------------------------------------------------------------------------------------

class Failover {
 public:
  // The effects of a step, in order.
  struct Say {
    NodeId to;
    Message message;
  };
  // The target has the state: give it register and office.
  struct GiveOffice {
    NodeId target;
  };
  // It did not lead in time.
  struct TakeOfficeBack {};
  struct Ended {
    NodeId target;
    bool ok = false;
    bool office_given = false;  // GiveOffice went before
    Duration took;              // from begin()
    std::string why;
  };
  using Act = std::variant<Say, GiveOffice, TakeOfficeBack, Ended>;
  using Acts = std::vector<Act>;

  enum class Stage : uint8_t { kNone, kPreparing, kTransferring, kExecuting };

  explicit Failover(ContextSettings settings) : settings_(settings) {}

  // REQUIRES kNone.
  void begin(Instant now, NodeId target, Epoch epoch);
  // Jobs have ended, and this is the state. REQUIRES kPreparing.
  Acts prepared(Instant now, std::string state);
  Acts on_message(Instant now, NodeId from, const Message& message);
  // Another node leads under an epoch after this leader's.
  Acts on_leader(Instant now, NodeId leader);
  Acts tick(Instant now);
  // A participant cannot continue.
  Acts abandon(Instant now, std::string why);

  Stage stage() const { return stage_; }
  NodeId target() const { return target_; }  // unless kNone
  Instant begun() const { return begun_; }
  Instant wake() const;

 private:
  enum class Waiting : uint8_t { kReceipt, kVerdict, kBackoff };
  Acts offer(Instant now);
  void try_failed(Instant now, std::string why);
  Acts end(Instant now, bool ok, std::string why);

  ContextSettings settings_;
  Stage stage_ = Stage::kNone;
  NodeId target_;
  TransferId id_;
  Instant begun_;
  std::string state_;
  Instant stage_ends_ = Instant::never();  // of kTransferring and kExecuting
  Instant failover_ends_ = Instant::never();
  // Of kTransferring.
  Waiting waiting_ = Waiting::kReceipt;
  Instant waiting_ends_ = Instant::never();
  uint32_t tries_ = 0;
  std::string trouble_;  // of the last try
};

// --- the target's side -----------------------------------------------------------------------------------------------

// The state offered to this node, until it leads or the state is too old.
class Succession {
 public:
  Succession(ContextSettings settings, NodeId self, DigestOf digest)
      : settings_(settings), self_(self), digest_(digest) {}

  // Answers an offer of the node that leads as far as this one knows. `obstacle`: why this node cannot lead; empty: it
  // can. The answers go to `from`, in their order.
  std::vector<Message> on_offer(Moment now, NodeId from, const StateOffer& offer, const std::string& obstacle);
  void on_withdrawn(NodeId from, const OfferWithdrawn& withdrawn);
  // This node leads under `epoch`: the state that it accepted from the previous leader, if not too old.
  std::optional<RecoveredState> take(Instant now, Epoch epoch);

 private:
  struct Accepted {
    NodeId from;
    TransferId id;
    Instant until;
    RecoveredState state;
  };
  ContextSettings settings_;
  NodeId self_;
  DigestOf digest_;
  std::optional<Accepted> accepted_;
};

}  // namespace bellwether::context_lead

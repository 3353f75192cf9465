// The change of the set of replicas (decision 054), as the owner of the register kSetKey makes it. A kernel: the driver
// owns the register, carries messages, and tells the time.
//
// It finishes a change that it finds under way, begins the wanted one, and waits for each step until the replicas know
// and have read what the next one needs. The next owner of the register goes on where it stopped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cluster/register/small.h"

namespace bellwether::registers {

struct SetChangeConfig {
  ReplicaSet known;  // by this node
  SetWish wish;      // nothing: only finish what is under way
  Duration retry = Duration::millis(200);
};

// --- events ----------------------------------------------------------------------------------------------------------

// This node owns the register, which holds this set; nothing: it was never written. Also after SetLost.
struct SetTaken {
  std::optional<ReplicaSet> set;
};
// It owns the register no longer, and tries to take it again.
struct SetLost {};
// The outcome of WriteSet. Not ok: it may still take effect.
struct SetWritten {
  bool ok = true;
};
struct SetStateIs {
  std::string from;
  SetState state;
};
struct SetTick {};
using SetEvent = std::variant<SetTaken, SetLost, SetWritten, SetStateIs, SetTick>;

// --- effects ---------------------------------------------------------------------------------------------------------

// As the new value of the register, under the set that HaveSet named last. SetWritten or SetLost follows.
struct WriteSet {
  ReplicaSet set;
};
// The register has it: this node takes it over, its owners of registers too, before anything else.
struct HaveSet {
  ReplicaSet set;
};
// SetStateIs follows, or it is lost. The message carries the set, which the replica takes over when it is new to it.
struct AskSetState {
  std::string to;
  ReplicaSet set;
};
// The end. The register is to be given back.
struct SetDone {
  ReplicaSet set;
};
struct SetFailed {
  Error why;
};
using SetEffect = std::variant<WriteSet, HaveSet, AskSetState, SetDone, SetFailed>;
using SetEffects = std::vector<SetEffect>;

class SetChange {
 public:
  explicit SetChange(SetChangeConfig config) : config_(std::move(config)), set_(config_.known) {}

  void step(Instant now, const SetEvent& event, SetEffects& out);
  // When to send SetTick at the latest.
  Instant wake() const { return asks_at_; }

  // For people: the set as it is now, and what it waits for.
  const ReplicaSet& set() const { return set_; }
  std::string waits_for() const;

 private:
  enum class State : uint8_t { kTaking, kReading, kWriting, kTelling, kOver };

  void taken(Instant now, const SetTaken& found, SetEffects& out);
  void go_on(Instant now, SetEffects& out);
  void write(ReplicaSet set, SetEffects& out);
  void ask(Instant now, SetEffects& out);
  void advance(Instant now, SetEffects& out);
  void take_again();
  void end(SetEffect effect, SetEffects& out);
  bool knows(const std::string& name) const;
  bool has_read(const std::string& name) const;

  SetChangeConfig config_;
  State state_ = State::kTaking;
  ReplicaSet set_;                   // that the register holds
  ReplicaSet writing_;               // that it may hold soon
  bool begun_ = false;               // a change, this or another
  std::vector<std::string> former_;  // of the last change: they hear of the next set
  std::map<std::string, SetState> states_;
  Instant asks_at_ = Instant::never();
};

}  // namespace bellwether::registers

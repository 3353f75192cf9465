// The events that a Membership takes and the effects that it asks for.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "cluster/membership/member_table.h"
#include "cluster/membership/packet.h"
#include "core/base/time.h"

namespace bellwether::membership {

// A version of a member's state, ordered by the life of its owner (a number that grows with each start), then by the
// owner's count within that life. So an owner that restarts and counts from 1 again is not taken for stale.
struct StateVersion {
  uint32_t life = 0;
  uint64_t count = 0;
  constexpr auto operator<=>(const StateVersion&) const = default;
};

// The newest version seen of each entity; refuses late and repeated ones. Check and update are one operation. Holds at
// most `limit` entities. Not thread-safe.
class VersionedClock {
 public:
  explicit VersionedClock(std::size_t limit) : limit_(limit) {}

  // True when `version` is newer than all seen of this entity; it is then the newest. Also false for a new entity when
  // the clock is full.
  bool accept(uint64_t entity, StateVersion version);
  // The zero version for an entity never seen.
  StateVersion last(uint64_t entity) const;
  void forget(uint64_t entity) { entries_.erase(entity); }
  std::size_t size() const { return entries_.size(); }

 private:
  std::size_t limit_;
  std::unordered_map<uint64_t, StateVersion> entries_;
};

// How far a slow node withdraws: five levels, and the measures of each. The level is the worse of its local health
// score and the lag of its event loop (lag over the loop's period).
enum class Degradation : uint8_t { kNormal, kElevated, kHigh, kSevere, kCritical };
const char* to_string(Degradation level);

// Scores 0–1 normal, 2–3 elevated, 4–5 high, 6 severe, 7–8 critical; lag ratios below 0.5, 1, 2, 4, and above.
Degradation degradation_of(int health_score, double lag_ratio);

struct DegradedConduct {
  double stretch = 1;          // of timeouts and intervals
  double skipped_probes = 0;   // the share of probes left out; suspects and the watched neighbour are always probed
  int gossip_fanout_less = 0;  // this many fewer peers a round, but at least one
  std::size_t piggyback = kMaxDatagram;  // bytes of a packet that news may fill
  bool refuse_new_work = false;
};
DegradedConduct conduct(Degradation level);

// --- events ----------------------------------------------------------------------------------------------------------

// Join through any of `seeds`. Without any, or if it `founds`, it is the first of a new group; it then asks seeds only
// from time to time whether a group exists after all. `remembered`: the view of an earlier life, as
// Membership::remember() gave it; its members count as alive until they prove otherwise.
struct Start {
  std::vector<Endpoint> seeds;
  bool founds = false;
  std::vector<Update> remembered;
};
struct Tick {};  // the time of wake() has come
// The bytes live as long as the step. They must have been authenticated; they may still be anything.
struct DatagramArrived {
  Endpoint from;
  std::string_view bytes;
};
struct StreamAsked {
  uint64_t request;  // chosen by the driver, comes back in ReplyStream
  std::string_view bytes;
};
struct StreamAnswered {
  uint64_t exchange;                      // of SendStream
  std::optional<std::string_view> bytes;  // nothing: it failed
};
struct Leave {};  // go in good order; LeftGroup follows
// An observer has seen this process end: its connection closed and a new one was refused, or its exit status was read.
struct ProofOfDeath {
  std::string name;
  Endpoint endpoint;  // must be the member's present one
};
struct LoopLag {  // the lag of the event loop over its period, whenever it is measured
  double ratio = 0;
};
struct SetState {  // what rides on our acks from now on; at most kMaxState bytes
  std::string bytes;
};
struct SetMeta {  // our meta has changed: it is sent to the group
  std::string meta;
};

using Event = std::variant<Start, Tick, DatagramArrived, StreamAsked, StreamAnswered, Leave, ProofOfDeath, LoopLag,
                           SetState, SetMeta>;

// --- effects ---------------------------------------------------------------------------------------------------------
// To be carried out in their order. None must be durable before another.

struct SendDatagram {
  Endpoint to;
  std::string bytes;
};
// One request on a reliable connection; its answer, or the lack of one, comes back as StreamAnswered.
struct SendStream {
  uint64_t exchange;
  Endpoint to;
  std::string bytes;
};
struct ReplyStream {
  uint64_t request;
  std::string bytes;
};

enum class MemberChange : uint8_t {
  kJoined,  // was not known, or was gone
  kSuspected,
  kRefuted,  // was suspected and has shown itself
  kDied,
  kLeft,       // said so itself
  kUpdated,    // its address, role or meta changed
  kRestarted,  // another process bears the name now: the earlier one is gone
  kForgotten,  // its tombstone has been removed
};
const char* to_string(MemberChange change);

enum class Cause : uint8_t {
  kOwnProbe,  // we found it silent, and so did all proxies that answered
  kGossip,    // another member passed it on
  kSync,      // a comparison of views brought it
  kTimeout,   // it was suspected for too long
  kProof,     // its process was seen to end
  kItself,    // it said so
  kAge,       // it has been gone for long
};
const char* to_string(Cause cause);
// For people: "it did not answer".
const char* describe(Cause cause);

// For subscribers and for the audit log: what changed, and on which evidence.
struct MemberEvent {
  MemberChange change = MemberChange::kJoined;
  std::string name;
  Endpoint endpoint;
  uint32_t incarnation = 0;
  Cause cause = Cause::kGossip;
  Accusers accusers;  // Membership::name_of() knows their names
};
struct StateArrived {  // newer than all that came before from this member
  std::string name;
  StateVersion version;
  std::string bytes;
};
enum class ConflictKind : uint8_t {
  kName,     // two processes claim one name
  kAddress,  // two names claim one address
  kId,       // two names have one id: the later is not let in
};
const char* to_string(ConflictKind kind);
struct Conflict {
  ConflictKind kind = ConflictKind::kName;
  std::string name;
  std::string other;  // the other name, if it is another
  Endpoint held;
  Endpoint claimed;
};
// The name belongs to another process that answers: this one must stop. Nothing is sent any more.
struct Refused {
  Endpoint holder;
};
struct JoinedGroup {
  std::size_t members = 0;
};
struct LeftGroup {};
// Worth keeping over a restart, so that the next life need not learn it; not necessary for safety.
struct IncarnationRaised {
  uint32_t incarnation = 0;
};
struct GossipOverflowed {  // news had to be dropped; comparisons of views will bring it
  UpdateKind kind = UpdateKind::kDead;
};
struct DegradationChanged {
  Degradation level = Degradation::kNormal;
  int health_score = 0;
  double lag_ratio = 0;
};
struct GuardChanged {  // evictions of silent members of this role are held, or not any more
  uint8_t role = 0;
  bool holding = false;
};

using Effect =
    std::variant<SendDatagram, SendStream, ReplyStream, MemberEvent, StateArrived, Conflict, Refused, JoinedGroup,
                 LeftGroup, IncarnationRaised, GossipOverflowed, DegradationChanged, GuardChanged>;
using Effects = std::vector<Effect>;

}  // namespace bellwether::membership

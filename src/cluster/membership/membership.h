// One node's part in a group: who is in it, who is suspected, who is gone. SWIM with all of Lifeguard, and on top of
// them what docs/cluster/membership.md explains: proxies whose probe fails are witnesses, a node that hears nobody
// accuses nobody, suspects are told first, one neighbour is watched beside the random rounds, views are compared by
// digest.
//
// A state machine without clock, socket or thread: each step is told the time of the monotonic clock and answers with
// effects. Deadlines pass only in Tick steps, so a driver that reads its sockets before its timers is fair to others.
//
// What it guarantees:
//   - only the process that bears a name raises its incarnation;
//   - whoever is told of its own death refutes it, also after a restart without memory;
//   - memory, packets and work a step are bounded, whatever arrives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/membership/correlation_guard.h"
#include "cluster/membership/directory.h"
#include "cluster/membership/gossip_buffer.h"
#include "cluster/membership/member_table.h"
#include "cluster/membership/membership_events.h"
#include "cluster/membership/packet.h"
#include "cluster/membership/profile.h"
#include "core/base/prng.h"
#include "core/base/time.h"

namespace bellwether::membership {

// A suspicion under way: who accuses whom, and when it becomes a death unless it is refuted. The more members have
// found the suspect silent independently of each other, the sooner (Lifeguard, LHA-Suspicion):
//
//   timeout = max(min, max − (max − min) · log(C + 1) / log(K + 1))
//
// with C accusers beside the first and K of them enough. Time in which this node heard nobody is not counted.
struct Suspicion {
  NodeIndex node = 0;
  uint32_t incarnation = 0;
  Instant since;
  Duration min;
  Duration max;
  int enough = 0;        // K
  Accusers accusers;     // the first one included
  Duration deaf_before;  // what this node had been deaf in total when the suspicion began
  Duration extended;     // held by the correlation guard for so long
  bool guarded = false;  // it was held once

  // How long it lasts with the accusers that there are.
  Duration timeout() const;
};

Duration suspicion_timeout(Duration min, Duration max, int confirmations, int enough);

// In which order members are probed: all of them once a round, shuffled anew each round; who comes in mid-round gets a
// random place (SWIM, section 4.3: completeness within two rounds). Also the urn from which random peers are drawn.
class ProbeList {
 public:
  void add(NodeIndex node, Prng& prng);
  void remove(NodeIndex node);
  // The next in turn, whatever its state; nothing when the list is empty.
  std::optional<NodeIndex> next(Prng& prng);
  NodeIndex any(Prng& prng) const { return order_[prng.below(order_.size())]; }
  std::size_t size() const { return order_.size(); }

 private:
  std::vector<NodeIndex> order_;
  std::size_t at_ = 0;
};

// How much a node may trust its own watch over others: a score from 0 (all is well) to 8 that grows with signs that the
// node itself is slow or badly connected, and stretches its timeouts (Lifeguard's local health multiplier).
class LocalHealth {
 public:
  LocalHealth(int max, double step) : max_(max), step_(step) {}

  void add(int points) { score_ = std::clamp(score_ + points, 0, max_); }
  int score() const { return score_; }
  // 1 + score · step: 1 to 3 with steps of a quarter.
  double stretch() const { return 1.0 + score_ * step_; }

 private:
  int max_;
  double step_;
  int score_ = 0;
};

struct MembershipConfig {
  std::string name;  // unique in the group, 1 to kMaxName bytes
  Profile profile;
  // Grows with each start of a process under this name: the wall clock's seconds will do. Of two living processes with
  // one name the older keeps it.
  uint32_t life = 0;
  uint32_t incarnation = 0;  // of the earlier life, if it is remembered
  Figures figures;
};

class Membership {
 public:
  enum class State : uint8_t { kIdle, kJoining, kMember, kLeaving, kGone };

  // `directory` must outlive it and may be shared by the nodes of one thread. `seed` must differ between nodes.
  Membership(MembershipConfig config, Directory& directory, uint64_t seed);

  void step(Instant now, const Event& event, Effects& effects);
  // When to send Tick at the latest.
  Instant wake() const;

  State state() const { return state_; }
  const MemberTable& table() const { return table_; }
  const std::string& name() const { return config_.name; }
  const Profile& profile() const { return config_.profile; }
  uint32_t incarnation() const { return incarnation_; }
  int health_score() const { return health_.score(); }
  Degradation degradation() const { return level_; }
  std::size_t pending_news() const { return gossip_.size(); }
  uint64_t malformed() const { return malformed_; }
  // The name behind a mark; empty when nobody in the view has it. Looks at the whole view.
  std::string name_of(AccuserMark mark) const;
  // All present members, for Start::remembered of a later life.
  std::vector<Update> remember() const;

 private:
  struct Probe {
    uint32_t sequence = 0;
    NodeIndex target = 0;
    Instant sent;
    Instant indirect_at;
    Instant verdict_at;
    bool indirect = false;
    int asked = 0;
    int points = 0;   // added to our health score so far
    Accusers silent;  // proxies that got no answer either
  };
  struct Errand {  // a probe for somebody else
    uint32_t sequence = 0;
    uint32_t their_sequence = 0;
    Endpoint asked_by;
    NodeId target;
    Instant sent;
    Instant deadline;
  };
  struct Exchange {  // a request on a stream that is under way
    uint64_t id = 0;
    Endpoint peer;
    StreamKind kind = StreamKind::kJoin;
  };
  struct Tombstone {
    NodeIndex node = 0;
    Instant since;
  };
  struct Claimant {  // another process under our name, asked whether it lives
    Endpoint endpoint;
    uint32_t life = 0;
    uint32_t incarnation = 0;
    uint32_t sequence = 0;
    Instant deadline = Instant::never();
  };
  struct Source {  // where news came from
    NodeId node;
    Endpoint endpoint;
    bool reachable = false;  // by datagram at `endpoint`, and no answer is on its way there anyway
    Cause cause = Cause::kGossip;
    bool pass_on = true;
  };

  // membership.cc: coming and going, time
  void on_start(const Start& start, Effects& out);
  void on_tick(Effects& out);
  void on_leave(Effects& out);
  void on_loop_lag(double ratio, Effects& out);
  void on_set_meta(const SetMeta& set, Effects& out);
  void on_proof(const ProofOfDeath& proof, Effects& out);
  void reap(Effects& out);
  void update_level(Effects& out);
  void postpone(Duration lateness);
  void announce(UpdateKind kind, Effects& out);
  void heard();
  Duration deaf_time() const;
  bool can_be_deaf() const;
  Duration deaf_after() const { return config_.figures.probe_interval * 2; }
  double stretch() const;
  Duration stretched(Duration span) const { return Duration::from_seconds_f(span.seconds_f() * stretch()); }
  Duration jittered(Duration span);

  // membership_sync.cc: watching others
  void probe_next(Effects& out);
  void probe(NodeIndex target, Effects& out);
  std::optional<NodeIndex> next_target();
  std::optional<NodeIndex> watched();
  void watch_may_change(NodeIndex node);
  void check_probes(Effects& out);
  void go_indirect(Probe& probe, Effects& out);
  void judge(const Probe& probe, Effects& out);
  void check_errands(Effects& out);
  void probe_the_dead(Effects& out);
  void probe_islands(Effects& out);
  std::optional<NodeIndex> random_peer();

  // membership.cc, too: datagrams
  void on_datagram(const DatagramArrived& arrived, Effects& out);
  void on_ping(const PacketHead& head, const Endpoint& from, Effects& out);
  void on_ack(const PacketHead& head, const Endpoint& from, Effects& out);
  void on_ping_req(const PacketHead& head, const Endpoint& from, Effects& out);
  void on_nack(const PacketHead& head);
  void complete(std::size_t probe, const PacketHead& head);
  void send(const PacketHead& head, const Endpoint& to, std::optional<NodeIndex> who, bool told, Effects& out);
  void gossip_round(Effects& out);
  PacketHead ping_to(NodeId to, uint32_t sequence) const;
  std::optional<Update> word_to(NodeIndex who) const;

  // membership_news.cc: what the group knows
  void apply(const Update& update, const Source& source, Effects& out);
  void apply_alive(const Update& update, const Source& source, Effects& out);
  void enter(const Update& update, const Source& source, Effects& out);
  void apply_suspect(const Update& update, const Source& source, Effects& out);
  void apply_dead(const Update& update, const Source& source, Effects& out);
  void apply_leave(const Update& update, const Source& source, Effects& out);
  void about_self(const Update& update, const Source& source, Effects& out);
  void refute(uint32_t incarnation, const Update& update, const Source& source, Effects& out);
  void suspect(NodeIndex node, const Update& update, const Source& source, Effects& out);
  void confirm(NodeIndex node, const Update& update, Effects& out);
  void bury(NodeIndex node, MemberState state, const Update& update, const Source& source, const Accusers& accusers,
            Effects& out);
  void check_suspicions(Effects& out);
  void end_suspicion(NodeIndex node);
  Suspicion* suspicion_of(NodeIndex node);
  Instant deadline_of(const Suspicion& suspicion) const;
  bool guard_holds(NodeIndex node, Effects& out);
  void pass_on(const Update& update, Effects& out);
  void tell(MemberChange change, NodeIndex node, const Update& update, const Source& source, Effects& out) const;
  Update record_of(NodeIndex node) const;
  void question(const Update& update, Effects& out);
  void settle_claim(bool answered, Effects& out);
  void find_address_conflict(NodeIndex node, Effects& out) const;
  void correct(NodeIndex node, const Endpoint& who, Effects& out);

  // membership_sync.cc, too: comparing views over streams
  void on_stream_asked(const StreamAsked& asked, Effects& out);
  void on_stream_answered(const StreamAnswered& answered, Effects& out);
  void ask(StreamKind kind, const Endpoint& to, std::string bytes, Effects& out);
  void join_somebody(Effects& out);
  void joined(Effects& out);
  void compare_with(const Endpoint& peer, Effects& out);
  bool may_compare() const;
  bool may_meet() const;
  std::string bucket_hashes() const;
  std::vector<uint32_t> differing(PacketReader& in) const;
  void write_records(std::string& bytes, const std::vector<uint32_t>* buckets) const;
  void apply_records(PacketReader& in, Source source, Effects& out);

  MembershipConfig config_;
  Prng prng_;
  NodeId id_;
  MemberTable table_;
  ProbeList order_;
  GossipBuffer gossip_;
  LocalHealth health_;
  CorrelationGuard guard_;
  VersionedClock clock_;

  State state_ = State::kIdle;
  Instant now_;
  Instant started_;
  NodeIndex self_ = 0;
  uint32_t incarnation_ = 0;
  uint32_t next_sequence_ = 1;
  uint64_t next_exchange_ = 1;
  uint64_t malformed_ = 0;

  std::vector<Probe> probes_;
  std::vector<Errand> errands_;
  std::vector<Exchange> exchanges_;
  std::vector<Suspicion> suspicions_;
  std::vector<Tombstone> tombstones_;
  static constexpr std::size_t kMostIslands = 64;
  std::vector<Endpoint> islands_;  // seeds, and where forgotten members or strangers were
  Claimant claimant_;
  uint32_t island_sequence_ = 0;

  bool watch_turn_ = false;
  bool watch_known_ = false;
  std::optional<NodeIndex> watch_;

  Instant last_heard_;
  Duration deaf_total_;
  double lag_ratio_ = 0;
  Degradation level_ = Degradation::kNormal;
  Instant refuted_at_ = Instant::never();

  Instant next_probe_ = Instant::never();
  Instant next_check_ = Instant::never();  // of probes and errands
  Instant next_suspicion_ = Instant::never();
  Instant next_gossip_ = Instant::never();
  Instant next_join_ = Instant::never();
  Instant next_dead_probe_ = Instant::never();
  Instant next_island_ = Instant::never();
  Instant next_reap_ = Instant::never();
  Instant leave_ends_ = Instant::never();
  int join_tries_ = 0;
  Instant last_change_;  // of the view
  Instant last_sync_;

  std::string state_bytes_;
  uint64_t state_version_ = 0;
};

}  // namespace bellwether::membership

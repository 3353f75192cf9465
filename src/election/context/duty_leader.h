// The duties of a context leader on one node: while this node leads, it keeps the queue of generation requests of a
// cluster and runs them through the registered context manager. It reads no clock: each step takes the time and returns
// effects.
//
//   not leading ──elected──▶ taking ──the register is taken, and written under this epoch──▶ idle
//   idle ──start──▶ starting (generation_start_delay) ──▶ generating ◀──cluster health──▶ paused
//   ──stop, transfer──▶ stopping: no new jobs; jobs end by themselves (queue_drain_timeout), are cancelled
//   (generation_stop_timeout), are killed ──▶ idle, or handing over ──▶ not leading
//
// Its guarantees, if the register refuses its earlier writers, and the driver executes effects in order and loses
// pending ones only when it crashes as a whole:
//   - a request is acknowledged when a majority has its payload and the register names it; from then on each leader
//     finds it, until one has written its end;
//   - an attempt begins after the register knows its fence: no two attempts at a request have the same fence, and each
//     fence is above the earlier ones;
//   - one attempt ends a request: the one that the register shows as running when its end is written there. This leader
//     or a later one reports the outcome after that, always with the same fence.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/periodic.h"
#include "election/context/duty_events.h"

namespace bellwether::context_lead {

struct DutyConfig {
  NodeId self;
  std::vector<NodeId> members;  // declared, this node among them
  ContextSettings settings;
  DigestOf digest = nullptr;
};

enum class Duty : uint8_t { kNotLeading, kTaking, kIdle, kStarting, kGenerating, kPaused, kStopping, kHandingOver };
// "not_leading", "taking", …
std::string_view to_string(Duty duty);

// The state as this node knows it. Only a leader knows the requests.
struct DutyStatus {
  NodeId leader;  // kNobody: none is known
  Epoch epoch;    // of it
  Instant since;  // this node leads
  Duty duty = Duty::kNotLeading;
  std::string why;  // paused, stopping, or idle: the cause
  uint64_t terms = 0;
  std::size_t queued = 0;
  std::size_t active = 0;
  uint64_t completed = 0;  // ever, by all leaders
  uint64_t failed = 0;
  Duration oldest_waiting;  // by the clocks of submitters
  // Of this node since its start.
  uint64_t jobs_ended = 0;  // that counted
  Duration job_time;        // of these, together
  Duration longest_job;
  uint64_t completions_refused = 0;
  uint64_t pauses = 0;
  uint64_t transfers = 0;
  uint64_t transfers_failed = 0;
};

class DutyLeader {
 public:
  // `seed` spreads the times of health checks; it differs between nodes.
  // REQUIRES settings that validate, 1 to vote::kMaxNodes members, a digest.
  DutyLeader(DutyConfig config, uint64_t seed);

  void step(Moment now, const Event& event, Effects& out);
  // When to send Tick at the latest.
  Instant wake() const;

  Duty duty() const;
  bool is_leader() const { return announced_; }
  DutyStatus status(WallTime now) const;
  const ContextClusterHealth& health() const { return health_; }
  // The register's content and the unwritten changes. Empty unless leading.
  const RequestQueue& queue() const { return queue_; }

 private:
  struct NotLeading {};
  struct Taking {
    uint64_t ticket = 0;  // of the question; 0: it is asked at again_at
    Instant again_at;
    bool opened = false;  // taken; the queue is being written under this epoch
  };
  struct Idle {
    std::string why;
  };
  struct Starting {
    Instant at;
  };
  struct Generating {
    bool paused = false;
  };
  struct Stopping {
    bool hands_over = false;
    std::string why;
    bool cancelled = false;  // jobs were asked to end
    Instant until;           // then they are cancelled; after that, killed
  };
  struct HandingOver {
    bool office_given = false;
  };
  using Phase = std::variant<NotLeading, Taking, Idle, Starting, Generating, Stopping, HandingOver>;

  struct Job {
    AttemptFence fence;
    bool runs = false;  // the manager has it
    Instant since;
    Instant fetch_at = Instant::never();  // the payload is asked for again
  };
  // Actions that wait until the register knows their cause.
  using Then = std::variant<Answered, FetchPayload, TellOutcome>;
  struct Writing {
    uint64_t ticket = 0;
    std::vector<Then> then;  // when it is written
  };
  struct Pending {  // its payload is being kept
    Request head;   // without the payload
    std::vector<uint64_t> tickets;
  };
  // duty_leader.cc: the term, and phases
  void go_through_phase(Moment now, Effects& out);
  void on_elected(Moment now, Epoch epoch, Effects& out);
  void on_leader_seen(Moment now, const LeaderSeen& seen, Effects& out);
  void change_leader(NodeId leader, Epoch epoch, Effects& out);
  void on_opened(Moment now, Effects& out);
  void lose(Moment now, const std::string& why, Effects& out);
  void stand_ready(Moment now, Duration delay, Effects& out);
  Status start_generation(Moment now, Effects& out);
  Status stop_generation(Moment now, const std::string& why);

  // duty_leader.cc, too: the register, and the actions that wait for it
  Status submit(Moment now, const Submit& wish, Effects& out);
  void on_taken(Moment now, const RegisterTaken& taken, Effects& out);
  void on_written(Moment now, uint64_t ticket, Effects& out);
  void on_register_failed(Moment now, const RegisterFailed& failed, Effects& out);
  void on_register_lost(Moment now, const std::string& why, Effects& out);
  void register_trouble(Moment now, const std::string& why, Effects& out);
  void write(Moment now, Effects& out);
  void drop_work(const std::string& why, Effects& out);
  void on_payload_kept(const PayloadKept& kept, Effects& out);

  // duty_health.cc: jobs
  void begin_jobs(Moment now, Effects& out);
  void on_fetched(Moment now, const PayloadFetched& fetched, Effects& out);
  void on_job_ended(Moment now, const JobEnded& ended, Effects& out);
  void finish(RequestId id, AttemptFence fence, Outcome outcome, std::string reason);
  void stop_jobs(bool kill, Effects& out);
  void go_through_stopping(Moment now, Stopping& stopping, Effects& out);

  // duty_health.cc, too: health, transfers, and the status
  void on_health(Moment now, const HealthReport& report, Effects& out);
  Status transfer(Moment now, Transfer wish, Effects& out);
  void on_heard(Moment now, const Heard& heard, Effects& out);
  void on_offer(Moment now, NodeId from, const StateOffer& offer, Effects& out);
  void carry_out(Moment now, Failover::Acts acts, Effects& out);
  void on_transfer_ended(Moment now, const Failover::Ended& ended, Effects& out);
  // The state that a transfer would hand over now.
  FailoverState failover_state(Moment now) const;

  DutyConfig config_;
  Periodic health_period_;
  std::optional<ManagerConfig> manager_;
  Phase phase_ = NotLeading{};
  NodeId leader_;            // as far as this node knows
  Epoch leader_epoch_;       // of it
  Instant without_leader_;   // since then, while leader_ is kNobody
  Epoch epoch_;              // under which this node leads, or led last
  Instant since_;            // of that
  NodeId predecessor_;       // whose the register was
  bool announced_ = false;   // BecameLeader was sent, and not taken back
  bool generating_ = false;  // GenerationStarted was sent, and not taken back
  bool wanted_ = true;       // generation is to run when it can

  RequestQueue queue_;
  bool changed_ = false;  // since the present write, or the last one
  std::optional<Writing> writing_;
  std::vector<Then> then_;  // after the write of the changes
  Instant write_at_;
  uint64_t last_ticket_ = 0;
  uint32_t troubles_ = 0;  // with the register, in a row
  std::map<RequestId, Pending> pending_;
  std::map<RequestId, Job> jobs_;

  Instant check_at_ = Instant::never();
  uint32_t poor_checks_ = 0;  // of this node, in a row
  ContextClusterHealth health_;

  Failover failover_;
  Succession succession_;
  Transfer transfer_;  // the last one
  uint64_t state_version_ = 0;
  DutyStatus counted_;
};

}  // namespace bellwether::context_lead

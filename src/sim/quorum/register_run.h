// The run of one simulated register: see register_world.h for what it is.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dispatch/job_acceptor.h"
#include "dispatch/job_owner.h"
#include "sim/local_clock.h"
#include "sim/quorum/register_checker.h"
#include "sim/quorum/register_world.h"
#include "sim/timeline.h"

namespace bellwether::sim {

class RegisterWorld {
 public:
  RegisterWorld(uint64_t seed, RegisterMistake mistake, bool trace);
  RegisterRun live();

 private:
  struct Operation {
    bool write;
    std::string value;
    RegisterChecker::Floor floor;
  };
  // One node: an acceptor with its disk, and one who wants to own the job.
  struct Node {
    uint32_t index = 0;
    dispatch::MemberId id;
    LocalClock clock;
    bool up = false;
    bool paused = false;
    uint32_t life = 0;
    std::optional<dispatch::JobAcceptor> acceptor;
    std::optional<dispatch::JobOwner> owner;
    uint64_t wake_number = 0;
    std::vector<dispatch::JobRecord> disk;  // at most one
    double sync_fails = 0;
    Duration sync_slow;
    Instant disk_free_world;
    struct Missed {
      std::optional<dispatch::OwnerEvent> owner;
      std::optional<dispatch::AcceptorEvent> acceptor;
    };
    std::vector<Missed> missed;
    RegisterChecker::Floor take_floor;
    std::map<uint64_t, Operation> operations;
    std::string known_value;  // that this node wrote or read last
    dispatch::Place known_place;
  };

  void start(Node& n);
  void crash(Node& n);
  void to_owner(Node& n, const dispatch::OwnerEvent& event);
  void to_acceptor(Node& n, const dispatch::AcceptorEvent& event);
  void carry_out(Node& n, const dispatch::OwnerEffect& effect);
  void carry_out(Node& n, const dispatch::AcceptorEffect& effect);
  void taken(Node& n, const dispatch::JobTaken& taken);
  void finished(Node& n, uint64_t ticket, dispatch::Place place, const std::string& value);
  void expect_sole_owner(const Node& n);
  void ask(Node& from, const dispatch::SendAsk& sending);
  void reply(Node& from, const dispatch::Reply& reply);
  void keep(Node& n, const dispatch::KeepJob& record);
  void use(Node& n, uint32_t life);
  void something_goes_wrong();
  void cut(uint32_t from, uint32_t to, Duration span);
  bool run_until(Instant end);
  void expect_owner();
  void say(const Node& n, const std::string& text);
  Node* of(dispatch::MemberId id);
  bool is(RegisterMistake mistake) const { return mistake_ == mistake; }
  Duration draw(Duration low, Duration high) { return timeline_.prng().between(low, high); }
  Prng& prng() { return timeline_.prng(); }
  Instant now() const { return timeline_.now(); }

  RegisterMistake mistake_;
  bool tracing_;
  std::string trace_;
  Timeline timeline_;
  double worst_drift_;
  Duration lease_;
  std::vector<Node> nodes_;
  RegisterChecker checker_;
  std::vector<int> cut_;
  double loss_ = 0;
  double twice_ = 0;
  Duration slowest_ = Duration::millis(2);
  uint64_t ticket_ = 0;
  RegisterRun run_;
};

}  // namespace bellwether::sim

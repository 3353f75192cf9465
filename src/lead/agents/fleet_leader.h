// `bellwether agents lead`: one agent of a fleet that shares a registry, a queue of tasks and a lease. The agent
// registers. While another agent leads, it follows, and touches only its heartbeat. When it leads, it runs the tasks of
// the queue, each by a command under a guardian, and cleans the registry at each heartbeat. When it loses the
// leadership, its command ends before another agent can lead, and it follows again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "core/journal/journal.h"
#include "core/runtime/cancellation.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/runtime.h"
#include "election/elector.h"
#include "election/lease_timing.h"
#include "lead/agents/agent_registry.h"
#include "lead/agents/fleet_files.h"

namespace bellwether::lead {

// Whether another agent leads and is in good health, judged by a candidate that would rather leave than wait. Leaving
// is harmless, so here, and only here, wall clocks and appearances count: a record that was renewed lately, or that
// changes during the observation, is a healthy leader's. A record that has run out by the wall clock proves nothing:
// the candidate waits until it changes or may be taken. Pure.
class HealthyLeader {
 public:
  // To be asked after each look that the candidate took at the key, or more often.
  bool is_seen_by(const election::Elector& elector, WallTime now);

 private:
  std::string token_;  // of the record that is watched, and the version in which it was seen first
  election::Version version_;
};

struct FleetOptions {
  std::string via;  // where the lease is, and under which key
  std::string key;
  std::string registry;  // paths
  std::string queue;
  std::string id;  // empty: host:pid
  std::string role;
  std::string region;
  Duration cross_region_wait;

  election::LeaseTiming timing;
  std::optional<election::AdaptiveSettings> adaptive;  // the lease follows the store
  Duration heartbeat;                                  // in the registry
  AgentAges ages;
  bool trust_empty = false;
  bool back_off = false;
  bool exit_if_follower = false;  // end with 0 when a healthy leader is seen
  bool until_done = false;        // end when no task is left to do: with 0, or with 1 when some have failed

  std::vector<std::string> command;  // for each task
  std::size_t parallel = 1;
  uint32_t tries_most = 5;
  Duration retry_after = Duration::seconds(10);
  Duration poll = Duration::seconds(1);
  Duration grace = Duration::seconds(10);  // from asking a task to end until it is killed, while the term goes on

  std::string health_command;
  Duration health_every = Duration::seconds(5);
  std::string audit_file;
  std::string metrics_at;
  bool json = false;
  int verbosity = 1;
};

// Runs until a signal, or as the options say. The exit code of the process. REQUIRES that no other thread runs yet.
int run_fleet_leader(runtime::EpollRuntime& runtime, const FleetOptions& options);

// An agent in the registry of its fleet: registered for its whole life, with a heartbeat. While it leads it cleans up
// as well: it marks silent agents, returns their tasks to the queue, and forgets dead agents. One thread, that of its
// runtime.
class FleetMember {
 public:
  struct Settings {
    std::string id;
    std::string role;
    Duration heartbeat;
  };
  // All must outlive it.
  FleetMember(runtime::Runtime& runtime, RegistryFile& registry, QueueFile& queue, Journal& journal, Settings settings)
      : runtime_(runtime), registry_(registry), queue_(queue), journal_(journal), settings_(std::move(settings)) {}

  // kRefused when another process of this machine lives under our name.
  runtime::task<Status> join();
  // Until `cancel`.
  runtime::task<void> beat(runtime::Cancellation* cancel);
  runtime::task<void> leave();
  // From now on it leads under this epoch, or does not lead.
  void lead(std::optional<election::Epoch> epoch) { epoch_ = epoch; }

 private:
  runtime::task<Status> beat_once();
  runtime::task<Status> clean_up(election::Epoch epoch);
  void tell_once(const Status& how);

  runtime::Runtime& runtime_;
  RegistryFile& registry_;
  QueueFile& queue_;
  Journal& journal_;
  Settings settings_;
  std::optional<election::Epoch> epoch_;
  std::string trouble_;
};

}  // namespace bellwether::lead

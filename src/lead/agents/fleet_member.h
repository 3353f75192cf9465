// An agent in the registry of its fleet: registered for its whole life, with a heartbeat. While it leads it cleans up
// as well: it marks silent agents, returns their tasks to the queue, and forgets dead agents. One thread, that of its
// runtime.
#pragma once

#include <optional>
#include <string>

#include "core/journal/journal.h"
#include "core/runtime/cancellation.h"
#include "core/runtime/runtime.h"
#include "lead/agents/fleet_files.h"

namespace bellwether::lead {

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

// The shared code of the commands of `bellwether agents`: the places of a fleet, and the commands themselves, each with
// its options.
#pragma once

#include <string>

#include "core/base/result.h"
#include "lead/agents/agent_registry.h"

namespace CLI {
class App;
}

namespace bellwether::cli {

// kInvalid: no profile of that name.
Result<lead::AgentProfile> profile_named(const std::string& name);

struct FleetPlaces {
  std::string folder;    // with all of them, unless they are given one by one
  std::string registry;  // paths
  std::string queue;
  std::string via;  // where the lease is
  std::string key;

  // Takes missing values from the folder, if that was given.
  void complete();
  // Makes the folder, if one was given.
  Status make_folder() const;
};

// A change replaces the whole file. A file that root makes is root's, and no agent could read it any more: from here on
// root acts as the owner of the file. REQUIRES that no other thread runs yet.
void act_as_owner_of(const std::string& path);

// `--dir`; `places` must outlive the command.
void add_fleet_folder(CLI::App* command, FleetPlaces& places);

void add_agents_lead(CLI::App& agents, int& exit_code);
void add_agents_tasks(CLI::App& agents, int& exit_code);

}  // namespace bellwether::cli

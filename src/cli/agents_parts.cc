#include "cli/agents_parts.h"

#include <CLI/CLI.hpp>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/check.h"

namespace bellwether::cli {

void FleetPlaces::complete() {
  if (folder.empty()) return;
  if (registry.empty()) registry = folder + "/agents.json";
  if (queue.empty()) queue = folder + "/tasks.json";
  if (via.empty()) via = "file:" + folder + "/orchestrator-state.json";
  if (key.empty()) key = "default";
}

void act_as_owner_of(const std::string& path) {
  struct stat file {};
  if (::geteuid() != 0 || ::stat(path.c_str(), &file) != 0 || file.st_uid == 0) return;
  const bool dropped = ::setgroups(0, nullptr) == 0 && ::setegid(file.st_gid) == 0 && ::seteuid(file.st_uid) == 0;
  check(dropped, "root may act as anybody");
}

void add_fleet_folder(CLI::App* command, FleetPlaces& places) {
  command
      ->add_option("-d,--dir", places.folder,
                   "The fleet's folder, on a disk that all agents see: agents.json, tasks.json and the lease "
                   "orchestrator-state.json")
      ->type_name("DIR");
}

}  // namespace bellwether::cli

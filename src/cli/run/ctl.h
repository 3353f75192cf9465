// The current local runs of this user, each with a socket that controls it.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace bellwether::cli {

// The folder of their sockets: $XDG_RUNTIME_DIR/bellwether, else a folder of this user's below /tmp.
std::string running_folder();
// The name of the socket of a run.
std::string socket_name(const std::string& run_id);

struct Running {
  std::string id;
  std::string path;  // of its socket
};
// The runs with a socket, the newest last. Removes the socket of a killed run.
std::vector<Running> all_running();
// By its id, the beginning of one, or `last`. kNotFound and kInvalid name the runs that exist.
Result<Running> find_running(const std::string& name);

}  // namespace bellwether::cli

// The local runs of this user that go on just now, each with a socket through which it is controlled.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace bellwether::cli {

// Where their sockets are: $XDG_RUNTIME_DIR/bellwether, else a folder of this user's below /tmp.
std::string running_folder();
// The name of the socket of a run.
std::string socket_name(const std::string& run_id);

struct Running {
  std::string id;
  std::string path;  // of its socket
};
// Those that have a socket, the newest last. The socket of one that was killed is taken away.
std::vector<Running> all_running();
// By its id, the beginning of one, or `last`. kNotFound and kInvalid name those that there are.
Result<Running> find_running(const std::string& name);

}  // namespace bellwether::cli

// bellwether cluster up, down, status: a whole cluster of processes on this machine.
#pragma once

namespace CLI {
class App;
}

namespace bellwether::cli {

// Below `bellwether cluster`.
void add_local_cluster(CLI::App& cluster, int& exit_code);

}  // namespace bellwether::cli

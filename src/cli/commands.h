// The commands of the command line. Each add_… declares a command and its options; when the user gives it, it runs and
// leaves the process's exit code.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace bellwether::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitNo = 1;       // the answer is no: not there, not held, not done
inline constexpr int kExitUsage = 104;  // wrong command line or scenario, as in k6

// Says on stderr what is wrong with a command line of `bellwether VERB`, and gives `code` back.
int refuse(std::string_view verb, const std::string& text, int code = kExitUsage);

void add_run(CLI::App& app, int& exit_code);
void add_agents(CLI::App& app, int& exit_code);
void add_alerts(CLI::App& app, int& exit_code);
void add_build(CLI::App& app, int& exit_code);
void add_budget(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_cluster(CLI::App& app, int& exit_code);
// … of which a part is a cluster on this machine.
void add_local_cluster(CLI::App& cluster, int& exit_code);
void add_config(CLI::App& app, int& exit_code);
void add_context(CLI::App& app, int& exit_code);
// … of which a part is a node.
void add_context_serve(CLI::App& context, int& exit_code);
void add_drill(CLI::App& app, int& exit_code);
void add_job(CLI::App& app, int& exit_code);
void add_keys(CLI::App& app, int& exit_code);
void add_lead(CLI::App& app, int& exit_code);
void add_lease(CLI::App& app, int& exit_code);
void add_loops(CLI::App& app, int& exit_code);
void add_manager(CLI::App& app, int& exit_code);
void add_node(CLI::App& app, int& exit_code);
void add_ctl(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_watch(CLI::App& app, int& exit_code);
void add_worker(CLI::App& app, int& exit_code);
void add_worker_drain(CLI::App& worker, int& exit_code);
void add_share(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_results(CLI::App& app, int& exit_code);
void add_results_compare(CLI::App& results, int& exit_code);
void add_sim(CLI::App& app, int& exit_code);
void add_target(CLI::App& app, int& exit_code);

}  // namespace bellwether::cli

#include "cluster/local_cluster/local_cluster.h"

#include <algorithm>
#include <arpa/inet.h>
#include <csignal>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#include <unistd.h>

#include "cluster/local_cluster/folder.h"
#include "cluster/net/node_config.h"
#include "cluster/node/dialling.h"
#include "cluster/node/secrets.h"
#include "core/base/prng.h"
#include "core/base/units.h"
#include "election/store/environment.h"

namespace bellwether::local_cluster {
namespace {

using runtime::task;

constexpr Duration kMaxAsk = Duration::seconds(2);

Result<node::OperatorClient> make_client(const Folder& folder, const cluster::NodeConfig& config) {
  // The environment holds the secret of another cluster.
  BW_TRY(auto keyring, node::read_secrets(config, [](const char*) -> const char* { return nullptr; }));
  auto client = node::OperatorClient::make(config, std::move(keyring), kClientName);
  if (!client) return fail(client.error().code, "'{}': {}", folder.path(), client.error().message);
  return client;
}

cluster::NodeConfig client_config(const Folder& folder, const Layout& layout) {
  cluster::NodeConfig config;
  config.cluster = kClusterName;
  config.environment = "default";
  config.datacenter = layout.nodes.front().datacenter;
  config.secret_file = folder.path() + "/secret";
  if (layout.shape.tls) {
    config.certificate = fmt::format("{}/{}.pem", folder.path(), kClientName);
    config.key = fmt::format("{}/{}-key.pem", folder.path(), kClientName);
    config.ca = folder.path() + "/ca.pem";
  }
  return config;
}

using Client = node::OperatorClient;

template <class Answer>
task<Result<Answer>> ask(runtime::EpollRuntime& runtime, Client& client, const LocalNode& node,
                         node::AdminRequest request) {
  HostPort place{"127.0.0.1", node.port};
  auto answer = co_await client.ask(runtime, std::move(place), std::move(request), kMaxAsk);
  co_return node::only<Answer>(std::move(answer));
}

// Others believe in a leader for a moment after its end; only itself knows that it leads.
task<bool> leads(runtime::EpollRuntime& runtime, Client& client, const Sight& sight, std::string name) {
  for (std::size_t i = 0; i < sight.layout.nodes.size(); ++i) {
    const LocalNode& node = sight.layout.nodes[i];
    if (node.name != name || !sight.runs[i]) continue;
    const auto answer = co_await ask<node::LeaderView>(runtime, client, node, node::AskLeader());
    co_return answer && answer->name == name && answer->valid_for > Duration();
  }
  co_return false;
}

std::vector<MemberSight> members_of(const node::MembersAnswer& answer) {
  std::vector<MemberSight> members;
  for (const auto& member : answer.members) members.push_back({member.name, member.state, member.incarnation});
  return members;
}

// Among living members.
const MemberSight* find(const std::vector<MemberSight>& members, const std::string& name) {
  const auto at =
      std::find_if(members.begin(), members.end(), [&](const MemberSight& member) { return member.name == name; });
  return at == members.end() || at->state != "alive" ? nullptr : &*at;
}

bool has_all(const std::vector<MemberSight>& members, const Layout& layout) {
  return std::all_of(layout.nodes.begin(), layout.nodes.end(),
                     [&](const LocalNode& node) { return find(members, node.name) != nullptr; });
}

// The view of the first manager that can be asked and knows the leader. REQUIRES that the processes have been seen.
task<void> ask_members(runtime::EpollRuntime& runtime, const Folder& folder, Sight& sight) {
  sight.members.clear();
  sight.leader.clear();
  sight.trouble.clear();
  auto client = make_client(folder, client_config(folder, sight.layout));
  if (!client) {
    sight.trouble = client.error().message;
    co_return;
  }
  for (std::size_t i = 0; i < sight.layout.nodes.size() && sight.leader.empty(); ++i) {
    const LocalNode& node = sight.layout.nodes[i];
    if (node.role != wire::Role::kManager || !sight.runs[i]) continue;
    const auto answer = co_await ask<node::MembersAnswer>(runtime, *client, node, node::AskMembers());
    if (!answer) {
      sight.trouble += (sight.trouble.empty() ? "" : "; ") + answer.error().message;
      continue;
    }
    std::string leader;
    sight.members = members_of(*answer);
    for (const auto& member : answer->members) {
      if (member.leads) leader = member.name;
    }
    const bool so = co_await leads(runtime, *client, sight, leader);
    if (so) sight.leader = std::move(leader);
  }
}

// Why nodes that were just started are not yet members by their own word, or why `sight` may still show earlier
// processes; empty: they are. REQUIRES that the members have been asked.
task<std::string> ask_started(runtime::EpollRuntime& runtime, const Folder& folder, const Sight& sight,
                              const std::vector<std::size_t>& started) {
  auto client = make_client(folder, client_config(folder, sight.layout));
  if (!client) co_return client.error().message;
  for (const std::size_t i : started) {
    const LocalNode& node = sight.layout.nodes[i];
    const auto answer = co_await ask<node::MembersAnswer>(runtime, *client, node, node::AskMembers());
    if (!answer) co_return fmt::format("'{}' does not answer yet", node.name);
    const std::vector<MemberSight> members = members_of(*answer);
    if (!has_all(members, sight.layout)) co_return fmt::format("'{}' does not see all nodes yet", node.name);
    const MemberSight* seen = find(sight.members, node.name);
    // It knows the others, and so their last record of this name: it raised its incarnation above that.
    if (seen == nullptr || seen->incarnation != find(members, node.name)->incarnation) {
      co_return fmt::format("not all nodes know yet that '{}' restarted", node.name);
    }
  }
  co_return "";
}

void see_processes(Sight& sight) {
  sight.runs.clear();
  for (const LocalNode& node : sight.layout.nodes) sight.runs.push_back(lives(node.process));
}

// The nodes that are members and alive.
std::size_t joined(const Sight& sight) {
  std::size_t n = 0;
  for (const LocalNode& node : sight.layout.nodes) n += find(sight.members, node.name) != nullptr ? 1 : 0;
  return n;
}

// Which ports of the loopback interface the nodes of a local cluster get.

// Below the ports that systems give to outgoing connections.
constexpr unsigned kLowestPort = 15'000;
constexpr unsigned kHighestPort = 32'000;
constexpr int kPortTries = 200;

bool is_free(int kind, uint16_t port) {
  const int fd = ::socket(AF_INET, kind | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const int yes = 1;
  if (kind == SOCK_STREAM) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  ::close(fd);
  return bound;
}

// kRefused names the first port of the node that another process has.
Status check_ports(const LocalNode& node) {
  const auto taken = [&](uint16_t port, const char* kind) {
    return fail(Errc::kRefused,
                "another process uses port {} ({}) of 127.0.0.1, which '{}' needs: end that process, or start a new "
                "cluster with another --base-port",
                port, kind, node.name);
  };
  if (!is_free(SOCK_STREAM, node.port)) return taken(node.port, "TCP");
  if (!is_free(SOCK_DGRAM, node.port)) return taken(node.port, "UDP");
  if (!is_free(SOCK_STREAM, node.http_port)) return taken(node.http_port, "TCP");
  return {};
}

// From `base_port` on, free or not; without one, ports in a row that are free now. kInvalid: there are not so many;
// kExhausted.
Result<Layout> place(const Shape& shape, std::optional<uint16_t> base_port, Prng& prng) {
  if (base_port) {
    if (*base_port == 0 || *base_port + ports_of(shape) > 65'536) {
      return fail(Errc::kInvalid,
                  "--base-port {}: the cluster needs {} ports from there on, but the last port is 65535", *base_port,
                  ports_of(shape));
    }
    return make_layout(shape, *base_port);
  }
  for (int i = 0; i < kPortTries; ++i) {
    const auto base = static_cast<uint16_t>(prng.between(kLowestPort, kHighestPort - ports_of(shape)));
    Layout layout = make_layout(shape, base);
    const bool free = std::all_of(layout.nodes.begin(), layout.nodes.end(),
                                  [](const LocalNode& node) { return check_ports(node).has_value(); });
    if (free) return layout;
  }
  return fail(Errc::kExhausted,
              "no {} consecutive ports are free on 127.0.0.1: free some, and name the first with --base-port",
              ports_of(shape));
}

using runtime::task;

constexpr Duration kLookEvery = Duration::millis(100);
constexpr Duration kMaxKilled = Duration::seconds(5);

// --- ending ----------------------------------------------------------------------------------------------------------

std::vector<const LocalNode*> alive_of(const std::vector<LocalNode>& nodes) {
  std::vector<const LocalNode*> alive;
  for (const LocalNode& node : nodes) {
    if (lives(node.process)) alive.push_back(&node);
  }
  return alive;
}

task<Status> end_processes(runtime::EpollRuntime& runtime, std::vector<LocalNode> nodes, Duration limit, Ended& ended,
                           Progress progress) {
  std::vector<const LocalNode*> alive = alive_of(nodes);
  for (const LocalNode* node : alive) {
    const Status told = signal_process(node->process, SIGTERM);
    if (!told && told.error().code != Errc::kNotFound) co_return told;
    ended.stopped.push_back(node->name);
  }
  std::size_t said = 0;
  Instant end = runtime.read_clock() + limit;
  bool killing = false;
  while (!alive.empty()) {
    if (said != alive.size()) progress(fmt::format("waiting for {} to end", format_count(alive.size(), "node")));
    said = alive.size();
    co_await runtime.sleep(kLookEvery / 2);
    alive = alive_of(nodes);
    if (alive.empty() || runtime.read_clock() < end) continue;
    if (killing) co_return fail(Errc::kIo, "'{}' does not end, even after SIGKILL", alive.front()->name);
    killing = true;
    end = runtime.read_clock() + kMaxKilled;
    for (const LocalNode* node : alive) {
      static_cast<void>(signal_process(node->process, SIGKILL));
      std::erase(ended.stopped, node->name);
      ended.killed.push_back(node->name);
    }
  }
  co_return Status();
}

// --- starting --------------------------------------------------------------------------------------------------------

// Every node would take it for its own.
Status check_environment() {
  for (const cluster::SettingSpec& spec : cluster::node_settings()) {
    const std::string variable = cluster::variable_of(spec);
    const char* value = store::own_environment(variable.c_str());
    if (value == nullptr || *value == '\0') continue;
    return fail(Errc::kInvalid, "the variable {} is set and would apply to every node: unset it", variable);
  }
  return {};
}

Status check_wanted(const WantedShape& wanted, const Shape& has, const std::string& folder) {
  const bool fits =
      wanted.managers.value_or(has.managers) == has.managers && wanted.workers.value_or(has.workers) == has.workers &&
      wanted.cores.value_or(has.cores) == has.cores &&
      wanted.datacenters.value_or(has.datacenters) == has.datacenters && wanted.tls.value_or(has.tls) == has.tls &&
      wanted.trust_keys.value_or(has.trust_keys) == has.trust_keys;
  if (fits) return {};
  return fail(
      Errc::kInvalid,
      fmt::format(
          "the cluster in '{}' does not match the options: it has {} in {}{}{} cores per worker, {} certificates, {}. "
          "Remove it with `bellwether cluster down --purge`, or name another folder with --cluster",
          folder, to_string(has), has.datacenters, has.datacenters == 1 ? " datacenter, " : " datacenters, ",
          has.cores == 0 ? "all" : std::to_string(has.cores), has.tls ? "with" : "without",
          has.trust_keys.empty() ? "no program keys" : fmt::format("program keys in '{}'", has.trust_keys)));
}

Shape shape_of(const WantedShape& wanted) {
  Shape shape;
  shape.managers = wanted.managers.value_or(shape.managers);
  shape.workers = wanted.workers.value_or(shape.workers);
  shape.cores = wanted.cores.value_or(shape.cores);
  shape.datacenters = wanted.datacenters.value_or(shape.datacenters);
  shape.tls = wanted.tls.value_or(shape.tls);
  shape.trust_keys = wanted.trust_keys.value_or(shape.trust_keys);
  return shape;
}

class Start {
 public:
  Start(runtime::EpollRuntime& runtime, UpOptions options, Progress progress, Folder folder)
      : runtime_(runtime), options_(std::move(options)), progress_(progress), folder_(std::move(folder)) {}

  task<Result<Sight>> run(runtime::Cancellation* cancel) {
    BW_CO_RETURN_IF_ERROR(prepare());
    const Status done = co_await form(cancel);
    if (done) co_return std::move(sight_);
    progress_("ending the started nodes");
    Ended ended;
    const Status over = co_await end_processes(runtime_, started(), kMaxKilled * 3, ended, progress_);
    co_return fail(done.error().code, done.error().message + (over ? "" : ". " + over.error().message));
  }

 private:
  Status prepare();
  Status furnish();
  task<Status> form(runtime::Cancellation* cancel);
  task<Status> start_all(runtime::Cancellation* cancel);
  task<Status> start(std::size_t which);
  task<Status> wait_until_well(runtime::Cancellation* cancel);
  std::vector<LocalNode> started() const;

  runtime::EpollRuntime& runtime_;
  UpOptions options_;
  Progress progress_;
  Folder folder_;
  Sight sight_;
  std::vector<std::size_t> to_start_;
};

std::vector<LocalNode> Start::started() const {
  std::vector<LocalNode> nodes;
  for (const std::size_t i : to_start_) nodes.push_back(sight_.layout.nodes[i]);
  return nodes;
}

Status Start::furnish() {
  const Shape shape = shape_of(options_.shape);
  Status good = check_shape(shape);
  if (!good) return good;
  BW_TRY(auto layout, place(shape, options_.base_port, runtime_.prng()));
  for (const LocalNode& node : layout.nodes) {
    good = check_ports(node);
    if (!good) return good;
  }
  progress_(fmt::format("making secrets{} and settings in {}", shape.tls ? ", certificates" : "", folder_.path()));
  sight_.layout = std::move(layout);
  // The record first: it identifies all that is made later as ours, even after a crash.
  good = folder_.write(sight_.layout);
  if (good) good = folder_.furnish(sight_.layout);
  return good;
}

Status Start::prepare() {
  sight_.folder = folder_.path();
  Status good = check_environment();
  if (!good) return good;
  BW_TRY(auto known, folder_.read());
  if (!known) {
    good = furnish();
  } else {
    sight_.layout = std::move(*known);
    good = check_wanted(options_.shape, sight_.layout.shape, folder_.path());
    if (good && options_.base_port && *options_.base_port != sight_.layout.nodes.front().port) {
      good = fail(Errc::kInvalid, "the ports of the cluster in '{}' start at {}", folder_.path(),
                  sight_.layout.nodes.front().port);
    }
  }
  if (!good) return good;
  see_processes(sight_);
  for (std::size_t i = 0; i < sight_.layout.nodes.size(); ++i) {
    if (sight_.runs[i]) continue;
    good = check_ports(sight_.layout.nodes[i]);
    if (!good) return good;
    to_start_.push_back(i);
  }
  if (!to_start_.empty()) {
    // One that was begun and not finished may have left half of its files.
    const bool whole = ::access(folder_.settings_of(kClientName).c_str(), F_OK) == 0;
    const bool nothing_runs = to_start_.size() == sight_.runs.size();
    return whole || !nothing_runs ? Status() : folder_.furnish(sight_.layout);
  }
  return fail(
      Errc::kExists,
      "all {} nodes of the cluster in '{}' run already: `bellwether cluster status` shows them, `down` ends them",
      sight_.runs.size(), folder_.path());
}

task<Status> Start::form(runtime::Cancellation* cancel) {
  BW_CO_RETURN_IF_ERROR(co_await start_all(cancel));
  BW_CO_RETURN_IF_ERROR(co_await wait_until_well(cancel));
  sight_.layout.formed = true;
  co_return folder_.write(sight_.layout);
}

task<Status> Start::start_all(runtime::Cancellation* cancel) {
  progress_(fmt::format("starting {} of {} nodes", to_start_.size(), sight_.layout.nodes.size()));
  for (const std::size_t i : to_start_) {
    if (cancel->cancelled()) co_return fail(Errc::kCancelled, "interrupted");
    BW_CO_RETURN_IF_ERROR(co_await start(i));
  }
  co_return Status();
}

task<Status> Start::start(std::size_t which) {
  LocalNode& node = sight_.layout.nodes[which];
  runtime::SpawnOptions options;
  // A shell opens the file for what the node says, and becomes the node.
  options.argv = {"/bin/sh",
                  "-c",
                  "exec \"$0\" \"$@\" >>\"$BELLWETHER_NODE_LOG\" 2>&1",
                  options_.program,
                  "node",
                  "--config",
                  folder_.settings_of(node.name)};
  if (!sight_.layout.formed && node.role == wire::Role::kManager) options.argv.push_back("--first-start");
  options.environment.emplace_back("BELLWETHER_NODE_LOG", folder_.log_of(node));
  options.directory = folder_.path();
  options.group = runtime::SpawnOptions::Group::kOwnSession;
  options.no_input = true;
  auto child = co_await runtime_.spawn(std::move(options));
  if (!child) co_return fail(child.error().code, "starting '{}': {}", node.name, child.error().message);
  (*child)->let_go();
  node.process = mark_of((*child)->pid());
  sight_.runs[which] = true;
  Status done = folder_.write(sight_.layout);
  co_return done;
}

task<Status> Start::wait_until_well(runtime::Cancellation* cancel) {
  const Instant end = runtime_.read_clock() + options_.limit;
  std::string said;
  while (true) {
    see_processes(sight_);
    for (const std::size_t i : to_start_) {
      const LocalNode& node = sight_.layout.nodes[i];
      if (sight_.runs[i]) continue;
      co_return fail(Errc::kIo, "'{}' has ended; the last lines of {}:{}", node.name, folder_.log_of(node),
                     folder_.last_lines(node));
    }
    co_await ask_members(runtime_, folder_, sight_);
    std::string missing;
    if (sight_.well()) {
      // For a while the other nodes take a killed one for alive.
      missing = co_await ask_started(runtime_, folder_, sight_, to_start_);
      if (missing.empty()) co_return Status();
    }
    std::string text = fmt::format("{} of {} nodes have joined; {} leads", joined(sight_), sight_.layout.nodes.size(),
                                   sight_.leader.empty() ? "nobody" : sight_.leader);
    if (!missing.empty()) text += "; " + missing;
    if (text != said) progress_(text);
    if (runtime_.read_clock() >= end) {
      co_return fail(Errc::kTimeout, "timed out after {}: {}{}. The logs of the nodes are {}/*.log",
                     format_duration(options_.limit), text,
                     sight_.trouble.empty() ? "" : fmt::format(" ({})", sight_.trouble), folder_.path());
    }
    said = std::move(text);
    const bool due = co_await runtime_.sleep(kLookEvery, cancel);
    if (!due) co_return fail(Errc::kCancelled, "interrupted");
  }
}

}  // namespace

bool Sight::well() const {
  return !leader.empty() && joined(*this) == layout.nodes.size() &&
         std::all_of(runs.begin(), runs.end(), [](bool one) { return one; });
}

task<Result<Sight>> bring_up(runtime::EpollRuntime& runtime, UpOptions options, Progress progress,
                             runtime::Cancellation* cancel) {
  BW_CO_TRY(auto folder, Folder::open(options.folder, Folder::Use::kMake));
  Start start(runtime, std::move(options), progress, std::move(folder));
  auto sight = co_await start.run(cancel);
  co_return sight;
}

task<Result<Ended>> bring_down(runtime::EpollRuntime& runtime, DownOptions options, Progress progress) {
  BW_CO_TRY(const auto folder, Folder::open(options.folder, Folder::Use::kKnown));
  BW_CO_TRY(const auto layout, folder.read());
  if (!layout) co_return fail(Errc::kNotFound, "there is no local cluster in '{}'", folder.path());
  Ended ended;
  ended.folder = folder.path();
  BW_CO_RETURN_IF_ERROR(co_await end_processes(runtime, layout->nodes, options.limit, ended, progress));
  if (options.purge) {
    BW_CO_TRY(ended.purged, folder.purge(*layout));
  }
  co_return ended;
}

task<Result<Sight>> look_at(runtime::EpollRuntime& runtime, std::string folder_path) {
  BW_CO_TRY(const auto folder, Folder::open(folder_path, Folder::Use::kLook));
  BW_CO_TRY(auto layout, folder.read());
  if (!layout) co_return fail(Errc::kNotFound, "there is no local cluster in '{}'", folder.path());
  Sight sight;
  sight.folder = folder.path();
  sight.layout = std::move(*layout);
  see_processes(sight);
  co_await ask_members(runtime, folder, sight);
  co_return sight;
}

}  // namespace bellwether::local_cluster

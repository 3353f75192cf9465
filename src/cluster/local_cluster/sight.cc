#include "cluster/local_cluster/sight.h"

#include <algorithm>

#include "cluster/node/dialling.h"
#include "cluster/node/secrets.h"

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

}  // namespace

// The view of the first manager that can be asked and knows the leader.
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

std::size_t joined(const Sight& sight) {
  std::size_t n = 0;
  for (const LocalNode& node : sight.layout.nodes) n += find(sight.members, node.name) != nullptr ? 1 : 0;
  return n;
}

}  // namespace bellwether::local_cluster

// bellwether cluster: the state of a cluster, and the operator's actions on it.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/cluster/cluster_format.h"
#include "cli/cluster_choice.h"
#include "cli/verb.h"
#include "cluster/node/secrets.h"
#include "core/base/encoding.h"
#include "core/base/units.h"

namespace bellwether::cli {
namespace {

struct ClusterArguments : OperatorOptions {
  std::string to;
  std::string name;
  std::string secret_file;
  bool json = false;
  bool force = false;
  bool messages = false;
};

tl::expected<OperatorSession, int> open_session(const ClusterArguments& given) {
  return open_operator_session(given, "cluster");
}

int answered(const Result<node::AdminAnswer>& answer, bool json) {
  if (!answer) return refuse("cluster", answer.error().message, kExitNo);
  std::fputs((json ? json_of(*answer) : text_of(*answer)).c_str(), stdout);
  return kExitOk;
}

int question(const ClusterArguments& given, const node::AdminRequest& request) {
  auto session = open_session(given);
  if (!session) return session.error();
  return answered(ask_any(*session, request, given.timeout), given.json);
}

// Asks the first member that satisfies `is`, independent of the node that was named. Without one it refuses with
// `nobody`.
template <class Is>
int ask_member(const ClusterArguments& given, const node::AdminRequest& request, Is is, const std::string& nobody) {
  auto session = open_session(given);
  if (!session) return session.error();
  const auto known = node::only<node::MembersAnswer>(ask_any(*session, node::AskMembers(), given.timeout));
  if (!known) return answered(tl::unexpected(known.error()), false);
  for (const auto& member : known->members) {
    const auto place = parse_host_port(member.address, cluster::kDefaultPort);
    if (place && is(member)) return answered(ask(*session, *place, request, given.timeout), given.json);
  }
  return refuse("cluster", printable(nobody), kExitNo);
}

// Asks the leader, for requests that only it can answer.
int ask_leader(const ClusterArguments& given, const node::AdminRequest& request) {
  return ask_member(
      given, request, [](const auto& member) { return member.leads; }, "nobody is known to lead");
}

int drain_worker(const ClusterArguments& given) {
  const auto is = [&](const auto& member) {
    return member.name == given.name && member.state != "dead" && member.state != "left";
  };
  return ask_member(given, node::Drain(), is,
                    fmt::format("there is no live member '{}'; `bellwether cluster members` lists them", given.name));
}

// --- managers --------------------------------------------------------------------------------------------------------

constexpr Duration kLookEvery = Duration::millis(500);
constexpr Duration kMaxChange = Duration::minutes(1);

struct SeenManagers {
  HostPort place;  // of the manager that answered
  node::ManagersView view;
  bool leads = false;
};

// The answer of the manager that leads, else of any. A node that was removed knows of no leader, and its list of voters
// is that of before.
Result<SeenManagers> look_at_managers(OperatorSession& session, Duration timeout) {
  BW_TRY(auto known, node::only<node::MembersAnswer>(ask_any(session, node::AskMembers(), timeout)));
  std::ranges::stable_partition(known.members, &node::MemberView::leads);
  std::optional<SeenManagers> any;
  for (const auto& member : known.members) {
    if (member.state != "alive" || !(member.leads || member.role == "manager")) continue;
    const auto place = parse_host_port(member.address, cluster::kDefaultPort);
    if (!place) continue;
    auto seen = node::only<node::ManagersView>(ask(session, *place, node::AskManagers(), timeout));
    if (!seen) continue;
    const bool leads = std::ranges::any_of(seen->managers, [](const auto& one) { return one.self && one.leads; });
    if (leads || !any) any = {*place, std::move(*seen), leads};
    if (leads) break;
  }
  if (!any) return fail(Errc::kUnreachable, "no manager answers");
  return std::move(*any);
}

// What is still missing, in one line; empty: the change is done.
std::string missing(const node::ManagersView& view, bool add, const std::string& name) {
  const auto at = std::ranges::find(view.managers, name, &node::ManagerView::name);
  const bool is_there = at != view.managers.end();
  if (view.voters_lead && (is_there && at->votes) != add) return "the voters change";
  const bool jobs = std::ranges::any_of(view.managers, &node::ManagerView::keeps);
  const bool done = (!jobs || (is_there && at->keeps) == add) && !view.changing;
  if (done) return {};
  return view.doing.empty() ? "the managers that keep jobs change" : view.doing;
}

int list_managers(const ClusterArguments& given) {
  auto session = open_session(given);
  if (!session) return session.error();
  if (!given.node.empty()) return answered(ask_any(*session, node::AskManagers(), given.timeout), given.json);
  auto seen = look_at_managers(*session, given.timeout);
  if (!seen) return answered(tl::unexpected(seen.error()), given.json);
  return answered(node::AdminAnswer(std::move(seen->view)), given.json);
}

// Asks the leader, and each leader after it: one that dies before a majority knows of the change leaves nothing to
// continue. A refusal ends the command if the node that refuses still leads.
int change_managers(const ClusterArguments& given, bool add) {
  auto session = open_session(given);
  if (!session) return session.error();
  const Instant deadline = session->runtime->now() + given.timeout;
  const Duration once = std::min(given.timeout, OperatorOptions().timeout);
  bool begun = false;
  std::string said;
  while (true) {
    auto seen = look_at_managers(*session, once);
    std::string now;
    if (!seen) {
      if (said.empty()) return answered(tl::unexpected(seen.error()), false);
      now = seen.error().message;
    } else if (begun && missing(seen->view, add, given.name).empty()) {
      return answered(node::AdminAnswer(std::move(seen->view)), given.json);
    } else if (seen->view.changing) {
      now = begun ? missing(seen->view, add, given.name) : "a change is under way";
    } else if (!seen->leads) {
      now = "no leader is known";
    } else {
      const auto asked =
          node::only<std::string>(ask(*session, seen->place, node::ChangeManagers{add, given.name}, once));
      if (!asked && asked.error().code == Errc::kRefused && !begun) {
        const auto still = look_at_managers(*session, once);
        if (still && still->leads && still->place == seen->place) {
          return refuse("cluster", printable(asked.error().message), kExitNo);
        }
      }
      // Without an answer it is not known whether the change has begun.
      begun = begun || asked || asked.error().code != Errc::kRefused;
      now = asked ? missing(seen->view, add, given.name) : asked.error().message;
    }
    if (now != std::exchange(said, now)) std::fprintf(stderr, "%s\n", printable(now).c_str());
    if (session->runtime->now() >= deadline) break;
    pause(*session, kLookEvery);
  }
  return refuse("cluster",
                printable(fmt::format("'{}' is not {} after {}: {}. The change continues if it can; "
                                      "`bellwether cluster managers` shows it",
                                      given.name, add ? "added" : "removed", format_duration(given.timeout), said)),
                kExitNo);
}

// --- a new secret ----------------------------------------------------------------------------------------------------

struct Target {
  std::string name;
  HostPort place;
};

// Asks with each secret that the operator knows, the one in use first: a change that has stopped half-way is repeated
// to nodes that do not know the new one yet, or the old one any more.
template <class Ask>
Result<node::AdminAnswer> with_any_secret(OperatorSession& session, Ask asked) {
  wire::Keyring& keyring = session.client->keyring();
  Result<node::AdminAnswer> answer = fail(Errc::kInvalid, "no secret is known");
  for (const wire::KeyId id : keyring.ids()) {
    static_cast<void>(keyring.use(id));
    answer = asked();
    if (answer || answer.error().code == Errc::kRefused) break;
  }
  return answer;
}

// All living members; an error when one is not alive, because it would be left behind with the old secret.
Result<std::vector<Target>> all_members(OperatorSession& session, Duration timeout) {
  BW_TRY(const auto known, node::only<node::MembersAnswer>(with_any_secret(
                               session, [&] { return ask_any(session, node::AskMembers(), timeout); })));
  std::vector<Target> out;
  for (const auto& member : known.members) {
    if (member.state == "dead" || member.state == "left") continue;
    if (member.state != "alive") {
      return fail(Errc::kRefused, fmt::format("'{}' is {}: a secret is replaced while all members are alive",
                                              member.name, member.state));
    }
    const auto place = parse_host_port(member.address, cluster::kDefaultPort);
    if (!place) return fail(Errc::kProtocol, "'{}' has no address", member.name);
    out.push_back({member.name, *place});
  }
  return out;
}

// One step on every node; stops at the first failure.
Status on_all(OperatorSession& session, const std::vector<Target>& nodes, const node::AdminRequest& request,
              const char* what, Duration timeout) {
  for (const Target& node : nodes) {
    const auto answer =
        node::only<std::string>(with_any_secret(session, [&] { return ask(session, node.place, request, timeout); }));
    if (!answer) {
      return fail(answer.error().code, "{} failed at '{}': {}", what, node.name, answer.error().message);
    }
    std::fprintf(stderr, "%s: %s\n", node.name.c_str(), answer->c_str());
  }
  return {};
}

int rotate(const ClusterArguments& given) {
  auto session = open_session(given);
  if (!session) return session.error();
  auto text = node::read_secret_file(given.secret_file);
  if (!text) return refuse("cluster", text.error().message);
  auto secret = wire::Secret::take(std::string(*text));
  if (!secret)
    return refuse("cluster", fmt::format("the secret in '{}': {}", given.secret_file, secret.error().message));
  const uint32_t old_id = session->client->keyring().in_use();
  const auto id = session->client->keyring().learn(std::move(*secret));
  if (!id) return refuse("cluster", id.error().message);
  if (*id == old_id) return refuse("cluster", fmt::format("the secret in '{}' is the one in use", given.secret_file));

  const auto nodes = all_members(*session, given.timeout);
  if (!nodes) return answered(tl::unexpected(nodes.error()), false);
  using Act = node::AskSecrets::Act;
  Status done = on_all(*session, *nodes, node::AskSecrets{.act = Act::kLearn, .text = *text}, "learning the new secret",
                       given.timeout);
  if (done) {
    done =
        on_all(*session, *nodes, node::AskSecrets{.act = Act::kUse, .id = *id}, "using the new secret", given.timeout);
  }
  if (done) {
    static_cast<void>(session->client->keyring().use(*id));
    done = on_all(*session, *nodes, node::AskSecrets{.act = Act::kForget, .id = old_id}, "forgetting the old secret",
                  given.timeout);
  }
  if (!done) {
    return refuse("cluster",
                  printable(done.error().message) +
                      "\nEvery node still opens what the others seal. Mend that node and "
                      "say the same command again.",
                  kExitNo);
  }
  std::printf(
      "All %zu nodes use the new secret, and none opens the old one. Put it into the secret files of all nodes "
      "before the next restart.\n",
      nodes->size());
  return kExitOk;
}

CLI::App* add_common(CLI::App& parent, const char* name, ClusterArguments& given) {
  CLI::App* command = new_verb(parent, name);
  add_cluster_options(command, given);
  add_duration(command, "--timeout", given.timeout, "Longest wait for an answer (default 5s)");
  command->add_flag("--json", given.json, "Print JSON");
  return command;
}

}  // namespace

void add_worker_drain(CLI::App& worker, int& exit_code) {
  auto given = std::make_shared<ClusterArguments>();
  CLI::App* drain = add_common(worker, "drain", *given);
  drain->add_option("NAME", given->name, "The worker's name")->required();
  drain->callback([given, &exit_code] { exit_code = drain_worker(*given); });
}

void add_cluster(CLI::App& app, int& exit_code) {
  auto given = std::make_shared<ClusterArguments>();
  CLI::App* command = new_verb(app, "cluster");
  command->require_subcommand(1);
  add_local_cluster(*command, exit_code);
  add_cluster_use(*command, exit_code);
  const auto add = [&](const char* name) { return add_common(*command, name, *given); };
  const auto asks = [&](CLI::App* verb, const node::AdminRequest& request) {
    verb->callback([given, request, &exit_code] { exit_code = question(*given, request); });
  };
  asks(add("members"), node::AskMembers());
  asks(add("leader"), node::AskLeader());
  asks(add("quorum"), node::AskQuorum());
  CLI::App* votes = add("votes");
  votes->add_flag("--messages", given->messages, "Also show the last 200 election messages of that node");
  votes->callback([given, &exit_code] { exit_code = question(*given, node::AskVotes{given->messages}); });
  CLI::App* elect = add("elect");
  elect->add_flag("--force", given->force, "Elect even if the last election was a short time ago");
  elect->callback([given, &exit_code] {
    const node::CallElection request{given->force};
    // Without an admin any node may begin: the named one.
    exit_code = given->node.empty() ? ask_leader(*given, request) : question(*given, request);
  });
  CLI::App* leave = add("leave");
  leave->callback([given, &exit_code] {
    if (given->node.empty()) {
      exit_code = refuse("cluster", "which node shall leave? Name it: --node HOST:PORT");
      return;
    }
    exit_code = question(*given, node::Leave());
  });
  add_worker_drain(*command, exit_code);
  CLI::App* transfer = add("transfer");
  add_text(transfer, "--to", given->to, "NAME", "The next leader (default: the best node)");
  transfer->callback([given, &exit_code] { exit_code = ask_leader(*given, node::Transfer{given->to}); });
  CLI::App* managers = add("managers");
  managers->require_subcommand(0, 1);
  managers->callback([given, managers, &exit_code] {
    if (!managers->get_subcommands().empty()) return;
    exit_code = list_managers(*given);
  });
  auto changed = std::make_shared<ClusterArguments>();
  changed->timeout = kMaxChange;
  for (const bool more : {true, false}) {
    CLI::App* change = new_verb(*managers, more ? "add" : "remove");
    add_cluster_options(change, *changed);
    add_duration(change, "--timeout", changed->timeout, "Longest wait for the end of the change (default 1m)");
    change->add_flag("--json", changed->json, "Print JSON");
    change->add_option("NAME", changed->name, "The manager's name")->required();
    change->callback([changed, more, &exit_code] { exit_code = change_managers(*changed, more); });
  }
  CLI::App* voters = new_verb(*command, "voters");
  voters->require_subcommand(1);
  for (const bool more : {true, false}) {
    CLI::App* change = add_common(*voters, more ? "add" : "remove", *given);
    change->add_option("NAME", given->name, "The node's name")->required();
    change->callback([given, more, &exit_code] {
      exit_code = ask_leader(*given, node::ChangeVoters{more, given->name});
    });
  }
  CLI::App* keys = new_verb(*command, "keys");
  keys->require_subcommand(1);
  asks(add_common(*keys, "list", *given), node::AskSecrets());
  CLI::App* rotation = add_common(*keys, "rotate", *given);
  add_text(rotation, "--secret-file", given->secret_file, "FILE", "The new secret")->required();
  rotation->callback([given, &exit_code] { exit_code = rotate(*given); });
  command->footer(
      "An operator needs the cluster's name and its secret, or a certificate with the role `operator`. FILE may be the "
      "settings of any node.\n"
      "\n"
      "Exit codes: 0 done, 1 refused or no node answered, 104 wrong command line or settings.");
}

}  // namespace bellwether::cli

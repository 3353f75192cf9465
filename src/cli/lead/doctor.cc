// bellwether doctor: whether leadership is healthy, and the remedies.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "cli/cluster_choice.h"
#include "cli/lead/agents.h"
#include "cli/lead/lease.h"
#include "cli/sources.h"
#include "cli/verb.h"
#include "cli/view.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "election/store/disk/small_file.h"
#include "lead/agents/agent_registry.h"
#include "lead/agents/fleet_files.h"
#include "lead/health.h"

namespace bellwether::cli {
namespace {

// bellwether doctor --cluster: the voters' reports about themselves and each other.

using node::NodeReport;

constexpr Duration kBetweenLooks = Duration::millis(200);

void take(const node::VotesAnswer& votes, NodeReport& into) {
  into.rule = votes.view.rule;
  if (votes.view.over && votes.view.winner.empty()) into.last_end = votes.view.why;
  into.elections_last_hour = votes.view.status.elections_last_hour;
  into.failed_last_hour = votes.view.status.failed_last_hour;
  for (const auto& one : votes.view.nodes) {
    if (!one.doubt.empty()) into.doubts.push_back(fmt::format("{}: {}", one.name, one.doubt));
  }
  into.unsigned_of = votes.unsigned_of;
  for (const auto& one : votes.view.status.followers) {
    into.followers.push_back({one.node, one.beats.lately, one.beats.missed_lately});
  }
}

class ClusterLook {
 public:
  ClusterLook(OperatorSession& session, Duration timeout) : session_(session), timeout_(timeout) {}

  // The voters and their addresses; with a store, the candidates.
  Status find() {
    BW_TRY(const auto members, node::only<node::MembersAnswer>(ask_any(session_, node::AskMembers(), timeout_)));
    BW_TRY(const auto quorum, node::only<node::QuorumView>(ask_any(session_, node::AskQuorum(), timeout_)));
    for (const auto& one : quorum.voters) places_[one.name];
    const bool votes = !places_.empty();
    for (const auto& one : members.members) {
      const bool there = one.state == "alive" || one.state == "suspect";
      if (votes ? !places_.contains(one.name) : one.role == "worker" || !there) continue;
      const auto place = parse_host_port(one.address, cluster::kDefaultPort);
      if (place) places_[one.name] = *place;
    }
    return {};
  }

  std::vector<NodeReport> look() {
    std::vector<NodeReport> out;
    for (const auto& [name, place] : places_) out.push_back(report_of(name, place));
    // A node that acts now, and already acted before all others were asked, has acted all the time between.
    for (NodeReport& one : out) {
      if (!one.acts) continue;
      const auto again = node::only<node::LeaderView>(ask(session_, places_.at(one.name), node::AskLeader(), timeout_));
      one.acts = again && again->valid_for > Duration() && again->term == one.term;
    }
    return out;
  }

 private:
  NodeReport report_of(const std::string& name, const HostPort& place) {
    NodeReport out;
    out.name = name;
    if (place.host.empty()) {
      out.trouble = "it is no member of the cluster";
      return out;
    }
    const auto leader = node::only<node::LeaderView>(ask(session_, place, node::AskLeader(), timeout_));
    const auto quorum = leader ? node::only<node::QuorumView>(ask(session_, place, node::AskQuorum(), timeout_))
                               : tl::unexpected(leader.error());
    if (!quorum) {
      out.trouble = quorum.error().message;
      return out;
    }
    out.leader = leader->name;
    out.term = leader->term;
    out.acts = out.leader == name && leader->valid_for > Duration();
    out.obstacle = quorum->obstacle;
    out.stands_back = quorum->stands_back;
    out.alive = quorum->alive;
    out.needed = quorum->needed;
    // Where no scores are voted on that is refused.
    if (const auto votes = node::only<node::VotesAnswer>(ask(session_, place, node::AskVotes(), timeout_)))
      take(*votes, out);
    return out;
  }

  OperatorSession& session_;
  Duration timeout_;
  std::map<std::string, HostPort> places_;  // by name; no address: it is no member
};

// Asks all voters, and again for `watch_for` while none of them leads. Returns their number. The error is the exit
// code, after its text was printed.
tl::expected<std::size_t, int> examine_cluster(const OperatorOptions& options, Duration watch_for,
                                               lead::Findings& out) {
  auto session = open_operator_session(options, "doctor");
  if (!session) {
    const bool is_down = session.error() == kExitNo;
    return tl::unexpected(is_down ? static_cast<int>(lead::Severity::kCritical) : session.error());
  }
  ClusterLook look(*session, options.timeout);
  if (const Status found = look.find(); !found) {
    out.push_back({lead::Severity::kCritical, "the cluster cannot be asked", found.error().message,
                   "nobody can tell who leads it",
                   "bellwether cluster members --cluster " + shell_word(session->cluster)});
    return 0;
  }
  const Instant end = session->runtime->read_clock() + watch_for;
  std::vector<NodeReport> nodes = look.look();
  while (std::ranges::none_of(nodes, &NodeReport::acts) && session->runtime->read_clock() < end) {
    pause(*session, kBetweenLooks);
    nodes = look.look();
  }
  judge_votes(nodes, shell_word(session->cluster), {}, out);
  return nodes.size();
}

using lead::Finding;
using lead::Findings;
using lead::Severity;
using nlohmann::json;
using runtime::EpollRuntime;
using runtime::task;

// The epochs of keys as runs of this command saw them, in a file, to count changes of leader over an hour although each
// run only looks for a moment.

constexpr const char* kFormat = "bellwether.epochs/1";
constexpr std::size_t kMaxSamples = 20'000;

// One sample is [seconds since 1970, key, epoch].
class Note final : public lead::FileChange {
 public:
  Note(int64_t now_s, std::string key, uint64_t epoch) : now_s_(now_s), key_(std::move(key)), epoch_(epoch) {}

  Result<std::string> apply(const std::optional<std::string>& text) override {
    json document = text ? json::parse(*text, nullptr, false) : json{{"format", kFormat}, {"samples", json::array()}};
    if (!document.is_object() || document.value("format", json()) != kFormat || !document["samples"].is_array()) {
      return fail(Errc::kProtocol, "this is no history of epochs");
    }
    json kept = json::array();
    uint64_t lowest = epoch_;
    for (const json& sample : document["samples"]) {
      if (!sample.is_array() || sample.size() != 3 || !sample[0].is_number_integer() || !sample[1].is_string() ||
          !sample[2].is_number_unsigned()) {
        return fail(Errc::kProtocol, "this is no history of epochs");
      }
      const int64_t age = now_s_ - sample[0].get<int64_t>();
      if (age < 0 || age > 3600) continue;
      if (sample[1] == key_) lowest = std::min(lowest, sample[2].get<uint64_t>());
      kept.push_back(sample);
    }
    if (kept.size() >= kMaxSamples) kept.erase(kept.begin());
    kept.push_back({now_s_, key_, epoch_});
    grown = epoch_ - lowest;
    document["samples"] = std::move(kept);
    return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  }

  uint64_t grown = 0;

 private:
  int64_t now_s_;
  std::string key_;
  uint64_t epoch_;
};

class EpochHistory {
 public:
  // `runtime` must outlive it.
  EpochHistory(runtime::Runtime& runtime, std::string path)
      : runtime_(runtime), file_(runtime, std::move(path), lead::SharedFile::WhenBroken::kQuarantine) {}

  // Notes the epoch of a key, and returns its growth within the last hour, as far as runs have seen it.
  task<Result<uint64_t>> note(std::string key, election::Epoch epoch) {
    Note note(runtime_.wall_now().unix_ns / 1'000'000'000, std::move(key), epoch.value());
    BW_CO_RETURN_IF_ERROR(co_await file_.change(note, runtime_.now() + Duration::seconds(5)));
    co_return note.grown;
  }

 private:
  runtime::Runtime& runtime_;
  lead::SharedFile file_;
};

struct DoctorOptions {
  std::string policy;
  std::string via;          // of all loops, in place of the stores in the sheet
  FleetPlaces fleet;        // its store and key serve any other key, too
  OperatorOptions cluster;  // examined if it has a file of settings
  std::string watch_state;
  std::string history;
  std::string profile = "production";
  Duration watch_for = Duration::seconds(1);
  Duration timeout = Duration::seconds(5);
  Duration store_p99 = Duration::millis(50);
  bool offline = false;
  bool json = false;
};

class Doctor {
 public:
  Doctor(EpollRuntime& runtime, const DoctorOptions& options, lead::AgentAges ages)
      : runtime_(runtime), options_(options), ages_(ages) {}

  task<void> examine(const lead::Policy* policy) {
    if (policy != nullptr) co_await examine_policy(*policy);
    const FleetPlaces& fleet = options_.fleet;
    if (!fleet.via.empty() && !options_.offline) co_await examine_key(fleet.via, fleet.key, true);
    if (!fleet.registry.empty()) co_await examine_registry(fleet.registry);
    if (!fleet.queue.empty()) co_await examine_queue(fleet.queue);
    if (!options_.watch_state.empty()) co_await examine_watchdog();
  }

  const Findings& findings() const { return findings_; }
  std::size_t keys() const { return keys_; }

 private:
  task<void> examine_policy(const lead::Policy& policy) {
    for (const lead::LoopPolicy& loop : policy.loops) {
      judge_budget(policy, loop, budget_of_loop(loop, options_.store_p99), findings_);
      if (loop.store.empty() || options_.offline) continue;
      co_await examine_key(loop.store, loop.lock_key, loop.release_mode == lead::ReleaseMode::kTtlHold);
    }
  }

  // Looks for a while: a contradiction shows only in several looks.
  task<void> examine_key(std::string url, std::string key, bool holder_expected) {
    if (unreachable_.contains(url)) co_return;
    lead::LeaseLooks looks{.via = url, .key = key, .seen = {}, .holder_expected = holder_expected};
    const Instant end = runtime_.read_clock() + options_.watch_for;
    do {
      auto seen = co_await look_at_lease(runtime_, url, key, options_.timeout);
      if (!seen) {
        unreachable_.insert(url);
        findings_.push_back({Severity::kCritical, "the store cannot be asked: " + url, seen.error().message,
                             "no candidate can win or renew: holders stop when their terms end",
                             "bellwether lease list --via " + url});
        co_return;
      }
      looks.seen.push_back(std::move(*seen));
      co_await runtime_.sleep(Duration::millis(200));
    } while (runtime_.now() < end);
    ++keys_;
    judge_lease(looks, runtime_.wall_now(), {}, findings_);
    co_await examine_churn(url, key, looks.seen.back().record.epoch);
  }

  task<void> examine_churn(std::string url, std::string key, election::Epoch epoch) {
    if (options_.history.empty()) co_return;
    EpochHistory history(runtime_, options_.history);
    const auto grown = co_await history.note(fmt::format("{} {}", url, key), epoch);
    if (!grown) {
      findings_.push_back({Severity::kWarning, "the history of epochs cannot be kept", grown.error().message,
                           "changes of leader are not counted",
                           fmt::format("remove {}, or give another", options_.history)});
      co_return;
    }
    judge_churn(key, *grown, {}, findings_);
  }

  // Unreadable content is kept beside its file.
  task<void> examine_quarantine(std::string path) {
    const auto slash = path.rfind('/');
    std::string folder = slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
    const auto names = co_await runtime_.list_directory(std::move(folder));
    if (!names) co_return;
    const std::string kept = path.substr(slash == std::string::npos ? 0 : slash + 1) + ".quarantine-";
    for (const std::string& name : *names) {
      if (!name.starts_with(kept)) continue;
      findings_.push_back({Severity::kWarning, "a corrupt file was set aside",
                           path.substr(0, slash == std::string::npos ? 0 : slash + 1) + name,
                           "a program that is not ours writes it, or the disk loses data",
                           "look at it, then remove it"});
    }
  }

  task<void> examine_queue(std::string path) {
    co_await examine_quarantine(path);
    lead::QueueFile file(runtime_, path);
    const auto queue = co_await file.read();
    if (!queue) {
      findings_.push_back({Severity::kCritical, "the queue cannot be read", queue.error().message,
                           "no task is added, begun or completed", "bellwether agents tasks list --queue " + path});
      co_return;
    }
    judge_queue(path, *queue, findings_);
  }

  task<void> examine_registry(std::string path) {
    co_await examine_quarantine(path);
    lead::RegistryFile registry(runtime_, path, ages_);
    const auto agents = co_await registry.read();
    if (!agents) {
      findings_.push_back({Severity::kCritical, "the registry cannot be read", agents.error().message,
                           "nobody knows which agents live; the next change sets a corrupt file aside, and agents "
                           "register again",
                           "bellwether agents list --registry " + path});
      co_return;
    }
    judge_registry(path, *agents, ages_, runtime_.wall_now(), findings_);
  }

  task<void> examine_watchdog() {
    const auto text = co_await store::read_text(runtime_, options_.watch_state);
    const json state = text && text->present ? json::parse(text->text, nullptr, false) : json();
    if (!state.is_object() || !state.value("restarts_last_hour", json()).is_number_unsigned()) {
      findings_.push_back(
          {Severity::kWarning, "there is no watchdog", options_.watch_state + " is missing or torn",
           "a leader's process that dies or freezes stays so",
           fmt::format("bellwether watch --state {} --via URL --key K -- COMMAND", options_.watch_state)});
      co_return;
    }
    const json cause = state.value("last_cause", json());
    judge_watchdog(options_.watch_state, state["restarts_last_hour"].get<std::size_t>(),
                   cause.is_string() ? cause.get<std::string>() : "", {}, findings_);
  }

  EpollRuntime& runtime_;
  const DoctorOptions& options_;
  lead::AgentAges ages_;
  Findings findings_;
  std::set<std::string> unreachable_;
  std::size_t keys_ = 0;
};

int exit_code_of(const Findings& findings) { return static_cast<int>(worst_of(findings)); }

Fields finding_fields(const Finding& one) {
  return {told("severity", to_string(one.severity)),
          told("what", one.what),
          {"evidence", "evidence", one.evidence},
          {"why it matters", "why", one.why},
          {"do", "command", one.command}};
}

void print_text(const Findings& findings, std::size_t nodes, std::size_t keys) {
  for (const Finding& finding : findings) {
    print(fmt::format("{}: {}\n", to_string(finding.severity), printable(finding.what)));
    for (const Field& one : finding_fields(finding)) {
      if (one.for_people) print(fmt::format("  {}: {}\n", one.heading, printable(one.text)));
    }
  }
  if (worst_of(findings) == Severity::kNote) {
    print(
        fmt::format("healthy ({} looked at)\n", nodes == 0 ? format_count(keys, "key") : format_count(nodes, "node")));
  }
}

void print_findings(const Findings& findings) {
  print_json({told("format", "bellwether.doctor/1"),
              told("health", exit_code_of(findings) == 0 ? "healthy" : to_string(worst_of(findings))),
              told("findings", Rows(findings, &finding_fields).list())});
}

// A store without a key is that of the policy sheet, and is not the fleet's.
void complete_options(DoctorOptions& options) {
  options.via = options.fleet.via;
  if (!options.policy.empty() && options.fleet.key.empty()) options.fleet.via.clear();
  options.fleet.complete();
}

Result<int> run_doctor(const DoctorOptions& options) {
  BW_TRY(const lead::AgentProfile profile, profile_named(options.profile));
  const FleetPlaces& fleet = options.fleet;
  const bool names_nothing = options.policy.empty() && fleet.via.empty() && fleet.registry.empty() &&
                             fleet.queue.empty() && options.watch_state.empty();
  const bool asks_cluster = names_nothing || !options.cluster.cluster.empty();
  if (names_nothing && options.cluster.cluster.empty()) {
    if (const auto current = cluster_to_ask(""); !current) {
      return refuse("doctor", printable(current.error().message) +
                                  "\nTo look at something else, give --cluster NAME|FILE|FOLDER, --policy FILE, --via "
                                  "URL --key K, --dir FLEET, --registry PATH, --queue PATH or --watch PATH.");
    }
  }
  if (fleet.via.empty() != fleet.key.empty())
    return fail(Errc::kInvalid, "--via and --key go together, or --via with --policy");
  std::optional<lead::Policy> policy;
  if (!options.policy.empty()) {
    BW_TRY(auto loaded, load_policy(options.policy));
    policy = std::move(loaded);
    use_store(options.via, policy->loops);
  }
  return in_runtime("doctor", [&](EpollRuntime& runtime) {
    Doctor doctor(runtime, options, {.stale_after = profile.stale_after, .dead_after = profile.dead_after});
    runtime.run(doctor.examine(policy ? &*policy : nullptr));
    Findings findings = doctor.findings();
    std::size_t nodes = 0;
    if (asks_cluster) {
      OperatorOptions asking = options.cluster;
      asking.timeout = options.timeout;
      const auto asked = examine_cluster(asking, options.watch_for, findings);
      if (!asked) return asked.error();
      nodes = *asked;
    }
    options.json ? print_findings(findings) : print_text(findings, nodes, doctor.keys());
    return exit_code_of(findings);
  });
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = new_verb(app, "doctor");
  add_text(command, "--policy", options->policy, "FILE", "Check all loops of this policy sheet");
  add_text(command, "--via", options->fleet.via, "URL", "A store; with --policy, in place of those in the sheet");
  add_text(command, "-k,--key", options->fleet.key, "KEY", "A key of the store");
  add_fleet_folder(command, options->fleet);
  add_cluster_options(command, options->cluster);
  for (const char* name : {"--node", "--by"}) command->get_option(name)->needs(command->get_option("--cluster"));
  add_text(command, "--registry", options->fleet.registry, "PATH", "Check this registry of agents");
  add_text(command, "--queue", options->fleet.queue, "PATH", "Check this queue of tasks");
  add_text(command, "--watch", options->watch_state, "PATH",
           "Check a watchdog by its state file (bellwether watch --state)");
  add_text(command, "--history", options->history, "PATH",
           "Keep epochs in this file between runs, to count changes of leader");
  add_text(command, "--profile", options->profile, "NAME",
           "Profile for the ages of agents: production, high-availability or lenient");
  add_duration(command, "--for", options->watch_for,
               "How long to observe each key, or a cluster without a leader (default 1s)");
  add_duration(command, "--timeout", options->timeout, "Longest wait for a store or a node (default 5s)");
  add_duration(command, "--store-p99", options->store_p99, "As for `bellwether budget` (default 50ms)");
  command->add_flag("--offline", options->offline, "Ask no store; check the sheet only");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer("Exit codes: 0 healthy, 1 warnings, 2 critical, 104 wrong sheet or command line.");
  command->callback([options, &exit_code] {
    complete_options(*options);
    exit_code = answer("doctor", run_doctor(*options));
  });
}

}  // namespace bellwether::cli

#include "cluster/net/node_config.h"

#include <algorithm>
#include <array>

#include "core/base/units.h"
#include "election/lease_timing.h"
#include "election/store/store_url.h"

namespace bellwether::cluster {
namespace {

using wire::Role;
using Kind = SettingSpec::Kind;

constexpr std::size_t kMaxVoters = 9;
// In a scored vote every node sends to every node: beyond that an election is mostly messages.
constexpr std::size_t kMaxScoredVoters = 100;
static_assert(kMaxScoredVoters <= vote::kMaxNodes);

using C = NodeConfig;
using V = VoteChoice;
using X = ContextChoice;

// The value of a setting in the type of the member that it lands in.
void take(const Settings& from, std::string_view name, std::string& into) { into = from.text(name); }
void take(const Settings& from, std::string_view name, std::vector<std::string>& into) { into = from.texts(name); }
void take(const Settings& from, std::string_view name, bool& into) { into = from.flag(name); }
void take(const Settings& from, std::string_view name, double& into) { into = from.ratio(name); }
void take(const Settings& from, std::string_view name, uint32_t& into) {
  into = static_cast<uint32_t>(from.number(name));
}
void take(const Settings& from, std::string_view name, uint64_t& into) { into = from.number(name); }
void take(const Settings& from, std::string_view name, Duration& into) { into = from.duration(name); }
void take(const Settings& from, std::string_view name, std::optional<Duration>& into) {
  if (from.duration(name) > Duration::zero()) into = from.duration(name);
}
void take(const Settings& from, std::string_view name, Role& into) {
  into = wire::parse_role(from.text(name)).value_or(Role::kManager);
}
void take(const Settings& from, std::string_view name, vote::QuorumRule& into) {
  into = vote::quorum_rule_named(from.text(name)).value_or(into);
}
void take_at(const Settings& from, std::string_view name, uint16_t port, HostPort& into) {
  into = from.place(name, port);
}
void take_at(const Settings& from, std::string_view name, uint16_t port, std::optional<HostPort>& into) {
  if (from.given(name)) into = from.place(name, port);
}
void take_at(const Settings& from, std::string_view name, uint16_t port, std::vector<HostPort>& into) {
  into = from.places(name, port);
}

// `way`: the members on the way from the whole to the value.
template <auto... way>
void land(const Settings& from, std::string_view name, NodeConfig& config) {
  take(from, name, (config.*....*way));
}
// Of places that name no port.
template <uint16_t port, auto... way>
void land_at(const Settings& from, std::string_view name, NodeConfig& config) {
  take_at(from, name, port, (config.*....*way));
}
void land_advertised(const Settings& from, std::string_view name, NodeConfig& config) {
  if (from.given(name)) config.advertise = from.place(name, config.listen.port);
}
template <auto... way>
void land_percent(const Settings& from, std::string_view name, NodeConfig& config) {
  (config.*....*way) = static_cast<double>(from.number(name)) / 100;
}
// 0s keeps the time of the profile, which was set before.
template <Duration vote::VoteTiming::*time>
void land_timing(const Settings& from, std::string_view name, NodeConfig& config) {
  const Duration given = from.duration(name);
  if (given > Duration::zero()) config.vote.timing.*time = given;
}
// The last of those from which the windows follow; the windows may be given too, and come after it.
void land_heartbeat_timeout(const Settings& from, std::string_view name, NodeConfig& config) {
  land_timing<&vote::VoteTiming::heartbeat_timeout>(from, name, config);
  config.vote.timing.set_windows();
}

// In the order in which they land.
constexpr std::array kSpecs{
    SettingSpec{"cluster", "", "The cluster's name: nodes of other clusters are refused", land<&C::cluster>,
                Kind::kText, "", "BELLWETHER_CLUSTER_NAME"},
    SettingSpec{"environment", "default", "Production, staging …: nodes of other environments are refused",
                land<&C::environment>},
    SettingSpec{"name", "", "This node's name, unique in the cluster (default: the host's name)", land<&C::name>},
    SettingSpec{"role", "manager", "The role of this node", land<&C::role>, Kind::kChoice, "manager|worker"},
    SettingSpec{"datacenter", "default", "The datacenter of this node", land<&C::datacenter>},
    SettingSpec{"region", "", "The region of this node: a group of neighbouring datacenters", land<&C::region>},
    SettingSpec{"listen", "0.0.0.0:9000", "The address to listen on, TCP and UDP", land_at<kDefaultPort, &C::listen>,
                Kind::kPlace},
    SettingSpec{"advertise", "", "The address for other nodes (default: the one that its first peer sees)",
                land_advertised, Kind::kPlace},
    SettingSpec{"http", "127.0.0.1:9001", "The address of health and metrics over HTTP; empty: none",
                land_at<kDefaultPort + 1, &C::http>, Kind::kPlace},
    SettingSpec{"seeds", "", "The nodes to contact when this node joins", land_at<kDefaultPort, &C::seeds>,
                Kind::kPlaces},
    SettingSpec{"dns", "", "DNS names whose A, AAAA or SRV records are nodes to contact", land<&C::dns_names>,
                Kind::kTexts},
    SettingSpec{"join_limit", "0s", "Time limit for joining, then exit with an error; 0s: none", land<&C::join_limit>,
                Kind::kDuration},
    SettingSpec{"voters", "", "The names of all nodes that elect the leader, the same everywhere", land<&C::voters>,
                Kind::kTexts},
    SettingSpec{
        "leadership", kQuorum,
        "How the leader is elected: quorum, vote (by scores), or a store's URL (etcd:, k8s:, redis:, postgres:)",
        land<&C::leadership>},
    SettingSpec{"leadership_lease", "0s",
                "With a store: how long the leader's lease lasts (0s: local 2s, lan 5s, wan 15s)",
                land<&C::store_lease>, Kind::kDuration},
    SettingSpec{"jobs", kQuorum, "Where job owners and job states are stored: quorum, or the URL of an etcd",
                land<&C::jobs>},
    SettingSpec{"replicas", "",
                "The managers that store jobs and results, the same everywhere (default: the voters, up to 9)",
                land<&C::replicas>, Kind::kTexts},
    SettingSpec{"priority", "8", "Below 8: leads only if no node with a higher priority is a candidate",
                land<&C::priority>, Kind::kNumber, "0..8"},
    SettingSpec{"gates", "false", "The cluster has gates: clients may connect only to them", land<&C::has_gates>,
                Kind::kFlag},
    SettingSpec{"profile", "lan", "The timing of membership and elections", land<&C::profile>, Kind::kChoice,
                "local|lan|wan"},
    SettingSpec{"data", "", "The folder for data that must survive a restart", land<&C::data>},
    SettingSpec{"data_files", "128", "The space for large data files of jobs, in GiB", land<&C::data_files>,
                Kind::kNumber, "0..65536"},
    SettingSpec{"cores", "0", "Worker: the number of cores that make load (0: all that the process may use)",
                land<&C::cores>, Kind::kNumber, "0..4096"},
    SettingSpec{"pin", "true", "Worker: load threads are pinned to their cores", land<&C::pin>, Kind::kFlag},
    SettingSpec{"hand_over", "10s", "Leaving worker: how long it waits for other workers to take over its assignments",
                land<&C::hand_over>, Kind::kDuration},
    SettingSpec{"trust_keys", "",
                "Worker: a file or folder of public keys (PEM); C++ programs signed with their keys may run",
                land<&C::trust_keys>},
    SettingSpec{"agent.capabilities", "admin_election",
                "Scored vote: the capabilities of this node; they count in its score", land<&C::vote, &V::capabilities>,
                Kind::kTexts},
    SettingSpec{"vote.quorum", "majority", "The votes that elect an admin; all rules but majority permit two admins",
                land<&C::vote, &V::rule>, Kind::kChoice, "majority|plurality|highest_score"},
    SettingSpec{"vote.key", "", "Scored vote: the key (PEM, Ed25519) that signs this node's messages",
                land<&C::vote, &V::key>},
    SettingSpec{"vote.keys", "", "Scored vote: a folder with the public key of each voter, NAME.pem",
                land<&C::vote, &V::keys>},
    SettingSpec{"vote.weights.uptime", "0.30",
                "The weight of uptime in the score; the weights add up to 1, the same on all nodes",
                land<&C::vote, &V::weights, &vote::ScoreWeights::uptime>, Kind::kRatio},
    SettingSpec{"vote.weights.capability", "0.20", "The weight of capabilities",
                land<&C::vote, &V::weights, &vote::ScoreWeights::capability>, Kind::kRatio},
    SettingSpec{"vote.weights.resources", "0.20", "The weight of the machine's free resources",
                land<&C::vote, &V::weights, &vote::ScoreWeights::resources>, Kind::kRatio},
    SettingSpec{"vote.weights.network", "0.15", "The weight of the network between the nodes",
                land<&C::vote, &V::weights, &vote::ScoreWeights::network>, Kind::kRatio},
    SettingSpec{"vote.weights.experience", "0.15", "The weight of the total uptime over all restarts",
                land<&C::vote, &V::weights, &vote::ScoreWeights::experience>, Kind::kRatio},
    SettingSpec{
        "vote.operator_key", "",
        "The operator's public key (PEM); with it voters accept only attested capabilities; the same on all nodes",
        land<&C::vote, &V::operator_key>},
    SettingSpec{"agent.attestation", "",
                "The operator's attestation of this node's capabilities (bellwether keys attest)",
                land<&C::vote, &V::attestation>},
    SettingSpec{"vote.reputation_weight", "0", "How much a bad reputation lowers a score, in percent; 0: not at all",
                land_percent<&C::vote, &V::reputation_weight>, Kind::kNumber, "0..100"},
    SettingSpec{"vote.key_share", "", "This node's share of the admin's key (bellwether keys split)",
                land<&C::vote, &V::key_share>},
    SettingSpec{"vote.key_commitment", "", "The commitment file of the key shares, the same on all nodes",
                land<&C::vote, &V::key_commitment>},
    SettingSpec{"vote.key_command", "",
                "The command that runs with the admin's key while this node is the admin: [CMD, ARG]",
                land<&C::vote, &V::key_command>, Kind::kTexts},
    SettingSpec{"security.election_config.discovery_timeout", "0s",
                "The time between requests for an admin (0s: lan 500ms, wan 10s)",
                land_timing<&vote::VoteTiming::discovery>, Kind::kDuration},
    SettingSpec{"security.election_config.discovery_backoff", "0s",
                "The pause after an election without a winner (0s: lan 250ms, wan 5s)",
                land_timing<&vote::VoteTiming::discovery_backoff>, Kind::kDuration},
    SettingSpec{"security.election_config.election_timeout", "0s",
                "The time limit of an election (0s: lan 2s, wan 30s)", land_timing<&vote::VoteTiming::election>,
                Kind::kDuration},
    SettingSpec{"security.election_config.heartbeat_timeout", "0s",
                "A silent admin counts as lost after this time (0s: lan 1s, wan 15s)", land_heartbeat_timeout,
                Kind::kDuration},
    SettingSpec{"security.election_config.gather_timeout", "0s",
                "How long a node waits for all candidacies (0s: lan 100ms, wan 1s)",
                land_timing<&vote::VoteTiming::gather>, Kind::kDuration},
    SettingSpec{"security.election_config.transfer_timeout", "0s",
                "The time limit for an heir to take over (0s: lan 3s, wan 30s)",
                land_timing<&vote::VoteTiming::transfer>, Kind::kDuration},
    SettingSpec{"security.election_config.stop_grace", "0s",
                "The time limit for the work to stop after a term (0s: lan 100ms, wan 1s)",
                land_timing<&vote::VoteTiming::stop_grace>, Kind::kDuration},
    SettingSpec{"security.election_config.election_min_term", "0s",
                "The shortest time between elections (0s: twice discovery_timeout)",
                land_timing<&vote::VoteTiming::election_min_term>, Kind::kDuration, "", "CHORUS_ELECTION_MIN_TERM"},
    SettingSpec{"security.election_config.leader_min_term", "0s",
                "How long a new admin is not challenged (0s: three times heartbeat_timeout)",
                land_timing<&vote::VoteTiming::leader_min_term>, Kind::kDuration, "", "CHORUS_LEADER_MIN_TERM"},
    SettingSpec{"context.serve", "false", "This node generates contexts while it leads the cluster",
                land<&C::context, &X::serves>, Kind::kFlag},
    SettingSpec{"context.manager", "", "The command that generates the context of a request: [PROGRAM, ARGUMENT …]",
                land<&C::context, &X::manager>, Kind::kTexts},
    SettingSpec{"context.jobs", "1", "The number of these commands that run at once", land<&C::context, &X::jobs>,
                Kind::kNumber, "1..1000"},
    SettingSpec{"context.job_timeout", "10m",
                "The time limit of such a command; then it is stopped and counts as failed",
                land<&C::context, &X::job_timeout>, Kind::kDuration},
    SettingSpec{"context.job_grace", "10s", "The time from stopping such a command to killing it",
                land<&C::context, &X::job_grace>, Kind::kDuration},
    SettingSpec{
        "context.enable_context_leadership", "true", "false: this node may lead the cluster, but generates no contexts",
        land<&C::context, &X::settings, &context_lead::ContextSettings::enable_context_leadership>, Kind::kFlag},
    SettingSpec{"context.context_leadership_weight", "0.3", "The weight of fitness for contexts in the score",
                land<&C::context, &X::settings, &context_lead::ContextSettings::context_leadership_weight>,
                Kind::kRatio},
    SettingSpec{
        "context.require_context_capability", "true", "Leadership is transferred only to nodes with a context manager",
        land<&C::context, &X::settings, &context_lead::ContextSettings::require_context_capability>, Kind::kFlag},
    SettingSpec{"context.auto_start_generation", "true", "A new leader starts the generation by itself",
                land<&C::context, &X::settings, &context_lead::ContextSettings::auto_start_generation>, Kind::kFlag},
    SettingSpec{"context.generation_start_delay", "5s", "The delay before it starts",
                land<&C::context, &X::settings, &context_lead::ContextSettings::generation_start_delay>,
                Kind::kDuration},
    SettingSpec{"context.generation_stop_timeout", "30s", "The time limit for jobs that were asked to stop",
                land<&C::context, &X::settings, &context_lead::ContextSettings::generation_stop_timeout>,
                Kind::kDuration},
    SettingSpec{"context.context_failover_timeout", "60s", "The time limit of a whole transfer",
                land<&C::context, &X::settings, &context_lead::ContextSettings::context_failover_timeout>,
                Kind::kDuration},
    SettingSpec{"context.state_transfer_timeout", "30s", "The time limit for sending the state to the next leader",
                land<&C::context, &X::settings, &context_lead::ContextSettings::state_transfer_timeout>,
                Kind::kDuration},
    SettingSpec{"context.validation_timeout", "10s", "The time limit for the next leader to validate the state",
                land<&C::context, &X::settings, &context_lead::ContextSettings::validation_timeout>, Kind::kDuration},
    SettingSpec{"context.require_state_validation", "true", "The next leader accepts only a validated state",
                land<&C::context, &X::settings, &context_lead::ContextSettings::require_state_validation>, Kind::kFlag},
    SettingSpec{"context.context_health_check_interval", "30s", "The time between two health checks of all nodes",
                land<&C::context, &X::settings, &context_lead::ContextSettings::context_health_check_interval>,
                Kind::kDuration},
    SettingSpec{"context.cluster_health_threshold", "0.7", "No new contexts below this health of the cluster",
                land<&C::context, &X::settings, &context_lead::ContextSettings::cluster_health_threshold>,
                Kind::kRatio},
    SettingSpec{"context.leader_health_threshold", "0.8", "A leader below this health at two checks hands over",
                land<&C::context, &X::settings, &context_lead::ContextSettings::leader_health_threshold>, Kind::kRatio},
    SettingSpec{"context.max_queue_transfer_size", "1000", "The limit of queued and active requests together",
                land<&C::context, &X::settings, &context_lead::ContextSettings::max_queue_transfer_size>, Kind::kNumber,
                "1..1000"},
    SettingSpec{"context.queue_drain_timeout", "60s", "How long jobs may finish before a transfer or a stop",
                land<&C::context, &X::settings, &context_lead::ContextSettings::queue_drain_timeout>, Kind::kDuration},
    SettingSpec{"context.preserve_completed_jobs", "true", "Completed requests are part of a transfer",
                land<&C::context, &X::settings, &context_lead::ContextSettings::preserve_completed_jobs>, Kind::kFlag},
    SettingSpec{"context.coordination_timeout", "10s",
                "The time limit of one request to the register or to another node",
                land<&C::context, &X::settings, &context_lead::ContextSettings::coordination_timeout>, Kind::kDuration},
    SettingSpec{"context.max_coordination_retries", "3", "The number of retries after the first attempt",
                land<&C::context, &X::settings, &context_lead::ContextSettings::max_coordination_retries>,
                Kind::kNumber, "0..100"},
    SettingSpec{"context.coordination_backoff", "2s", "The pause between attempts",
                land<&C::context, &X::settings, &context_lead::ContextSettings::coordination_backoff>, Kind::kDuration},
    SettingSpec{"secret.file", "", "A file with the cluster's shared secret (or the variable BELLWETHER_AUTH_SECRET)",
                land<&C::secret_file>, Kind::kText, "", "BELLWETHER_AUTH_SECRET_FILE"},
    SettingSpec{"secret.previous_file", "", "A file with the former secret, while it is being replaced",
                land<&C::previous_secret_file>, Kind::kText, "", "BELLWETHER_AUTH_SECRET_PREVIOUS_FILE"},
    SettingSpec{"tls.certificate", "", "This node's certificate with its chain (PEM): it proves the role of this node",
                land<&C::certificate>},
    SettingSpec{"tls.key", "", "The key of that certificate (PEM)", land<&C::key>},
    SettingSpec{"tls.ca", "", "The CA that signs the certificates of this cluster (PEM)", land<&C::ca>},
    SettingSpec{"tls.verify_hostname", "true", "The certificate of a peer must match its address",
                land<&C::verify_hostname>, Kind::kFlag},
};

class Check {
 public:
  Check(const Settings& settings, yaml::Diagnostics& diagnostics) : settings_(settings), diagnostics_(diagnostics) {}

  void complain(std::string_view name, std::string message, std::string hint = {}) {
    if (settings_.given(name)) message += fmt::format(" ({})", settings_.value(name).origin);
    diagnostics_.add({}, {.message = std::move(message), .hint = std::move(hint)});
  }

  // The names in messages, file names and metrics.
  void names() {
    if (!settings_.given("cluster"))
      complain("cluster", "'cluster' is missing", "cluster: NAME, the same on every node");
    for (const char* setting : {"cluster", "environment", "name", "datacenter", "region"}) {
      const std::string& text = settings_.text(setting);
      if (text.empty() || wire::is_name(text)) continue;
      complain(setting, fmt::format("{} is {}: a name must have 1 to 64 letters, digits, '-', '_' and '.'",
                                    yaml::in_quotes(setting), yaml::in_quotes(text)));
    }
  }

  void majority_of(std::string_view setting, std::vector<std::string> names, std::size_t most, const char* more) {
    std::sort(names.begin(), names.end());
    if (std::adjacent_find(names.begin(), names.end()) != names.end()) {
      complain(setting, yaml::in_quotes(setting) + " lists a node twice");
    }
    if (names.size() > most) {
      complain(setting, fmt::format("{} has {} names; at most {}", yaml::in_quotes(setting), names.size(), most),
               fmt::format("5 survive the loss of 2; more only slow down {}", more));
    }
  }

  void voters(const NodeConfig& config) {
    majority_of("voters", config.voters, config.votes_by_score() ? kMaxScoredVoters : kMaxVoters, "elections");
    if (!config.delegates() && config.role != Role::kWorker && config.voters.empty()) {
      complain("voters", "'voters' is missing, but this cluster elects its leader itself",
               "name all nodes that vote, the same everywhere: voters: [m1, m2, m3]");
    }
    if (config.votes() && config.role == Role::kWorker) {
      complain("voters", "'voters' lists this node, but it is a worker, and workers do not vote");
    }
    if (config.votes() && !config.delegates() && config.data.empty()) {
      complain("data", "'data' is missing: this node votes, and its votes must survive a restart",
               "data: /var/lib/bellwether");
    }
  }

  void jobs(const NodeConfig& config) {
    if (config.role == Role::kWorker) return;
    if (settings_.given("replicas")) {
      majority_of("replicas", config.replicas, kMaxVoters, "each change of a job");
      if (!config.voters.empty() && !config.votes_by_score()) {
        complain("replicas", "'replicas' is for clusters without voters: otherwise the voters store the jobs",
                 "remove it");
      }
    }
    if (config.keeps_jobs() && !config.votes() && config.data.empty()) {
      complain("data", "'data' is missing: this node stores jobs, and they must survive a restart",
               "data: /var/lib/bellwether");
    }
    if (!config.jobs_in_etcd()) return;
    const auto url = store::parse_store_url(config.jobs);
    if (!url) {
      complain("jobs", "'jobs' is neither quorum nor the URL of an etcd: " + url.error().message);
    } else if (url->scheme != "etcd" && url->scheme != "etcds") {
      complain("jobs",
               fmt::format("'jobs' is {}, but of all stores only etcd can store jobs", yaml::in_quotes(config.jobs)),
               "jobs: etcd://HOST:PORT, or quorum");
    } else if (config.replicas.empty()) {
      complain("jobs",
               "'jobs' is in etcd, which cannot store scenarios and results (too large), and no manager stores them",
               "name managers that store them, the same everywhere: replicas: [m1, m2, m3]");
    }
  }

  void vote(const NodeConfig& config) {
    if (!config.votes_by_score() || !config.votes()) return;
    if (config.vote.key.empty() || config.vote.keys.empty()) {
      complain(
          "vote.key", "'vote' needs both key and keys: messages of a scored vote are signed",
          "openssl genpkey -algorithm ed25519 -out NAME.key; openssl pkey -in NAME.key -pubout -out keys/NAME.pem");
    }
    if (const Status good = config.vote.weights.validate(); !good) {
      complain("vote.weights.uptime", "'vote.weights': " + good.error().message);
    }
    admin_key(config.vote);
    if (config.vote.operator_key.empty() && !config.vote.attestation.empty()) {
      complain("agent.attestation", "'agent.attestation' needs 'vote.operator_key', which is missing",
               "vote: {operator_key: operator.pem}, the same on all nodes");
    }
    if (const Status good = config.vote.timing.validate(); !good) {
      complain("security.election_config.heartbeat_timeout", "'security.election_config': " + good.error().message);
    }
  }

  void context(const NodeConfig& config) {
    if (const Status good = check_context(config.context); !good) {
      complain("context.context_failover_timeout", "'context': " + good.error().message);
    }
    if (config.context.serves && !config.vote.key_command.empty()) {
      complain("vote.key_command",
               "'vote.key_command' and 'context.serve' exclude each other: both are the leader's work",
               "remove one of them: a command that needs the key can run in a cluster of its own");
    }
    if (config.context.serves && (config.role != Role::kManager || !config.keeps_jobs())) {
      complain("context.serve", "'context' needs a manager that stores jobs, and this node is not one",
               "role: manager, and its name among 'voters' or 'replicas'");
    }
  }

  void admin_key(const VoteChoice& vote) {
    if (vote.key_share.empty() != vote.key_commitment.empty()) {
      complain("vote.key_share", "'vote' needs both key_share and key_commitment, or neither",
               "bellwether keys split --names NAME,NAME,… makes both");
    }
    if (vote.key_share.empty()) {
      if (!vote.key_command.empty()) {
        complain("vote.key_command", "'vote.key_command' needs a key, but this node has no key share",
                 "bellwether keys split; then vote: {key_share: NAME.share, key_commitment: key.commitment}");
      }
    } else if (vote.rule != vote::QuorumRule::kMajority) {
      complain("vote.quorum",
               fmt::format("'vote.quorum' is {}, but nodes send key shares only to an admin that a majority elected",
                           to_string(vote.rule)),
               "vote: {quorum: majority}, or remove vote.key_share");
    }
  }

  void leadership(const NodeConfig& config) {
    const bool timed = settings_.duration("leadership_lease") > Duration::zero();
    if (!config.delegates()) {
      if (timed) {
        complain("leadership_lease", "'leadership_lease' is for stores, but this cluster elects its leader itself",
                 "remove it: the times of an election come from 'profile'");
      }
      return;
    }
    if (!config.voters.empty()) {
      complain("voters", "'voters' and 'leadership' exclude each other: either voters or a store elect the leader",
               "remove one of them");
    }
    const auto url = store::parse_store_url(config.leadership);
    if (!url) {
      complain("leadership", "'leadership' is neither quorum nor the URL of a store: " + url.error().message);
    } else if (const std::string why = reach_of(url->scheme); !why.empty()) {
      complain("leadership", fmt::format("'leadership' is {}, but {}", yaml::in_quotes(config.leadership), why),
               "use quorum or a store that all nodes reach: etcd, k8s, redis or postgres");
    }
    if (const Status good = election::LeaseTiming::of(config.store_lease).validate(); !good) {
      complain("leadership_lease",
               fmt::format("'leadership_lease' {}: {}", format_duration(config.store_lease), good.error().message));
    }
  }

 private:
  // Why a store of this scheme cannot decide for nodes of several machines; empty: it can.
  static std::string reach_of(std::string_view scheme) {
    if (scheme == "memory") return "no other node sees the memory of a process";
    if (scheme == "flock") return "nodes on other hosts do not see the locks of a host";
    if (scheme == "file") return "a file is safe only if all nodes share one disk with reliable locks and fsync";
    return {};
  }

  const Settings& settings_;
  yaml::Diagnostics& diagnostics_;
};

}  // namespace

Status check_context(const ContextChoice& choice) {
  BW_RETURN_IF_ERROR(choice.settings.validate());
  for (const Duration one : {choice.job_timeout, choice.job_grace}) {
    if (one >= Duration::millis(1) && one <= kLongestJob) continue;
    return fail(Errc::kInvalid, "'job_timeout' is {} and 'job_grace' {}; expected 1ms to 24h",
                format_duration(choice.job_timeout), format_duration(choice.job_grace));
  }
  return {};
}

bool NodeConfig::votes() const { return std::find(voters.begin(), voters.end(), name) != voters.end(); }
bool NodeConfig::keeps_jobs() const { return std::find(replicas.begin(), replicas.end(), name) != replicas.end(); }

Duration usual_store_lease(std::string_view profile) {
  return Duration::seconds(profile == "local" ? 2 : profile == "wan" ? 15 : 5);
}

std::span<const SettingSpec> node_settings() { return kSpecs; }

std::optional<NodeConfig> node_config(const Settings& settings, const std::string& host_name,
                                      yaml::Diagnostics& diagnostics) {
  Check check(settings, diagnostics);
  NodeConfig config;
  // Only "wan" is slower than one network of a site.
  config.profile = settings.text("profile");
  config.vote.timing = config.profile == "wan" ? vote::VoteTiming::standard() : vote::VoteTiming::lan();
  for (const SettingSpec& spec : kSpecs) spec.land(settings, spec.name, config);
  check.names();
  if (!settings.given("name")) config.name = host_name;
  if (config.leadership.empty()) config.leadership = kQuorum;
  if (config.jobs.empty()) config.jobs = kQuorum;
  if (!settings.given("replicas") && config.voters.size() <= kMaxVoters) config.replicas = config.voters;
  if (config.store_lease <= Duration::zero()) config.store_lease = usual_store_lease(config.profile);
  if (!config.context.manager.empty()) config.context.serves = true;
  const context_lead::ContextSettings& contexts = config.context.settings;
  config.vote.weights.fitness = contexts.enable_context_leadership ? contexts.context_leadership_weight : 0;
  if (config.certificate.empty() != config.key.empty() || config.certificate.empty() != config.ca.empty()) {
    check.complain("tls.certificate", "'tls' needs all of certificate, key and ca, or none");
  }
  check.leadership(config);
  check.vote(config);
  check.voters(config);
  check.jobs(config);
  check.context(config);
  if (!diagnostics.empty()) return std::nullopt;
  return config;
}

}  // namespace bellwether::cluster

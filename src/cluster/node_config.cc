#include "cluster/node_config.h"

#include <algorithm>
#include <array>

#include "base/units.h"
#include "election/lease_timing.h"
#include "store/store_url.h"

namespace bellwether::cluster {
namespace {

using wire::Role;
using Kind = SettingSpec::Kind;

constexpr std::size_t kVotersMax = 9;
// A scored vote is told to everybody by everybody: beyond that an election is mostly messages.
constexpr std::size_t kScoredVotersMax = 100;
static_assert(kScoredVotersMax <= vote::kMostNodes);

constexpr std::array kSpecs{
    SettingSpec{"cluster", "", "The cluster's name: nodes of other clusters are refused"},
    SettingSpec{"environment", "default", "Production, staging …: nodes of other environments are refused"},
    SettingSpec{"name", "", "This node's name, unique in the cluster (usual: the host's name)"},
    SettingSpec{"role", "manager", "What the node is for", Kind::kChoice, "gate|manager|worker"},
    SettingSpec{"datacenter", "default", "Where it stands"},
    SettingSpec{"region", "", "A group of datacenters that are near to each other"},
    SettingSpec{"listen", "0.0.0.0:9000", "Where it listens, TCP and UDP", Kind::kPlace},
    SettingSpec{"advertise", "", "How others reach it (usual: the address that its first peer sees)", Kind::kPlace},
    SettingSpec{"http", "127.0.0.1:9001", "Health and metrics over HTTP; empty: nowhere", Kind::kPlace},
    SettingSpec{"seeds", "", "Nodes to ask first when it joins", Kind::kPlaces},
    SettingSpec{"dns", "", "Names whose A, AAAA or SRV records are nodes to ask", Kind::kTexts},
    SettingSpec{"join_limit", "0s", "Give up joining after so long, with an error; 0s: never", Kind::kDuration},
    SettingSpec{"voters", "", "The names of all nodes that elect the leader, the same everywhere", Kind::kTexts},
    SettingSpec{"leadership", kQuorum,
                "Who decides who leads: quorum, vote (by scores), or a store's URL (etcd:, k8s:, redis:, postgres:)"},
    SettingSpec{"leadership_lease", "0s", "There a leader is replaced after so long (0s: local 2s, lan 5s, wan 15s)",
                Kind::kDuration},
    SettingSpec{"jobs", kQuorum, "Where it stands which manager has a job, and its state: quorum, or an etcd's URL"},
    SettingSpec{"keepers", "",
                "The managers that keep jobs and results, the same everywhere (usual: the voters, up to 9)",
                Kind::kTexts},
    SettingSpec{"priority", "8", "Below 8: leads only when nodes with a higher one do not stand", Kind::kNumber,
                "0..8"},
    SettingSpec{"gates", "false", "The cluster has gates: clients may ask these only", Kind::kFlag},
    SettingSpec{"profile", "lan", "The timing of membership and elections", Kind::kChoice, "local|lan|wan"},
    SettingSpec{"data", "", "The folder of what must survive a restart"},
    SettingSpec{"cores", "0", "Of a worker: how many cores make load (0: all that it may use)", Kind::kNumber,
                "0..4096"},
    SettingSpec{"pin", "true", "Of a worker: its load threads stay on their cores", Kind::kFlag},
    SettingSpec{"hand_over", "10s", "Of a worker that leaves: it waits so long for others to go on with what it runs",
                Kind::kDuration},
    SettingSpec{"trust_keys", "",
                "Of a worker: a file with public keys (PEM), or a folder of them; what they signed may run as C++"},
    SettingSpec{"agent.capabilities", "admin_election", "Of a scored vote: what this node can do; decides its score",
                Kind::kTexts},
    SettingSpec{"vote.quorum", "majority", "Whose votes make an admin; but for majority, two admins are possible",
                Kind::kChoice, "majority|plurality|highest_score"},
    SettingSpec{"vote.key", "", "PEM (Ed25519): what this node signs its messages of a scored vote with"},
    SettingSpec{"vote.keys", "", "A folder with the public key of each voter, NAME.pem"},
    SettingSpec{"vote.weights.uptime", "0.30", "What uptime counts in the score; the weights add up to 1",
                Kind::kShare},
    SettingSpec{"vote.weights.capability", "0.20", "… capabilities; all weights are the same on all nodes",
                Kind::kShare},
    SettingSpec{"vote.weights.resources", "0.20", "… what of the machine is free", Kind::kShare},
    SettingSpec{"vote.weights.network", "0.15", "… the network between the nodes", Kind::kShare},
    SettingSpec{"vote.weights.experience", "0.15", "… the uptime of all lives", Kind::kShare},
    SettingSpec{"vote.operator_key", "",
                "PEM, public: who attests capabilities; voters believe nothing else then. The same on all nodes"},
    SettingSpec{"agent.attestation", "", "What the operator has attested this node (bellwether keys attest)"},
    SettingSpec{"vote.reputation_weight", "0", "Percent of a score that a bad reputation takes; 0: none", Kind::kNumber,
                "0..100"},
    SettingSpec{"vote.key_share", "",
                "This node's key share of the key that only an admin has (bellwether keys split)"},
    SettingSpec{"vote.key_commitment", "", "What was written with the key shares, the same on all nodes"},
    SettingSpec{"vote.key_command", "", "A command that runs with that key while this node is the admin: [CMD, ARG]",
                Kind::kTexts},
    SettingSpec{"security.election_config.discovery_timeout", "0s",
                "Between requests for an admin (0s: lan 500ms, wan 10s)", Kind::kDuration},
    SettingSpec{"security.election_config.discovery_backoff", "0s",
                "After an election that nobody won (0s: lan 250ms, wan 5s)", Kind::kDuration},
    SettingSpec{"security.election_config.election_timeout", "0s",
                "After that an election is over (0s: lan 2s, wan 30s)", Kind::kDuration},
    SettingSpec{"security.election_config.heartbeat_timeout", "0s",
                "So long an admin is believed that says nothing (0s: lan 1s, wan 15s)", Kind::kDuration},
    SettingSpec{"security.election_config.gather_timeout", "0s",
                "Candidacies of all are waited for so long (0s: lan 100ms, wan 1s)", Kind::kDuration},
    SettingSpec{"security.election_config.transfer_timeout", "0s", "For an heir to take over (0s: lan 3s, wan 30s)",
                Kind::kDuration},
    SettingSpec{"security.election_config.stop_grace", "0s",
                "For the work to stop after the end of a term (0s: lan 100ms, wan 1s)", Kind::kDuration},
    SettingSpec{"security.election_config.election_min_term", "0s", "Between elections (0s: twice discovery_timeout)",
                Kind::kDuration, "", "CHORUS_ELECTION_MIN_TERM"},
    SettingSpec{"security.election_config.leader_min_term", "0s",
                "An admin is not challenged for so long (0s: three times heartbeat_timeout)", Kind::kDuration, "",
                "CHORUS_LEADER_MIN_TERM"},
    SettingSpec{"context.serve", "false", "This node leads the making of contexts when it leads the cluster",
                Kind::kFlag},
    SettingSpec{"context.manager", "", "… with this command for each request: [PROGRAM, ARGUMENT …]", Kind::kTexts},
    SettingSpec{"context.jobs", "1", "So many of these run at once", Kind::kNumber, "1..1000"},
    SettingSpec{"context.job_timeout", "10m", "One that takes longer is stopped, and has failed", Kind::kDuration},
    SettingSpec{"context.job_grace", "10s", "… and killed after so long", Kind::kDuration},
    SettingSpec{"context.enable_context_leadership", "true", "false: it takes the office, and leads no contexts",
                Kind::kFlag},
    SettingSpec{"context.context_leadership_weight", "0.3", "Of fitness for contexts in the score for admin",
                Kind::kShare},
    SettingSpec{"context.require_context_capability", "true", "Whoever has no context manager is handed nothing",
                Kind::kFlag},
    SettingSpec{"context.auto_start_generation", "true", "A new leader begins by itself", Kind::kFlag},
    SettingSpec{"context.generation_start_delay", "5s", "Before it does", Kind::kDuration},
    SettingSpec{"context.generation_stop_timeout", "30s", "For jobs that were asked to end", Kind::kDuration},
    SettingSpec{"context.context_failover_timeout", "60s", "For the whole of a transfer", Kind::kDuration},
    SettingSpec{"context.state_transfer_timeout", "30s", "For the state to reach the next leader", Kind::kDuration},
    SettingSpec{"context.validation_timeout", "10s", "For the next leader to check it", Kind::kDuration},
    SettingSpec{"context.require_state_validation", "true", "State that was not checked is not taken", Kind::kFlag},
    SettingSpec{"context.context_health_check_interval", "30s", "Between two looks at the health of all nodes",
                Kind::kDuration},
    SettingSpec{"context.cluster_health_threshold", "0.7", "Below it no new context is made", Kind::kShare},
    SettingSpec{"context.leader_health_threshold", "0.8", "A leader below it at two checks hands over", Kind::kShare},
    SettingSpec{"context.max_queue_transfer_size", "1000", "Requests that are queued or active at once", Kind::kNumber,
                "1..1000"},
    SettingSpec{"context.queue_drain_timeout", "60s", "For jobs to end by themselves before a transfer or a stop",
                Kind::kDuration},
    SettingSpec{"context.preserve_completed_jobs", "true", "What is done goes along with a transfer", Kind::kFlag},
    SettingSpec{"context.coordination_timeout", "10s", "For one question to the register or to another node",
                Kind::kDuration},
    SettingSpec{"context.max_coordination_retries", "3", "After the first attempt", Kind::kNumber, "0..100"},
    SettingSpec{"context.coordination_backoff", "2s", "Between attempts", Kind::kDuration},
    SettingSpec{"secret.file", "", "A file with the cluster's shared secret (or the variable BELLWETHER_AUTH_SECRET)",
                Kind::kText, "", "BELLWETHER_AUTH_SECRET_FILE"},
    SettingSpec{"secret.previous_file", "", "… and the one before, while it is being replaced", Kind::kText, "",
                "BELLWETHER_AUTH_SECRET_PREVIOUS_FILE"},
    SettingSpec{"tls.certificate", "", "PEM, with its chain: proves this node's role to others"},
    SettingSpec{"tls.key", "", "PEM, of that certificate"},
    SettingSpec{"tls.ca", "", "PEM: who signs the certificates of this cluster"},
    SettingSpec{"tls.verify_hostname", "true", "A peer's certificate must be for the address it is reached at",
                Kind::kFlag},
};

class Check {
 public:
  Check(const Settings& settings, yaml::Diagnostics& diagnostics) : settings_(settings), diagnostics_(diagnostics) {}

  void complain(std::string_view name, std::string message, std::string hint = {}) {
    diagnostics_.add(
        {}, {.message = std::move(message) + " (" + settings_.value(name).origin + ")", .hint = std::move(hint)});
  }

  // A name that travels in messages, file names and metrics.
  std::string name(std::string_view setting) {
    const std::string& text = settings_.text(setting);
    if (!text.empty() && !wire::is_name(text)) {
      complain(setting, yaml::in_quotes(setting) + " is " + yaml::in_quotes(text) +
                            ": a name has 1 to 64 letters, digits, '-', '_' and '.'");
    }
    return text;
  }

  std::string required_name(std::string_view setting, std::string hint) {
    if (!settings_.given(setting)) complain(setting, yaml::in_quotes(setting) + " is missing", std::move(hint));
    return name(setting);
  }

  void majority_of(std::string_view setting, std::vector<std::string> names, std::size_t most, const char* more) {
    std::sort(names.begin(), names.end());
    if (std::adjacent_find(names.begin(), names.end()) != names.end()) {
      complain(setting, yaml::in_quotes(setting) + " names a node twice: each counts once");
    }
    if (names.size() > most) {
      complain(
          setting,
          yaml::in_quotes(setting) + " has " + std::to_string(names.size()) + " names; at most " + std::to_string(most),
          std::string("5 survive the loss of 2; more only make ") + more + " slower");
    }
  }

  void voters(const NodeConfig& config) {
    majority_of("voters", config.voters, config.votes_by_score() ? kScoredVotersMax : kVotersMax, "elections");
    if (!config.delegates() && config.role != Role::kWorker && config.voters.empty()) {
      complain("voters", "'voters' is missing, and this cluster elects its leader itself",
               "name all nodes that vote, the same everywhere: voters: [m1, m2, m3]");
    }
    if (config.votes() && config.role == Role::kWorker) {
      complain("voters", "'voters' names this node, which is a worker: workers do not vote");
    }
    if (config.votes() && !config.delegates() && config.data.empty()) {
      complain("data", "'data' is missing, and this node votes: a vote must survive a restart",
               "data: /var/lib/bellwether");
    }
  }

  void jobs(const NodeConfig& config) {
    if (config.role == Role::kWorker) return;
    if (settings_.given("keepers")) {
      majority_of("keepers", config.keepers, kVotersMax, "each change of a job");
      if (!config.voters.empty() && !config.votes_by_score()) {
        complain("keepers", "'keepers' is for clusters without voters: where there are voters, they keep the jobs",
                 "leave it out");
      }
    }
    if (config.keeps_jobs() && !config.votes() && config.data.empty()) {
      complain("data", "'data' is missing, and this node keeps jobs: they must survive a restart",
               "data: /var/lib/bellwether");
    }
    if (!config.jobs_in_etcd()) return;
    const auto url = store::parse_store_url(config.jobs);
    if (!url) {
      complain("jobs", "'jobs' is neither quorum nor the URL of an etcd: " + url.error().message);
    } else if (url->scheme != "etcd" && url->scheme != "etcds") {
      complain("jobs", "'jobs' is " + yaml::in_quotes(config.jobs) + ", but only etcd can have registers of jobs",
               "jobs: etcd://HOST:PORT, or quorum");
    } else if (config.keepers.empty()) {
      complain("jobs", "'jobs' is in etcd, but scenarios and results are too large for it, and no manager keeps them",
               "name managers that do, the same everywhere: keepers: [m1, m2, m3]");
    }
  }

  void vote(const NodeConfig& config) {
    if (!config.votes_by_score() || !config.votes()) return;
    if (config.vote.key.empty() || config.vote.keys.empty()) {
      complain(
          "vote.key", "'vote' needs both key and keys: what is said in a scored vote is signed",
          "openssl genpkey -algorithm ed25519 -out NAME.key; openssl pkey -in NAME.key -pubout -out keys/NAME.pem");
    }
    if (const Status good = config.vote.weights.validate(); !good) {
      complain("vote.weights.uptime", "'vote.weights': " + good.error().message);
    }
    admin_key(config.vote);
    if (config.vote.operator_key.empty() && !config.vote.attestation.empty()) {
      complain("agent.attestation", "'agent.attestation' is checked with 'vote.operator_key', which is missing",
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
      complain("vote.key_command", "'vote.key_command' and 'context.serve' are both the work of who leads",
               "leave one of them out: a command that needs the key can run in a cluster of its own");
    }
    if (config.context.serves && (config.role != Role::kManager || !config.keeps_jobs())) {
      complain("context.serve", "'context' needs a manager that keeps jobs, and this node is none",
               "role: manager, and its name among 'voters' or 'keepers'");
    }
  }

  void admin_key(const VoteChoice& vote) {
    if (vote.key_share.empty() != vote.key_commitment.empty()) {
      complain("vote.key_share", "'vote' needs both key_share and key_commitment, or neither",
               "bellwether keys split --names NAME,NAME,… makes both");
    }
    if (vote.key_share.empty()) {
      if (!vote.key_command.empty()) {
        complain("vote.key_command", "'vote.key_command' works with a key, and this node has no key share of one",
                 "bellwether keys split; then vote: {key_share: NAME.share, key_commitment: key.commitment}");
      }
    } else if (vote.rule != vote::QuorumRule::kMajority) {
      complain("vote.quorum",
               "'vote.quorum' is " + std::string(to_string(vote.rule)) +
                   ", and key shares are sent to nobody but an admin that a majority has elected",
               "vote: {quorum: majority}, or leave vote.key_share out");
    }
  }

  void leadership(const NodeConfig& config) {
    const bool timed = settings_.duration("leadership_lease") > Duration::zero();
    if (!config.delegates()) {
      if (timed) {
        complain("leadership_lease", "'leadership_lease' is of stores, and this cluster elects its leader itself",
                 "leave it out: the times of an election come from 'profile'");
      }
      return;
    }
    if (!config.voters.empty()) {
      complain("voters", "'voters' names nodes that elect the leader, and 'leadership' a store that decides",
               "leave one of them out: voters without leadership, or leadership without voters");
    }
    const auto url = store::parse_store_url(config.leadership);
    if (!url) {
      complain("leadership", "'leadership' is neither quorum nor the URL of a store: " + url.error().message);
    } else if (const std::string why = reach_of(url->scheme); !why.empty()) {
      complain("leadership", "'leadership' is " + yaml::in_quotes(config.leadership) + ", but " + why,
               "let a store decide that all nodes reach, etcd, k8s, redis or postgres, or say quorum");
    }
    if (const Status good = election::LeaseTiming::of(config.store_lease).validate(); !good) {
      complain("leadership_lease",
               "'leadership_lease' " + format_duration(config.store_lease) + ": " + good.error().message);
    }
  }

 private:
  // Why a store of this scheme cannot decide for nodes of several machines; empty: it can.
  static std::string reach_of(std::string_view scheme) {
    if (scheme == "memory") return "what one process remembers is seen by no other node";
    if (scheme == "flock") return "locks of a host are seen by no node of another one";
    if (scheme == "file")
      return "a file is safe only where all nodes share one disk whose locks and fsync can be trusted";
    return {};
  }

  const Settings& settings_;
  yaml::Diagnostics& diagnostics_;
};

}  // namespace

bool NodeConfig::votes() const { return std::find(voters.begin(), voters.end(), name) != voters.end(); }
bool NodeConfig::keeps_jobs() const { return std::find(keepers.begin(), keepers.end(), name) != keepers.end(); }

Duration usual_store_lease(std::string_view profile) {
  return Duration::seconds(profile == "local" ? 2 : profile == "wan" ? 15 : 5);
}

std::span<const SettingSpec> node_settings() { return kSpecs; }

std::optional<NodeConfig> node_config(const Settings& settings, const std::string& host_name,
                                      yaml::Diagnostics& diagnostics) {
  Check check(settings, diagnostics);
  NodeConfig config;
  config.cluster = check.required_name("cluster", "cluster: NAME, the same on every node");
  config.environment = check.name("environment");
  config.name = settings.given("name") ? check.name("name") : host_name;
  config.role = wire::parse_role(settings.text("role")).value_or(Role::kManager);
  config.datacenter = check.name("datacenter");
  config.region = check.name("region");
  config.priority = static_cast<unsigned>(settings.number("priority"));
  config.listen = settings.place("listen", kDefaultPort);
  if (settings.given("advertise")) config.advertise = settings.place("advertise", config.listen.port);
  if (settings.given("http")) config.http = settings.place("http", kDefaultPort + 1);
  config.seeds = settings.places("seeds", kDefaultPort);
  config.dns_names = settings.texts("dns");
  if (settings.duration("join_limit") > Duration::zero()) config.join_limit = settings.duration("join_limit");
  config.voters = settings.texts("voters");
  config.leadership = settings.given("leadership") ? settings.text("leadership") : kQuorum;
  config.jobs = settings.given("jobs") ? settings.text("jobs") : kQuorum;
  if (settings.given("keepers")) {
    config.keepers = settings.texts("keepers");
  } else if (config.voters.size() <= kVotersMax) {
    config.keepers = config.voters;
  }
  config.has_gates = settings.flag("gates");
  config.profile = settings.text("profile");
  const Duration lease = settings.duration("leadership_lease");
  config.store_lease = lease > Duration::zero() ? lease : usual_store_lease(config.profile);
  config.data = settings.text("data");
  config.cores = static_cast<uint32_t>(settings.number("cores"));
  config.pin = settings.flag("pin");
  config.hand_over = settings.duration("hand_over");
  config.trust_keys = settings.text("trust_keys");
  config.secret_file = settings.text("secret.file");
  config.previous_secret_file = settings.text("secret.previous_file");
  config.certificate = settings.text("tls.certificate");
  config.key = settings.text("tls.key");
  config.ca = settings.text("tls.ca");
  config.verify_hostname = settings.flag("tls.verify_hostname");
  if (config.certificate.empty() != config.key.empty() || config.certificate.empty() != config.ca.empty()) {
    check.complain("tls.certificate", "'tls' needs all of certificate, key and ca, or none of them");
  }
  config.vote = vote_choice(settings, config.profile);
  config.context = context_choice(settings);
  check.leadership(config);
  check.vote(config);
  check.voters(config);
  check.jobs(config);
  check.context(config);
  if (!diagnostics.empty()) return std::nullopt;
  return config;
}

}  // namespace bellwether::cluster

// The settings of a node about itself and its cluster, typed and checked as a whole.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/net/settings.h"
#include "cluster/wire/identity.h"
#include "election/context/context_settings.h"
#include "election/vote/ballot.h"
#include "election/vote/vote_timing.h"

namespace bellwether::cluster {

// What the settings of a node say about the leadership of contexts.
struct ContextChoice {
  bool serves = false;               // this node leads contexts when it leads its cluster
  std::vector<std::string> manager;  // program and arguments; empty: none is registered
  uint32_t jobs = 1;                 // at once
  Duration job_timeout = Duration::minutes(10);
  Duration job_grace = Duration::seconds(10);
  context_lead::ContextSettings settings;
};

inline constexpr Duration kLongestJob = Duration::hours(24);

// kInvalid, with what was expected.
Status check_context(const ContextChoice& choice);

// What the settings of a node say about a scored vote.
struct VoteChoice {
  std::vector<std::string> capabilities;
  vote::QuorumRule rule = vote::QuorumRule::kMajority;
  vote::ScoreWeights weights;
  vote::VoteTiming timing;
  std::string key;               // a file, PEM: what this node signs with
  std::string keys;              // a folder with NAME.pem of each member: its public key
  std::string operator_key;      // a file, PEM: the key that attests capabilities; empty: no attestation, all claims
                                 // are believed
  std::string attestation;       // a file, of this node
  double reputation_weight = 0;  // 0 to 1
  // Of the key that only an admin has, files; both empty: the cluster has no such key.
  std::string key_share;
  std::string key_commitment;
  std::vector<std::string> key_command;  // works with that key; empty: no command does
};

inline constexpr uint16_t kDefaultPort = 9000;
inline constexpr const char* kQuorum = "quorum";  // a cluster whose voters elect its leader
inline constexpr const char* kVote = "vote";      // … by the scores of the candidates
inline constexpr const char* kSecretVariable = "BELLWETHER_AUTH_SECRET";
inline constexpr const char* kPreviousSecretVariable = "BELLWETHER_AUTH_SECRET_PREVIOUS";

struct NodeConfig {
  std::string cluster;
  std::string environment;
  std::string name;
  wire::Role role = wire::Role::kManager;
  std::string datacenter;
  std::string region;
  unsigned priority = 8;  // among those that may lead: the highest stands first, at once

  HostPort listen;
  HostPort advertise;            // how others reach it; an empty host: they use the address that they see
  std::optional<HostPort> http;  // health and metrics
  std::vector<HostPort> seeds;
  std::vector<std::string> dns_names;
  std::optional<Duration> join_limit;  // nothing: it tries for ever

  std::vector<std::string> voters;  // names; the quorum is the majority of all of them, dead or alive
  std::string leadership;           // "quorum", "vote", or the URL of the store that decides the leader
  VoteChoice vote;                  // of "vote"
  ContextChoice context;
  Duration store_lease;  // there
  std::string jobs;      // "quorum", or the URL of an etcd that has their registers
  std::vector<std::string>
      replicas;            // managers that keep jobs: names; the majority of all of them counts; none: no jobs
  bool has_gates = false;  // clients ask these then, and managers take nothing from clients
  std::string profile;
  std::string data;  // a folder

  uint64_t data_files = 128;  // GiB of large ones of jobs that it keeps
  uint32_t cores = 0;         // of a worker, for load; 0: all
  bool pin = true;            // each of them has one processor to itself
  Duration hand_over;         // of a worker that leaves: the longest time to hand its work over to others
  std::string trust_keys;     // of a worker: a file or a folder; empty: it runs no compiled programs

  std::string secret_file;
  std::string previous_secret_file;
  std::string certificate;
  std::string key;
  std::string ca;
  bool verify_hostname = true;
  bool has_tls() const { return !certificate.empty(); }
  bool votes() const;
  bool keeps_jobs() const;  // it is one of the replicas
  bool jobs_in_etcd() const { return jobs != kQuorum; }
  bool delegates() const { return leadership != kQuorum && leadership != kVote; }
  bool votes_by_score() const { return leadership == kVote; }
};

// The default lease of a cluster in a store: local 2 s, lan 5 s, wan 15 s.
Duration usual_store_lease(std::string_view profile);

// All settings of a node, in the order in which people should meet them.
std::span<const SettingSpec> node_settings();

// The typed form; reports settings that are missing or do not go together. `host_name` names a node without a name.
std::optional<NodeConfig> node_config(const Settings& settings, const std::string& host_name,
                                      yaml::Diagnostics& diagnostics);

}  // namespace bellwether::cluster

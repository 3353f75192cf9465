#include "cluster/net/node_config.h"

#include <gmock/gmock.h>
#include <map>

namespace bellwether::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::map<std::string, std::string> environment;
const char* variable(const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? nullptr : found->second.c_str();
}

class NodeConfigTest : public testing::Test {
 protected:
  NodeConfigTest() { environment.clear(); }

  std::optional<NodeConfig> read(std::string_view file) {
    settings = Settings(node_settings());
    yaml::Diagnostics wrong(file_name);
    settings.read_file(file, wrong, file_name);
    settings.read_environment(&variable, wrong);
    for (const std::string& one : options) settings.read_option(one, wrong);
    auto config = node_config(settings, "host-7", wrong);
    complaints.clear();
    for (const yaml::Diagnostic& one : wrong.take()) complaints += format(one) + "\n";
    return complaints.empty() ? config : std::nullopt;
  }
  std::string complaint(std::string_view file) {
    EXPECT_FALSE(read(file));
    return complaints;
  }

  Settings settings{node_settings()};
  std::vector<std::string> options;
  std::string file_name = "node.yaml";
  std::string complaints;
};

constexpr std::string_view kManager = R"(
cluster: prod
name: m1
listen: 10.0.0.1:9000
seeds: [10.0.0.2, "[fd00::3]:9100", m3.example]
voters: [m1, m2, m3]
data: /var/lib/bellwether
data_files: 2
tls: {certificate: m1.pem, key: m1.key, ca: ca.pem}
)";

TEST_F(NodeConfigTest, nobody_waits_for_a_voter_of_higher_priority_unless_there_is_one) {
  EXPECT_EQ(read(kManager)->priority, 8u) << "the highest: another default would make every election wait";
}

TEST_F(NodeConfigTest, a_whole_file_is_read) {
  const auto config = read(kManager);
  ASSERT_TRUE(config) << complaints;
  EXPECT_EQ(config->cluster, "prod");
  EXPECT_EQ(config->role, wire::Role::kManager);
  EXPECT_EQ(config->listen, (HostPort{"10.0.0.1", 9000}));
  EXPECT_THAT(config->seeds,
              ElementsAre(HostPort{"10.0.0.2", 9000}, HostPort{"fd00::3", 9100}, HostPort{"m3.example", 9000}));
  EXPECT_TRUE(config->votes());
  EXPECT_TRUE(config->has_tls());
  EXPECT_EQ(config->http, (HostPort{"127.0.0.1", 9001}));
  EXPECT_EQ(config->join_limit, std::nullopt);
  EXPECT_EQ(config->data_files, 2u);
}

TEST_F(NodeConfigTest, a_later_layer_wins_and_each_value_knows_where_it_came_from) {
  environment["BELLWETHER_NAME"] = "m2";
  environment["BELLWETHER_SEEDS"] = "10.0.0.9, 10.0.0.8:1";
  environment["BELLWETHER_TLS_VERIFY_HOSTNAME"] = "false";
  options = {"profile=wan", "http="};
  const auto config = read(kManager);
  ASSERT_TRUE(config) << complaints;
  EXPECT_EQ(config->name, "m2");
  EXPECT_EQ(config->profile, "wan");
  EXPECT_FALSE(config->verify_hostname);
  EXPECT_EQ(config->http, std::nullopt);
  EXPECT_THAT(config->seeds, ElementsAre(HostPort{"10.0.0.9", 9000}, HostPort{"10.0.0.8", 1}));
  EXPECT_EQ(settings.value("name").origin, "environment BELLWETHER_NAME");
  EXPECT_EQ(settings.value("profile").origin, "--set profile");
  EXPECT_EQ(settings.value("cluster").origin, "node.yaml:2:10");
  EXPECT_EQ(settings.value("tls.ca").origin, "node.yaml:9:45");
  EXPECT_EQ(settings.value("region").origin, "default");
}

TEST_F(NodeConfigTest, a_node_without_a_name_has_that_of_its_host) {
  const auto config = read("cluster: prod\nrole: worker\n");
  ASSERT_TRUE(config) << complaints;
  EXPECT_EQ(config->name, "host-7");
}

TEST_F(NodeConfigTest, what_is_wrong_in_a_file_is_shown_with_its_place_and_the_remedy) {
  EXPECT_THAT(complaint("cluster: prod\nrole: wroker\n"), HasSubstr("node.yaml:2:7"));
  EXPECT_THAT(complaints, HasSubstr("did you mean 'worker'?"));
  EXPECT_THAT(complaint("clutser: prod\n"), HasSubstr("did you mean 'cluster'?"));
  EXPECT_THAT(complaint("cluster: prod\ntls: {cretificate: x}\n"), HasSubstr("unknown key 'cretificate' in 'tls'"));
  EXPECT_THAT(complaint("cluster: prod\ntls: yes\n"), HasSubstr("'tls' must be a map"));
  EXPECT_THAT(complaint("cluster: prod\nseeds: [10.0.0.1:99999]\n"), HasSubstr("'99999' is not a port"));
  EXPECT_THAT(complaint("cluster: prod\nlisten: 127.0.0.1:0\n"), HasSubstr("write a port from 1 to 65535"));
  EXPECT_THAT(complaint("cluster: prod\nrole: gate\n"), HasSubstr("expected: one of manager, worker"));
  EXPECT_THAT(complaint("cluster: prod\njoin_limit: 5\n"), HasSubstr("a duration such as"));
  EXPECT_THAT(complaint("cluster: prod\npriority: 9\n"), HasSubstr("a whole number, 0..8"));
  EXPECT_THAT(complaint("cluster: [a]\n"), HasSubstr("wrong value of 'cluster'"));
}

TEST_F(NodeConfigTest, what_is_wrong_elsewhere_names_the_variable_or_option) {
  environment["BELLWETHER_LISTEN"] = "::1";
  EXPECT_THAT(complaint("cluster: prod\nrole: worker\n"), HasSubstr("the variable BELLWETHER_LISTEN"));
  EXPECT_THAT(complaints, HasSubstr("in brackets"));
  environment.clear();
  options = {"profil=wan"};
  EXPECT_THAT(complaint("cluster: prod\nrole: worker\n"), HasSubstr("did you mean 'profile'?"));
  options = {"profile=slow"};
  EXPECT_THAT(complaint("cluster: prod\nrole: worker\n"), HasSubstr("--set profile"));
}

TEST_F(NodeConfigTest, settings_that_do_not_go_together_are_refused) {
  EXPECT_THAT(complaint("role: worker\n"), HasSubstr("'cluster' is missing\n"));
  EXPECT_THAT(complaint("cluster: a b\nrole: worker\n"), HasSubstr("a name must have 1 to 64 letters"));
  EXPECT_THAT(complaint("cluster: prod\n"), HasSubstr("'voters' is missing"));
  EXPECT_THAT(complaint("cluster: prod\nname: m1\nvoters: [m1, m1]\ndata: x\n"), HasSubstr("lists a node twice"));
  EXPECT_THAT(complaint("cluster: prod\nname: m1\nvoters: [m1]\n"), HasSubstr("its votes must survive a restart"));
  EXPECT_THAT(complaint("cluster: prod\nname: w\nrole: worker\nvoters: [w]\ndata: x\n"), HasSubstr("do not vote"));
  EXPECT_THAT(complaint("cluster: prod\nrole: worker\ntls: {ca: ca.pem}\n"), HasSubstr("all of certificate"));
  EXPECT_THAT(complaint("cluster: prod\nrole: worker\nleadership: raft\n"), HasSubstr("'raft'"));
  EXPECT_THAT(complaint("cluster: prod\nname: m1\nvoters: [m1]\ndata: x\nleadership_lease: 3s\n"),
              HasSubstr("elects its leader itself"));
}

TEST_F(NodeConfigTest, a_cluster_that_leaves_leading_to_a_store_needs_neither_voters_nor_a_disk) {
  auto config = read("cluster: prod\nname: m1\nleadership: etcd://10.0.0.5\n");
  ASSERT_TRUE(config) << complaints;
  EXPECT_TRUE(config->delegates());
  EXPECT_FALSE(config->votes());
  EXPECT_EQ(config->store_lease, Duration::seconds(5));
  EXPECT_EQ(read("cluster: prod\nprofile: wan\nleadership: k8s:ns\n")->store_lease, Duration::seconds(15));
  config = read("cluster: prod\nleadership: redis://10.0.0.5\nleadership_lease: 3s\n");
  ASSERT_TRUE(config) << complaints;
  EXPECT_EQ(config->store_lease, Duration::seconds(3));
  options = {"leadership="};
  EXPECT_THAT(complaint("cluster: prod\nleadership: postgres://10.0.0.5\n"), HasSubstr("'voters' is missing"))
      << "an empty text takes back what the file says";
}

TEST_F(NodeConfigTest, a_store_that_does_not_reach_all_nodes_or_clashes_with_voters_decides_nothing) {
  for (const std::string store : {"memory:x", "flock:/run/x", "file:/srv/lease"}) {
    EXPECT_THAT(complaint("cluster: prod\nleadership: " + store + "\n"), HasSubstr("'" + store + "', but")) << store;
    EXPECT_THAT(complaints, HasSubstr("etcd, k8s, redis or postgres"));
  }
  EXPECT_THAT(complaint("cluster: prod\nname: m1\nvoters: [m1]\nleadership: etcd://10.0.0.5\n"),
              HasSubstr("remove one of them"));
  EXPECT_THAT(complaint("cluster: prod\nleadership: zk://10.0.0.5\n"), HasSubstr("there is no store 'zk:'"));
  EXPECT_THAT(complaint("cluster: prod\nleadership: redis://u:secret@10.0.0.5\n"), HasSubstr("password_file"));
  EXPECT_THAT(complaints, testing::Not(HasSubstr("secret@")));
  EXPECT_THAT(complaint("cluster: prod\nleadership: etcd://10.0.0.5\nleadership_lease: 9000h\n"),
              HasSubstr("longer than a year"));
}

TEST_F(NodeConfigTest, a_page_of_health_may_be_nowhere) {
  const auto config = read(std::string(kManager) + "http: ''\n");
  ASSERT_TRUE(config) << complaints;
  EXPECT_EQ(config->http, std::nullopt);
  EXPECT_THAT(complaint(std::string(kManager) + "profile: ''\n"), HasSubstr("wrong value of 'profile'"));
}

constexpr std::string_view kVoter = R"(
cluster: prod
name: m1
voters: [m1, m2, m3]
data: /var/lib/bellwether
leadership: vote
vote: {key: m1.key, keys: keys}
)";

TEST_F(NodeConfigTest, a_scored_vote_has_times_of_its_own) {
  auto config = read(kVoter);
  ASSERT_TRUE(config) << complaints;
  EXPECT_TRUE(config->votes_by_score());
  EXPECT_FALSE(config->delegates());
  EXPECT_THAT(config->vote.capabilities, ElementsAre("admin_election"));
  EXPECT_EQ(config->vote.rule, vote::QuorumRule::kMajority);
  EXPECT_EQ(config->vote.timing.heartbeat_timeout, Duration::seconds(1)) << "lan";
  config = read(std::string(kVoter) + "profile: wan\nagent: {capabilities: [project_manager, a]}\n");
  ASSERT_TRUE(config) << complaints;
  EXPECT_EQ(config->vote.timing.heartbeat_timeout, Duration::seconds(15));
  EXPECT_EQ(config->vote.timing.leader_min_term, Duration::seconds(45));
  EXPECT_THAT(config->vote.capabilities, ElementsAre("project_manager", "a"));
  environment["CHORUS_LEADER_MIN_TERM"] = "90s";
  environment["CHORUS_ELECTION_MIN_TERM"] = "60s";
  config = read(std::string(kVoter) +
                "security: {election_config: {discovery_timeout: 5s, discovery_backoff: 2s, election_timeout: 20s,\n"
                "  heartbeat_timeout: 12s, gather_timeout: 2s, transfer_timeout: 9s, stop_grace: 500ms}}\n");
  ASSERT_TRUE(config) << complaints;
  const vote::VoteTiming& timing = config->vote.timing;
  EXPECT_EQ(timing.discovery, Duration::seconds(5));
  EXPECT_EQ(timing.discovery_backoff, Duration::seconds(2));
  EXPECT_EQ(timing.election, Duration::seconds(20));
  EXPECT_EQ(timing.heartbeat_timeout, Duration::seconds(12));
  EXPECT_EQ(timing.gather, Duration::seconds(2));
  EXPECT_EQ(timing.transfer, Duration::seconds(9));
  EXPECT_EQ(timing.stop_grace, Duration::millis(500));
  EXPECT_EQ(timing.election_min_term, Duration::seconds(60));
  EXPECT_EQ(timing.leader_min_term, Duration::seconds(90));
}

std::string with_weights(std::string_view weights) {
  std::string text(kVoter);
  return text.insert(text.rfind('}'), ", weights: " + std::string(weights));
}

TEST_F(NodeConfigTest, a_scored_vote_has_weights_of_its_own) {
  auto config = read(kVoter);
  ASSERT_TRUE(config) << complaints;
  const vote::ScoreWeights usual;
  EXPECT_EQ(config->vote.weights.uptime, usual.uptime);
  EXPECT_EQ(config->vote.weights.capability, usual.capability);
  EXPECT_EQ(config->vote.weights.resources, usual.resources);
  EXPECT_EQ(config->vote.weights.network, usual.network);
  EXPECT_EQ(config->vote.weights.experience, usual.experience);
  environment["BELLWETHER_VOTE_WEIGHTS_NETWORK"] = "0.5";
  config = read(with_weights("{uptime: 0, capability: 0.125, resources: 0.125, experience: 0.25}"));
  ASSERT_TRUE(config) << complaints;
  const auto& [uptime, capability, resources, network, experience, fitness] = config->vote.weights;
  EXPECT_THAT((std::array{uptime, capability, resources, network, experience}),
              ElementsAre(0, 0.125, 0.125, 0.5, 0.25));
}

TEST_F(NodeConfigTest, toml_says_the_same_as_yaml) {
  file_name = "node.toml";
  environment["CHORUS_LEADER_MIN_TERM"] = "90s";
  const auto config = read(R"(
cluster = "prod"
name = "m1"
voters = ["m1", "m2", "m3"]
data = "/var/lib/bellwether"
leadership = "vote"
priority = 7
pin = false

[vote]
key = "m1.key"
keys = "keys"
weights = {uptime = 0.25, network = 0.20}

[security.election_config]
heartbeat_timeout = "12s"
election_min_term = "60s"
)");
  ASSERT_TRUE(config) << complaints;
  EXPECT_THAT(config->voters, ElementsAre("m1", "m2", "m3"));
  EXPECT_EQ(config->priority, 7u);
  EXPECT_FALSE(config->pin);
  EXPECT_EQ(config->vote.weights.uptime, 0.25);
  EXPECT_EQ(config->vote.weights.network, 0.20);
  EXPECT_EQ(config->vote.timing.heartbeat_timeout, Duration::seconds(12));
  EXPECT_EQ(config->vote.timing.election_min_term, Duration::seconds(60));
  EXPECT_EQ(config->vote.timing.leader_min_term, Duration::seconds(90));
  EXPECT_EQ(settings.value("priority").origin, "node.toml:7:12");
  EXPECT_THAT(complaint("cluster = \"prod\"\nvotres = [\"m1\"]\n"), HasSubstr("node.toml:2:1: unknown key 'votres'"));
  EXPECT_THAT(complaint("cluster = \"prod\"\npriority = 12\n"), HasSubstr("node.toml:2:12: wrong value of 'priority'"));
}

TEST_F(NodeConfigTest, weights_that_cannot_be_are_refused) {
  const auto with = [&](const char* weights) { return complaint(with_weights(weights)); };
  EXPECT_THAT(with("{uptime: 0.4}"), HasSubstr("add up to 1.1"));
  EXPECT_THAT(with("{uptime: 30%}"), HasSubstr("a ratio from 0 to 1, such as 0.25"));
  EXPECT_THAT(with("{uptime: 1.5}"), HasSubstr("a ratio from 0 to 1"));
  EXPECT_THAT(with("{uptime: -0.1}"), HasSubstr("a ratio from 0 to 1"));
  EXPECT_THAT(with("{uptime: nan}"), HasSubstr("a ratio from 0 to 1"));
  EXPECT_THAT(with("{upteim: 0.3}"), HasSubstr("'uptime'"));
}

TEST_F(NodeConfigTest, a_scored_vote_may_have_a_hundred_voters_and_keeps_jobs_on_nine) {
  const auto with = [](std::size_t voters, const char* more) {
    std::string text = "cluster: prod\nname: m1\ndata: /d\nleadership: vote\nvote: {key: k, keys: ks}\nvoters: [m1";
    for (std::size_t i = 2; i <= voters; ++i) text += ", m" + std::to_string(i);
    return text + "]\n" + more;
  };
  EXPECT_THAT(complaint(with(101, "")), HasSubstr("'voters' has 101 names; at most 100"));
  auto config = read(with(100, ""));
  ASSERT_TRUE(config) << complaints;
  EXPECT_EQ(config->voters.size(), 100U);
  EXPECT_TRUE(config->replicas.empty()) << "so many would make each change of a job slow";
  config = read(with(10, "replicas: [m1, m2, m3]\n"));
  ASSERT_TRUE(config) << complaints;
  EXPECT_THAT(config->replicas, ElementsAre("m1", "m2", "m3"));
  EXPECT_THAT(complaint(with(10, "replicas: [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10]\n")),
              HasSubstr("'replicas' has 10 names; at most 9"));
  config = read(with(9, ""));
  ASSERT_TRUE(config) << complaints;
  EXPECT_EQ(config->replicas, config->voters);
  EXPECT_THAT(complaint("cluster: prod\nname: m1\ndata: /d\nvoters: [m1, b, c, d, e, f, g, h, i, j]\n"),
              HasSubstr("'voters' has 10 names; at most 9"));
}

TEST_F(NodeConfigTest, a_scored_vote_that_cannot_be_is_refused_with_the_remedy) {
  EXPECT_THAT(complaint("cluster: prod\nname: m1\nvoters: [m1]\ndata: /d\nleadership: vote\n"),
              HasSubstr("openssl genpkey -algorithm ed25519"));
  EXPECT_THAT(complaint(std::string(kVoter) + "security: {election_config: {stop_grace: 10s}}\n"),
              HasSubstr("do not fit into heartbeat_timeout"));
  EXPECT_THAT(complaint(std::string(kVoter) + "leadership_lease: 5s\n"), HasSubstr("'leadership_lease' is for stores"));
  EXPECT_THAT(complaint("cluster: prod\nname: m1\nleadership: vote\n"), HasSubstr("'voters' is missing"));
}

TEST_F(NodeConfigTest, each_setting_of_context_leadership_has_its_default_and_can_be_set) {
  auto config = read(kVoter);
  ASSERT_TRUE(config) << complaints;
  EXPECT_FALSE(config->context.serves);
  const context_lead::ContextSettings defaults;
  struct Same {
    const context_lead::ContextSettings& a;
    const context_lead::ContextSettings& b;
    bool operator()(bool context_lead::ContextSettings::*one) const { return a.*one == b.*one; }
    bool operator()(uint64_t context_lead::ContextSettings::*one) const { return a.*one == b.*one; }
    bool operator()(double context_lead::ContextSettings::*one) const { return a.*one == b.*one; }
    bool operator()(Duration context_lead::ContextSettings::*one) const { return a.*one == b.*one; }
  };
  for (const auto& one : context_lead::context_settings()) {
    EXPECT_TRUE(std::visit(Same{config->context.settings, defaults}, one.member)) << one.name;
  }
  config = read(std::string(kVoter) +
                "context: {manager: [./make, -v], jobs: 4, job_timeout: 1m, job_grace: 2s,\n"
                "  leader_health_threshold: 0.5, require_context_capability: false,\n"
                "  max_queue_transfer_size: 7, generation_start_delay: 1s}\n");
  ASSERT_TRUE(config) << complaints;
  EXPECT_TRUE(config->context.serves);
  EXPECT_THAT(config->context.manager, ElementsAre("./make", "-v"));
  EXPECT_EQ(config->context.jobs, 4u);
  EXPECT_EQ(config->context.job_timeout, Duration::minutes(1));
  EXPECT_EQ(config->context.job_grace, Duration::seconds(2));
  EXPECT_EQ(config->context.settings.leader_health_threshold, 0.5);
  EXPECT_FALSE(config->context.settings.require_context_capability);
  EXPECT_EQ(config->context.settings.max_queue_transfer_size, 7u);
  EXPECT_EQ(config->context.settings.generation_start_delay, Duration::seconds(1));
}

TEST_F(NodeConfigTest, context_leadership_that_cannot_be_is_refused_with_the_remedy) {
  const std::string voter(kVoter);
  EXPECT_THAT(complaint(voter + "context: {cluster_health_threshold: 1.5}\n"), HasSubstr("a ratio from 0 to 1"));
  EXPECT_THAT(complaint(voter + "context: {cluster_health_threshold: 0.5x}\n"), HasSubstr("a ratio from 0 to 1"));
  EXPECT_THAT(complaint(voter + "context: {jobs: 1001}\n"), HasSubstr("1..1000"));
  EXPECT_THAT(complaint(voter + "context: {manger: [x]}\n"), HasSubstr("did you mean 'manager'"));
  EXPECT_THAT(complaint(voter + "context: {queue_drain_timeout: 2m}\n"), HasSubstr("context_failover_timeout"));
  EXPECT_THAT(complaint(voter + "context: {job_timeout: 25h}\n"), HasSubstr("1ms to 24h"));
  EXPECT_THAT(complaint("cluster: prod\nrole: worker\ncontext: {serve: true}\n"),
              HasSubstr("needs a manager that stores jobs"));
  EXPECT_THAT(complaint(voter + "context: {serve: true}\nleadership: vote\nvote: {key: a, keys: b, key_share: c, "
                                "key_commitment: d, key_command: [e]}\n"),
              HasSubstr("exclude each other"));
}

TEST_F(NodeConfigTest, who_keeps_jobs_is_whoever_votes_or_is_named) {
  auto config = read("cluster: prod\nname: m1\nvoters: [m1, m2, m3]\ndata: x\n");
  ASSERT_TRUE(config) << complaints;
  EXPECT_EQ(config->replicas, config->voters);
  EXPECT_TRUE(config->keeps_jobs());
  EXPECT_FALSE(config->jobs_in_etcd());
  config = read("cluster: prod\nname: m4\nleadership: k8s:ns\nreplicas: [m1, m2, m3]\n");
  ASSERT_TRUE(config) << complaints;
  EXPECT_FALSE(config->keeps_jobs());
  config = read("cluster: prod\nname: m1\nleadership: k8s:ns\nreplicas: [m1]\ndata: x\njobs: etcds://10.0.0.5\n");
  ASSERT_TRUE(config) << complaints;
  EXPECT_TRUE(config->keeps_jobs());
  EXPECT_TRUE(config->jobs_in_etcd());
  EXPECT_TRUE(read("cluster: prod\nrole: worker\njobs: etcd://10.0.0.5\n")) << "it says nothing to a worker";
}

TEST_F(NodeConfigTest, jobs_that_nobody_could_keep_are_refused) {
  const std::string by_store = "cluster: prod\nname: m1\nleadership: k8s:ns\ndata: x\n";
  EXPECT_THAT(complaint(by_store + "replicas: [m1, m2, m1]\n"), HasSubstr("'replicas' lists a node twice"));
  EXPECT_THAT(complaint(by_store + "jobs: etcd://10.0.0.5\n"), HasSubstr("replicas: [m1, m2, m3]"));
  EXPECT_THAT(complaint(by_store + "replicas: [m1]\njobs: redis://10.0.0.5\n"), HasSubstr("only etcd can"));
  EXPECT_THAT(complaint(by_store + "replicas: [m1]\njobs: disk\n"), HasSubstr("neither quorum nor the URL"));
  EXPECT_THAT(complaint("cluster: prod\nname: m1\nleadership: k8s:ns\nreplicas: [m1]\n"),
              HasSubstr("they must survive a restart"));
  EXPECT_THAT(complaint("cluster: prod\nname: m1\nvoters: [m1]\ndata: x\nreplicas: [m1]\n"), HasSubstr("remove it"));
}

TEST_F(NodeConfigTest, no_two_settings_share_a_variable) {
  std::vector<std::string> names;
  for (const SettingSpec& spec : node_settings()) names.push_back(variable_of(spec));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_THAT(names, testing::Contains("BELLWETHER_TLS_VERIFY_HOSTNAME"));
}

}  // namespace
}  // namespace bellwether::cluster

#include "cli/cluster_choice.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/local_cluster/folder.h"
#include "core/base/check.h"
#include "core/runtime/temporary_testing.h"

namespace bellwether::cli {
namespace {

using testing::HasSubstr;

std::map<std::string, std::string, std::less<>> variables;
const char* variable_of_test(const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : found->second.c_str();
}

class ClusterChoice : public testing::Test {
 protected:
  ClusterChoice() {
    variables = {{"XDG_CONFIG_HOME", folder_.path("config")}, {"XDG_STATE_HOME", folder_.path("state")}};
    folder_.file("client.yaml", "cluster: perf\n");
  }
  ~ClusterChoice() override { variables.clear(); }

  static KnownClusters known() {
    auto read = KnownClusters::read(&variable_of_test);
    check(read.has_value(), "the list of a test can be read");
    return std::move(*read);
  }
  std::string local() const { return folder_.path("state/bellwether/cluster"); }
  std::string list() const { return folder_.path("config/bellwether/clusters.json"); }
  // A local cluster there, of which this process is a node.
  static void make_cluster(const std::string& path, wire::Role role) {
    std::filesystem::create_directories(path);
    auto folder = local_cluster::Folder::open(path, local_cluster::Folder::Use::kMake);
    auto layout = local_cluster::make_layout({}, 20'000);
    for (local_cluster::LocalNode& node : layout.nodes) {
      if (node.role == role) node.process = local_cluster::mark_of(::getpid());
    }
    check(folder && folder->write(layout), "the folder of a test can be written");
  }

  runtime::TemporaryFolder folder_;
};

TEST_F(ClusterChoice, the_option_wins_over_the_variable_over_the_choice_over_the_local_one) {
  KnownClusters clusters = known();
  ASSERT_TRUE(clusters.remember("perf", folder_.path("client.yaml")));
  ASSERT_TRUE(clusters.remember("flock", folder_.path("flock")));
  ASSERT_TRUE(clusters.remember("herd", folder_.path("herd")));
  struct Case {
    const char* option;
    const char* variable;
    const char* chosen;
    const char* name;
    const char* source;
  };
  for (const Case& one : {Case{"", "", "", "local", "default"},
                          {"", "", "herd", "herd", "cluster use"},
                          {"", "flock", "herd", "flock", "BELLWETHER_CLUSTER"},
                          {"", "local", "herd", "local", "BELLWETHER_CLUSTER"},
                          {"perf", "flock", "herd", "perf", "--cluster"},
                          {"local", "flock", "herd", "local", "--cluster"},
                          {"current", "flock", "herd", "flock", "BELLWETHER_CLUSTER"},
                          {"current", "", "herd", "herd", "cluster use"},
                          {"current", "", "", "local", "default"},
                          {"", "", "local", "local", "default"}}) {
    SCOPED_TRACE(testing::Message() << one.option << "|" << one.variable << "|" << one.chosen);
    clusters.use(one.chosen);
    variables[kClusterVariable] = one.variable;
    const auto cluster = clusters.choose(one.option);
    ASSERT_TRUE(cluster);
    EXPECT_EQ(cluster->name, one.name);
    EXPECT_EQ(cluster->source, one.source);
  }
}

TEST_F(ClusterChoice, a_name_comes_before_a_file_and_a_path_gets_its_name) {
  KnownClusters clusters = known();
  ASSERT_TRUE(clusters.remember("client.yaml", "/elsewhere"));
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  EXPECT_EQ(clusters.choose("client.yaml")->path, "/elsewhere");
  EXPECT_EQ(clusters.choose("./client.yaml")->path, folder_.path("client.yaml"));
  clusters.forget("client.yaml");
  EXPECT_EQ(clusters.choose("client.yaml")->name, folder_.path("client.yaml")) << "relative, and there";
  std::filesystem::current_path(before);
  ASSERT_TRUE(clusters.remember("perf", folder_.path("client.yaml")));
  EXPECT_EQ(clusters.choose(folder_.path("client.yaml"))->name, "perf");
  EXPECT_EQ(clusters.choose(folder_.path("new/folder/"))->path, folder_.path("new/folder")) << "it may be new";
  EXPECT_EQ(clusters.choose(local() + "/")->name, "local");
}

TEST_F(ClusterChoice, an_unknown_name_is_refused_with_the_known_ones_and_the_nearest) {
  KnownClusters clusters = known();
  ASSERT_TRUE(clusters.remember("perf", "/a"));
  ASSERT_TRUE(clusters.remember("staging", "/b"));
  const auto refused = clusters.choose("pref");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kInvalid);
  EXPECT_THAT(
      refused.error().message,
      HasSubstr("--cluster 'pref': no cluster has this name; did you mean 'perf'? Known: local, perf, staging."));
  variables[kClusterVariable] = "locl";
  EXPECT_THAT(clusters.choose("").error().message, HasSubstr("BELLWETHER_CLUSTER 'locl'"));
}

TEST_F(ClusterChoice, the_list_is_kept_and_replaced_at_once) {
  KnownClusters clusters = known();
  ASSERT_TRUE(clusters.remember("perf", "/a"));
  clusters.use("perf");
  ASSERT_TRUE(clusters.write());
  EXPECT_EQ(known().choose("")->path, "/a");
  struct stat first {};
  ASSERT_EQ(::stat(list().c_str(), &first), 0);
  clusters = known();
  ASSERT_TRUE(clusters.remember("fast", "/a")) << "another name of the same place replaces it";
  clusters.forget("none");
  clusters.use("fast");
  ASSERT_TRUE(clusters.write());
  struct stat second {};
  ASSERT_EQ(::stat(list().c_str(), &second), 0);
  EXPECT_NE(first.st_ino, second.st_ino) << "written in place, half of it could be read";
  clusters = known();
  EXPECT_FALSE(clusters.has("perf"));
  EXPECT_EQ(clusters.choose("")->name, "fast");
  clusters.forget("fast");
  EXPECT_EQ(clusters.choose("")->name, "local") << "what is forgotten is not current";
}

TEST_F(ClusterChoice, names_are_unique_and_two_of_them_are_taken) {
  KnownClusters clusters = known();
  ASSERT_TRUE(clusters.remember("perf", "/a"));
  EXPECT_THAT(clusters.remember("perf", "/b").error().message, HasSubstr("already the name of the cluster in '/a'"));
  EXPECT_TRUE(clusters.remember("perf", "/a"));
  for (const char* name : {"current", "a b", "", "a/b"}) EXPECT_FALSE(clusters.remember(name, "/b")) << name;
  EXPECT_FALSE(clusters.remember("local", "/b"));
  EXPECT_TRUE(clusters.remember("local", local()));
}

TEST_F(ClusterChoice, a_list_that_cannot_be_read_is_refused_with_its_place) {
  std::filesystem::create_directories(folder_.path("config/bellwether"));
  for (const char* text : {"{", "[]", R"({"format": 2, "current": "", "clusters": {}})",
                           R"({"format": 1, "current": 7, "clusters": {}})", R"({"format": 1, "clusters": {}})"}) {
    folder_.file("config/bellwether/clusters.json", text);
    const auto read = KnownClusters::read(&variable_of_test);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Errc::kInvalid);
    EXPECT_THAT(read.error().message, HasSubstr(list()));
  }
}

TEST_F(ClusterChoice, without_a_home_only_paths_are_known) {
  variables = {{"XDG_CONFIG_HOME", "not/absolute"}};
  KnownClusters clusters = known();
  EXPECT_FALSE(clusters.choose(""));
  EXPECT_TRUE(clusters.choose("/a"));
  EXPECT_EQ(clusters.write().error().code, Errc::kNotFound);
  variables = {{"HOME", "/home/ada"}};
  EXPECT_EQ(known().choose("")->path, "/home/ada/.local/state/bellwether/cluster");
}

TEST_F(ClusterChoice, a_cluster_is_asked_by_a_file_and_one_on_this_machine_only_while_it_runs) {
  const KnownClusters clusters = known();
  EXPECT_EQ(cluster_to_ask(folder_.path("client.yaml"), clusters)->settings, folder_.path("client.yaml"));
  EXPECT_EQ(cluster_to_ask(folder_.path("none.yaml"), clusters).error().code, Errc::kNotFound);
  const auto message = [&](const std::string& given) {
    const auto asked = cluster_to_ask(given, clusters);
    return !asked && asked.error().code == Errc::kUnreachable ? asked.error().message : "it is asked";
  };
  EXPECT_EQ(message(""), "there is no local cluster in '" + local() + "': start one with `bellwether cluster up`");
  make_cluster(local(), wire::Role::kWorker);
  EXPECT_EQ(message(""), "the local cluster is down: start it with `bellwether cluster up`") << "no manager runs";
  make_cluster(local(), wire::Role::kManager);
  EXPECT_EQ(cluster_to_ask("", clusters)->settings, local() + "/client.yaml");
  const std::string other = folder_.path("a flock");
  make_cluster(other, wire::Role::kWorker);
  EXPECT_EQ(message(other), "the local cluster '" + other +
                                "' is down: start it with `bellwether cluster up --cluster '" + other + "'`");
}

TEST_F(ClusterChoice, a_command_is_told_with_the_option_where_it_needs_one) {
  KnownClusters clusters = known();
  ASSERT_TRUE(clusters.remember("flock", "/a"));
  EXPECT_EQ(clusters.option_for(*clusters.choose("local")), "");
  EXPECT_EQ(clusters.option_for(*clusters.choose("flock")), " --cluster flock");
  clusters.use("flock");
  EXPECT_EQ(clusters.option_for(*clusters.choose("local")), " --cluster local");
  EXPECT_EQ(clusters.option_for(*clusters.choose("/a")), "");
}

}  // namespace
}  // namespace bellwether::cli

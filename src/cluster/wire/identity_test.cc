#include "cluster/wire/identity.h"

#include <gmock/gmock.h>

namespace bellwether::wire {
namespace {

TEST(Roles, every_pair_is_as_the_matrix_says) {
  struct Row {
    Role from;
    std::array<bool, kRoles> to;  // client, gate, manager, worker, operator
  };
  const std::array<Row, kRoles> rows = {{{Role::kClient, {false, true, false, false, false}},
                                         {Role::kGate, {true, true, true, false, false}},
                                         {Role::kManager, {true, true, true, true, false}},
                                         {Role::kWorker, {false, false, true, true, false}},
                                         {Role::kOperator, {false, true, true, true, false}}}};
  for (const Row& row : rows) {
    for (const Role to : {Role::kClient, Role::kGate, Role::kManager, Role::kWorker, Role::kOperator}) {
      EXPECT_EQ(may_connect(row.from, to, true), row.to[static_cast<std::size_t>(to)])
          << to_string(row.from) << " to " << to_string(to) << " with gates";
      const bool direct = row.from == Role::kClient && to == Role::kManager;
      EXPECT_EQ(may_connect(row.from, to, false), direct || row.to[static_cast<std::size_t>(to)])
          << to_string(row.from) << " to " << to_string(to) << " without gates";
    }
  }
}

TEST(Roles, names_go_both_ways) {
  for (const Role role : {Role::kClient, Role::kGate, Role::kManager, Role::kWorker, Role::kOperator}) {
    EXPECT_EQ(parse_role(to_string(role)), role);
  }
  EXPECT_FALSE(parse_role("Worker"));
  EXPECT_FALSE(parse_role(""));
}

TEST(Names, have_few_characters_and_a_limit) {
  EXPECT_TRUE(is_name("eu-west_1.a"));
  EXPECT_TRUE(is_name(std::string(64, 'x')));
  for (const std::string& bad : {std::string(), std::string(65, 'x'), std::string("a b"), std::string("a/b"),
                                 std::string("a\nb"), std::string("\xc3\xa9")}) {
    EXPECT_FALSE(is_name(bad)) << bad;
  }
  EXPECT_THAT(check_identity({"c", "e", "d!", "n", Role::kGate}).error().message, testing::HasSubstr("datacenter"));
  EXPECT_TRUE(check_identity({"c", "e", "d", "n", Role::kGate}));
}

TEST(Hashes, tell_a_cluster_from_its_environment) {
  EXPECT_NE(cluster_hash("ab", "c"), cluster_hash("a", "bc"));
  EXPECT_EQ(cluster_hash("a", "b"), cluster_hash("a", "b"));
  EXPECT_NE(node_hash("n1"), node_hash("n2"));
}

TEST(Claims, are_read_from_a_uri) {
  const auto claims = parse_claims("bellwether://flock/prod/dc1/role/worker/node/w1");
  ASSERT_TRUE(claims);
  EXPECT_TRUE(claims_allow(*claims, {"flock", "prod", "dc1", "w1", Role::kWorker}));
  EXPECT_FALSE(claims_allow(*claims, {"flock", "prod", "dc1", "w1", Role::kManager}));
  EXPECT_FALSE(claims_allow(*claims, {"flock", "prod", "dc2", "w1", Role::kWorker}));
  EXPECT_FALSE(claims_allow(*claims, {"flock", "test", "dc1", "w1", Role::kWorker}));
  EXPECT_FALSE(claims_allow(*claims, {"herd", "prod", "dc1", "w1", Role::kWorker}));
  EXPECT_FALSE(claims_allow(*claims, {"flock", "prod", "dc1", "w2", Role::kWorker}));
  EXPECT_TRUE(claims_allow_role(*claims, {"flock", "prod", "dc1", "w2", Role::kWorker}));
}

TEST(Claims, a_star_is_good_in_every_datacenter) {
  const auto claims = parse_claims("bellwether://flock/prod/*/role/gate/node/g1");
  ASSERT_TRUE(claims);
  EXPECT_TRUE(claims_allow(*claims, {"flock", "prod", "dc7", "g1", Role::kGate}));
}

TEST(Claims, any_name_is_good_for_those_who_only_ask) {
  for (const Role role : {Role::kClient, Role::kOperator}) {
    const auto claims = parse_claims("bellwether://flock/prod/*/role/" + std::string(to_string(role)) + "/node/*");
    ASSERT_TRUE(claims);
    EXPECT_TRUE(claims_allow(*claims, {"flock", "prod", "dc1", "anybody", role}));
  }
  for (const char* role : {"gate", "manager", "worker"}) {
    EXPECT_FALSE(parse_claims("bellwether://flock/prod/*/role/" + std::string(role) + "/node/*")) << role;
  }
}

TEST(Claims, without_a_name_they_allow_nothing) {
  const auto claims = parse_claims("bellwether://flock/prod/dc1/role/worker");
  ASSERT_TRUE(claims);
  EXPECT_TRUE(claims_allow_role(*claims, {"flock", "prod", "dc1", "w1", Role::kWorker}));
  EXPECT_FALSE(claims_allow(*claims, {"flock", "prod", "dc1", "w1", Role::kWorker}));
}

TEST(Claims, anything_else_claims_nothing) {
  for (const char* bad :
       {"", "bellwether://", "https://flock/prod/dc1/role/worker", "bellwether://flock/prod/dc1/worker",
        "bellwether://flock/prod/dc1/role/boss", "bellwether://flock/prod/dc1/role/worker/",
        "bellwether://*/p/d/role/gate", "bellwether://flock/prod/dc1/roll/worker",
        "bellwether://flock//dc1/role/worker", "bellwether://flock/prod/dc1/role/worker/node/",
        "bellwether://flock/prod/dc1/role/worker/node", "bellwether://flock/prod/dc1/role/worker/name/w1",
        "bellwether://flock/prod/dc1/role/worker/node/w1/w2"}) {
    EXPECT_FALSE(parse_claims(bad)) << bad;
  }
}

}  // namespace
}  // namespace bellwether::wire

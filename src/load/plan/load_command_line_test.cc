// What the command line and the environment change of a scenario, and the hosts that a run may have.
#include <gtest/gtest.h>

#include "load/plan/load.h"
#include "load/plan/load_testing.h"

namespace bellwether::plan {
namespace {

TEST(Load, a_set_wins_over_the_environment_and_the_environment_over_the_file) {
  TestSources sources(R"yaml(
env: {HOST: file, PATH_: file, LAST: file, BASE: "http://${HOST}.${PATH_}.${LAST}.${TLD}", VUS: 3, SECRET:}
workflows:
  w: {vus: "${VUS}", duration: "${LENGTH}", steps: {a: {http: {get: "${BASE}/${SECRET}", headers: {X: "$${HOST}"}}}}}
)yaml");
  sources.sets = {{"HOST", "set"}, {"LENGTH", "5s"}};
  sources.world.variables = {{"HOST", "environment"}, {"PATH_", "environment"}, {"TLD", "org"}, {"SECRET", "s"}};
  const Plan plan = plan_from(sources);
  EXPECT_EQ(show(call_of(plan, 0).url), "http://set.environment.file.org/s");
  EXPECT_EQ(show(call_of(plan, 0).headers.at(0).value), "${HOST}");
  EXPECT_EQ(std::get<ConstantVus>(plan.workflows[0].executor).vus, 3u);
  EXPECT_EQ(std::get<ConstantVus>(plan.workflows[0].executor).duration, Duration::seconds(5));
}

TEST(Load, overrides_apply_to_every_workflow_that_has_the_setting) {
  TestSources sources(R"yaml(
workflows:
  open: {executor: constant-arrival-rate, rate: 5/s, vus: 2, duration: 1s, steps: {a: {http: {get: "http://h/"}}}}
  closed: {vus: 2, duration: 1s, steps: {a: {http: {get: "http://h/"}}}}
  once: {steps: {a: {action: {set: {x: "1"}}}}}
)yaml");
  sources.overrides = {.vus = 7, .duration = Duration::seconds(9), .rate_per_s = 100};
  const Plan plan = plan_from(sources);
  const auto& open = std::get<ArrivalRate>(plan.workflows[0].executor);
  EXPECT_EQ(open.users.most, 7u);
  EXPECT_EQ(open.stages.at(0).duration, Duration::seconds(9));
  EXPECT_DOUBLE_EQ(open.stages.at(0).to_per_s, 100);
  const auto& closed = std::get<ConstantVus>(plan.workflows[1].executor);
  EXPECT_EQ(closed.vus, 7u);
  EXPECT_EQ(closed.duration, Duration::seconds(9));
}

TEST(Load, the_command_line_may_count_iterations_in_place_of_any_load) {
  TestSources sources(R"yaml(
workflows:
  open: {executor: constant-arrival-rate, rate: 5/s, vus: 2, duration: 1s, steps: {a: {http: {get: "http://h/"}}}}
  shared: {vus: 9, iterations: 90, steps: {a: {http: {get: "http://h/"}}}}
  each: {executor: per-vu-iterations, vus: 9, iterations: 90, steps: {a: {http: {get: "http://h/"}}}}
  once: {steps: {a: {action: {set: {x: "1"}}}}}
)yaml");
  sources.overrides.load.iterations = 4;
  const Plan plan = plan_from(sources);
  const auto users_and_count = [&](std::size_t w) {
    const auto& counted = std::get<Iterations>(plan.workflows[w].executor);
    EXPECT_EQ(counted.iterations, 4u);
    return std::pair(counted.vus, counted.shared);
  };
  EXPECT_EQ(users_and_count(0), std::pair(1u, true));
  EXPECT_EQ(users_and_count(1), std::pair(4u, true));
  EXPECT_EQ(users_and_count(2), std::pair(9u, false));
  EXPECT_TRUE(std::holds_alternative<Once>(plan.workflows[3].executor));
}

TEST(Load, the_command_line_may_give_stages_in_place_of_any_load) {
  const std::string text = R"yaml(
workflows:
  open: {executor: constant-arrival-rate, rate: 5/s, vus: 2, duration: 1s, steps: {a: {http: {get: "http://h/"}}}}
  closed: {vus: 2, duration: 1s, steps: {a: {http: {get: "http://h/"}}}}
)yaml";
  TestSources users(text);
  users.overrides = {.vus = 3, .load = {.iterations = {}, .stages = {{Duration::seconds(2), 30}}}};
  for (const Workflow& workflow : plan_from(users).workflows) {
    const auto& course = std::get<RampingVus>(workflow.executor);
    EXPECT_EQ(course.start_vus, 3u);
    EXPECT_EQ(course.stages.at(0).target, 30u);
  }
  TestSources rates(text);
  rates.overrides = {.rate_per_s = 10,
                     .load = {.iterations = {}, .stages = {{Duration::seconds(2), 30}}, .of_rates = true}};
  const Plan plan = plan_from(rates);
  const uint32_t most[] = {2, scenario::kUsersOfRate};
  for (std::size_t w = 0; w < 2; ++w) {
    const auto& rising = std::get<ArrivalRate>(plan.workflows[w].executor);
    EXPECT_EQ(rising.users.most, most[w]);
    EXPECT_DOUBLE_EQ(rising.stages.at(0).from_per_s, 10);
    EXPECT_DOUBLE_EQ(rising.stages.at(0).to_per_s, 30);
  }
}

TEST(Load, tags_of_the_run_yield_to_those_of_the_scenario_and_thresholds_select_them) {
  TestSources sources(R"yaml(
workflows:
  w:
    vus: 1
    duration: 1s
    tags: {page: cart}
    steps: {a: {http: {get: "http://h/"}}, b: {tags: {build: "1"}, http: {get: "http://h/"}}}
thresholds: {"http_reqs{build:7}": "count>0"}
)yaml");
  sources.overrides.tags = {{"build", "7"}, {"page", "all"}};
  const Plan plan = plan_from(sources);
  EXPECT_EQ(plan.tags, (std::vector<Tag>{{"build", "7"}, {"page", "all"}}));
  EXPECT_EQ(plan.steps.at(0).tags, (std::vector<Tag>{{"page", "cart"}, {"build", "7"}}));
  EXPECT_EQ(plan.steps.at(1).tags, (std::vector<Tag>{{"build", "1"}, {"page", "cart"}}));
  EXPECT_EQ(plan.thresholds.at(0).tags, (std::vector<Tag>{{"build", "7"}}));
}

constexpr const char* kOfOneHost = "workflows: {w: {vus: 1, duration: 1s, steps: {a: {http: {get: 'http://a/'}}}}}\n";

TEST(Load, hosts_have_addresses_of_their_own_and_those_of_the_command_line_win) {
  TestSources sources(R"yaml(
defaults: {http: {hosts: {a: 10.0.0.7, b: "[::1]:80", c: "::2"}, keep_alive: false}}
workflows:
  w: {vus: 1, duration: 1s, keep_connections: false,
      steps: {a: {http: {get: "http://a/"}}, b: {http: {get: "http://b/", keep_alive: true}}}}
)yaml");
  sources.overrides.hosts = {{"a", "10.0.0.8:81"}};
  const Plan plan = plan_from(sources);
  ASSERT_EQ(plan.hosts.size(), 4u);
  EXPECT_EQ(plan.hosts[0].address, "10.0.0.7");
  EXPECT_EQ(plan.hosts[1].address, "::1");
  EXPECT_EQ(plan.hosts[1].port, 80);
  EXPECT_EQ(plan.hosts[2].address, "::2");
  EXPECT_EQ(plan.hosts[3].host, "a");
  EXPECT_EQ(plan.hosts[3].port, 81);
  EXPECT_FALSE(call_of(plan, 0).keep_alive);
  EXPECT_TRUE(call_of(plan, 1).keep_alive);
  EXPECT_FALSE(plan.workflows[0].keeps_connections);
  TestSources wrong(
      "defaults: {http: {hosts: {a: elsewhere}}}\n"
      "workflows: {w: {vus: 1, duration: 1s, steps: {a: {http: {get: 'http://a/'}}}}}\n");
  EXPECT_NE(wrong.errors().find("wrong address 'elsewhere' of host 'a'"), std::string::npos) << wrong.errors();
  for (const char* name : {"http://a", "a:80", "a b", "a..b", "", "[::1]"}) {
    TestSources named(kOfOneHost);
    named.overrides.hosts = {{name, "10.0.0.7"}};
    EXPECT_NE(named.errors().find("is no name of a host: write the name alone"), std::string::npos) << name;
  }
  for (const char* name : {"a.example.", "10.0.0.1", "::1", "Bücher.example", "my_host-1"}) {
    TestSources named(kOfOneHost);
    named.overrides.hosts = {{name, "10.0.0.7"}};
    EXPECT_EQ(named.errors(), "") << name;
  }
}

TEST(Load, local_addresses_are_single_ones_and_ranges_and_those_of_the_command_line_win) {
  const auto v4 = [](uint8_t c, uint8_t d) {
    return std::array<uint8_t, 16>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, c, d};
  };
  const std::string text =
      std::string("defaults: {http: {local_ips: [10.0.0.2, 10.0.1.77/28, 10.0.2.3-10.0.2.9]}}\n") + kOfOneHost;
  TestSources sources(text);
  EXPECT_EQ(plan_from(sources).local_ips,
            (std::vector<IpRange>{{v4(0, 2), v4(0, 2)}, {v4(1, 64), v4(1, 79)}, {v4(2, 3), v4(2, 9)}}));
  sources.overrides.local_ips = "10.0.0.9, ::1/127";
  std::array<uint8_t, 16> one{};
  one[15] = 1;
  EXPECT_EQ(plan_from(sources).local_ips, (std::vector<IpRange>{{v4(0, 9), v4(0, 9)}, {{}, one}}));
  for (const char* wrong : {"", "a", "10.0.0.1,", "10.0.0", "10.0.0.2-10.0.0.1", "10.0.0.1-::1", "10.0.0.1/33",
                            "10.0.0.1/", "::1/129", "10.0.0.1:80"}) {
    TestSources named(kOfOneHost + std::string("defaults: {http: {local_ips: '") + wrong + "'}}\n");
    EXPECT_NE(named.errors().find("is no local address: write IP, IP-IP or IP/BITS"), std::string::npos) << wrong;
  }
  for (const char* large : {"10.0.0.0/15", "::/0", "10.0.0.0/16,10.1.0.0"}) {
    TestSources named(kOfOneHost);
    named.overrides.local_ips = large;
    EXPECT_NE(named.errors().find("has more than 65536 addresses"), std::string::npos) << large;
  }
}

TEST(Load, hosts_that_no_url_has_are_named_unless_the_run_may_have_more) {
  const auto warnings = [](const std::string& url, const std::string& host) {
    TestSources sources(fmt::format(
        "defaults: {{http: {{hosts: {{{}: 10.0.0.7}}}}}}\nworkflows: {{w: {{vus: 1, duration: 1s, steps: {{a: {{http: "
        "{{get: '{}'}}}}}}}}}}\n",
        host, url));
    return host_warnings(plan_from(sources));
  };
  EXPECT_EQ(warnings("http://shop.example:81/", "shop.exmaple"),
            std::vector<std::string>{"no URL has the host 'shop.exmaple' of 'hosts' or --resolve (did you mean "
                                     "'shop.example'?)"});
  EXPECT_EQ(warnings("http://shop.example:81/", "elsewhere"),
            std::vector<std::string>{
                "no URL has the host 'elsewhere' of 'hosts' or --resolve: only a redirect could lead to it"});
  EXPECT_TRUE(warnings("http://Shop.example:81/", "shop.Example").empty());
  EXPECT_TRUE(warnings("http://[::1]:81/", "'::1'").empty());
  EXPECT_TRUE(warnings("http://bücher.example/", "Bücher.example").empty());
  EXPECT_TRUE(warnings("http://node-${vu}.example/", "node-1.example").empty());
}

}  // namespace
}  // namespace bellwether::plan

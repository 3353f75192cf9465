// Every error of a scenario, with its exact text: testdata/errors.txt. After a change of words, run with
// BW_UPDATE_GOLDEN=1 to write the file anew, and read the difference.
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

#include "load/plan/load_testing.h"

namespace bellwether::plan {
namespace {

constexpr const char* kFile = "src/load/plan/testdata/errors.txt";

// "=== name", the scenario, "---", what is printed.
struct Case {
  std::string name;
  std::string scenario;
  std::string expected;
};

std::vector<Case> read_cases() {
  std::vector<Case> cases;
  std::ifstream file(kFile);
  bool in_scenario = true;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("=== ")) {
      cases.push_back({line.substr(4), "", ""});
      in_scenario = true;
    } else if (line == "---") {
      in_scenario = false;
    } else if (!cases.empty()) {
      (in_scenario ? cases.back().scenario : cases.back().expected) += line + "\n";
    }
  }
  return cases;
}

TEST(Errors, are_told_exactly_as_recorded) {
  const std::vector<Case> cases = read_cases();
  ASSERT_GT(cases.size(), 50u) << kFile << " is read from the root of the repository";
  std::string rewritten;
  for (const Case& each : cases) {
    TestSources sources(each.scenario);
    sources.world.files = {{"users.csv", "name,pass\nann,1\nbob,2\n"},
                           {"bad.csv", "name,pass\nann,1\n\"bob\"x,2\n"},
                           {"people.json", "[{\"name\": \"ann\", \"address\": {\"city\": \"Bonn\"}}]"},
                           {"bad.jsonl", "{\"name\": 1}\n{\"name\" 2}\n"},
                           {"body.txt", "text"}};
    const std::string told = sources.errors();
    EXPECT_NE(told, "") << each.name << " is accepted";
    rewritten += "=== " + each.name + "\n" + each.scenario + "---\n" + told;
    if (std::getenv("BW_UPDATE_GOLDEN") == nullptr) EXPECT_EQ(told, each.expected) << each.name;
  }
  if (std::getenv("BW_UPDATE_GOLDEN") != nullptr) std::ofstream(kFile) << rewritten;
}

std::string minimal(const std::string& extra = "") {
  return "workflows: {w: {vus: 1, duration: 1s, steps: {a: {http: {get: 'http://h/'}}}}}\n" + extra;
}

TEST(Errors, of_the_command_line_have_no_place_in_the_file) {
  TestSources sources("env: {TOKEN: x}\n" + minimal());
  sources.sets = {{"TOKNE", "y"}, {"a-b", "z"}};
  EXPECT_EQ(sources.errors(),
            "shop.yaml: --set 'TOKNE': the scenario mentions no such name\n  did you mean 'TOKEN'?\n"
            "shop.yaml: --set 'a-b' cannot be the name of a value\n"
            "  expected: NAME=VALUE, the name of letters, digits and _\n");
}

TEST(Errors, of_overrides_name_the_flag) {
  TestSources rate(minimal());
  rate.overrides.rate_per_s = 5;
  EXPECT_EQ(rate.errors(),
            "shop.yaml: --rate fits no workflow of this scenario\n"
            "  expected: a workflow with executor: constant-arrival-rate\n");
  TestSources once("workflows: {w: {steps: {a: {action: {set: {x: '1'}}}}}}");
  once.overrides = {.vus = 1, .duration = Duration::seconds(1), .rate_per_s = std::nullopt};
  EXPECT_EQ(once.errors(),
            "shop.yaml: --vus fits no workflow of this scenario\n"
            "  expected: a workflow with requests and a fixed number of users\n"
            "shop.yaml: --duration fits no workflow of this scenario\n"
            "  expected: a workflow with requests and a duration, not stages or iterations\n");
}

TEST(Errors, an_empty_file_is_one) {
  const std::string told = "shop.yaml:1:1: the scenario is empty\n  expected: a map with the key 'workflows'\n";
  EXPECT_EQ(TestSources("").errors(), told);
  EXPECT_EQ(TestSources("# nothing yet\n").errors(), told);
  EXPECT_EQ(TestSources("---\n").errors(), told);
}

TEST(Errors, a_compiled_program_is_no_scenario_and_neither_are_bytes) {
  const std::string told =
      "shop.yaml:1:1: this is a compiled program\n"
      "  expected: a scenario as text (YAML)\n"
      "  only text is read here, and nothing is executed: `bellwether run` and `bellwether job submit` ask a program "
      "what its scenario is\n";
  EXPECT_EQ(TestSources(std::string("\x7f\x45LF\x02\x01\x01\x00", 8)).errors(), told);
  EXPECT_EQ(TestSources("!<arch>\nwf.o/").errors(), told);
  EXPECT_EQ(TestSources(std::string("a: 1\nbc\0", 8)).errors(),
            "shop.yaml:2:3: this is no text: it has a byte that is zero\n  expected: text in UTF-8\n");
  EXPECT_EQ(TestSources(std::string("\0", 1)).errors(),
            "shop.yaml:1:1: this is no text: it has a byte that is zero\n  expected: text in UTF-8\n");
}

TEST(Errors, as_many_are_told_at_once_as_are_independent) {
  std::string steps;
  for (int i = 0; i < 40; ++i) steps += "      s" + std::to_string(i) + ": {http: {get: /x, timeout: 5}}\n";
  TestSources sources("workflows:\n  w:\n    vus: 1\n    duration: 1s\n    steps:\n" + steps);
  const auto plan = sources.load();
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().size(), scenario::Diagnostics::kMaxDiagnostics);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Errors, of_names_are_told_beside_errors_of_keys) {
  const std::string told = TestSources(R"yaml(
defaults: {http: {bsae: "http://h"}}
workflows:
  w:
    vus: 1
    duratoin: 1s
    steps:
      a: {http: {get: "/${nobody}", boddy: x}, extract: {t: {json: "$.["}}}
      b: {after: [a], thnk: 1s, http: {get: "/${t}/${a.stats}/${other.status}"}}
      c: {after: [d], http: {get: "http://h/${rnadom(1, 2)}"}}
)yaml")
                               .errors();
  for (const char* one :
       {"2:19: unknown key 'bsae'", "6:5: unknown key 'duratoin'", "8:23: unknown name 'nobody'",
        "8:37: unknown key 'boddy'", "'$.[' is no JSON path", "9:23: unknown key 'thnk'", "step 'a' makes no 'stats'",
        "unknown step 'other'", "step 'w.c' comes after 'd'", "unknown function 'rnadom'"}) {
    EXPECT_EQ(count_of(told, one), 1u) << one << "\n" << told;
  }
  EXPECT_EQ(count_of(told, "shop.yaml:"), 10u) << told;
}

TEST(Errors, that_another_one_explains_are_not_told) {
  const std::string told = TestSources(R"yaml(
evn: {BASE: "http://h"}
workflows:
  w:
    vus: 1
    duration: 1s
    steps:
      a: {http: {get: "${BASE}/"}, extarct: {token: {json: $.t}}}
      b: {http: {get: "${BASE}/${token}/${a.token}"}}
)yaml")
                               .errors();
  EXPECT_EQ(count_of(told, "shop.yaml:"), 2u) << told;
  EXPECT_EQ(count_of(told, "unknown key 'evn'"), 1u) << told;
  EXPECT_EQ(count_of(told, "unknown key 'extarct'"), 1u) << told;
  const std::string order = TestSources(R"yaml(
workflows:
  w:
    vus: 1
    duration: 1s
    steps:
      a: {http: {get: "http://h/"}}
      b: {after: [aa], http: {get: "http://h/${a.status}"}}
      c: {after: [b], http: {get: "http://h/${a.status}"}}
)yaml")
                                .errors();
  EXPECT_EQ(count_of(order, "shop.yaml:"), 1u) << order;
  EXPECT_EQ(count_of(order, "step 'w.b' comes after 'aa'"), 1u) << order;
}

TEST(Errors, of_one_name_are_told_once_with_their_places) {
  const std::string told = TestSources(R"yaml(
defaults: {http: {headers: {X: "${nobody}"}}}
workflows:
  w:
    vus: 1
    duration: 1s
    steps:
      a: {http: {get: "http://h/${nobody}${nobody}"}}
      b: {http: {get: "http://h/${nobody}/${a.token}"}}
      c: {after: [a], http: {get: "http://h/${a.token}"}}
)yaml")
                               .errors();
  EXPECT_EQ(count_of(told, "unknown name 'nobody'"), 1u) << told;
  EXPECT_EQ(count_of(told, "shop.yaml:2:32: unknown name 'nobody'"), 1u) << told;
  EXPECT_EQ(count_of(told, "\n  also at shop.yaml:8:23, shop.yaml:9:23\n"), 1u) << told;
}

std::string workflow_of(const std::string& steps) {
  return "workflows:\n  w:\n    vus: 1\n    duration: 1s\n    steps:\n" + steps;
}

TEST(Errors, of_one_name_say_nothing_that_fits_only_one_of_its_places) {
  const std::string told = TestSources(workflow_of(R"yaml(
      a:
        http:
          headers: {X: "${tok.b}"}
          get: "http://h/${tok.a}"
      b: {http: {get: "http://h/${x}${x.status}"}}
)yaml"))
                               .errors();
  EXPECT_EQ(count_of(told, "shop.yaml:9:24: unknown step 'tok' in a template"), 1u) << told;
  EXPECT_EQ(count_of(told, "\n  also at shop.yaml:10:16\n"), 1u) << told;
  EXPECT_EQ(count_of(told, "unknown name 'x' in a template"), 1u) << told;
  EXPECT_EQ(count_of(told, "unknown step 'x' in a template"), 1u) << told;
}

TEST(Errors, that_join_an_earlier_one_explain_others_too) {
  const std::string base = TestSources(workflow_of(R"yaml(
      a: {http: {get: "${BASE}/x"}}
      b: {http: {get: "${BASE}/y"}}
)yaml"))
                               .errors();
  EXPECT_EQ(count_of(base, "unknown name 'BASE'"), 1u) << base;
  EXPECT_EQ(count_of(base, "wrong URL"), 0u) << base;
  const std::string group = TestSources(workflow_of(R"yaml(
      a: {http: {get: "http://h/"}, extract: &e {t: {regex: "(", group: 1}}}
      b: {http: {get: "http://h/"}, extract: *e}
)yaml"))
                                .errors();
  EXPECT_EQ(count_of(group, "is no regular expression"), 1u) << group;
  EXPECT_EQ(count_of(group, "has no group"), 0u) << group;
  // The second workflow has the error of the first, too: of its errors, only independent ones show.
  const std::string tags = TestSources(R"yaml(
workflows:
  w1: {vus: 1, duration: 1s, tags: &t {step: x}, steps: {a: {http: {get: "http://h/"}}}}
  w2: {vus: 1, duration: 1s, tags: *t, steps: {a: {http: {get: "nowhere"}}}}
)yaml")
                               .errors();
  EXPECT_EQ(count_of(tags, "shop.yaml:"), 1u) << tags;
}

TEST(Errors, of_an_order_that_is_not_known_have_no_consequence) {
  const std::string steps = R"yaml(
      a: {http: {get: "http://h/"}, extract: {t: {regex: "a"}}}
      b: {after: [a], http: {get: "http://h/"}, extract: {t: {regex: "b"}}}
)yaml";
  for (const char* last : {R"(      c: {after: [aa], http: {get: "http://h/${t}"}})",
                           R"(      c: {after: [aa], steps: {d: {http: {get: "http://h/${t}"}}}})",
                           R"(      c: {after: [c], http: {get: "http://h/${t}"}})"}) {
    const std::string told = TestSources(workflow_of(steps + last + "\n")).errors();
    EXPECT_EQ(count_of(told, "shop.yaml:"), 1u) << told;
    EXPECT_EQ(count_of(told, "is made by step"), 0u) << told;
  }
}

TEST(Errors, of_steps_beyond_the_limit_do_not_make_them_unknown) {
  std::string steps = "      a: {after: [s1500], http: {get: 'http://h/${s1500.body}'}}\n";
  for (int i = 0; i < 1'600; ++i) steps += "      s" + std::to_string(i) + ": {http: {get: 'http://h/'}}\n";
  const std::string other = ": {vus: 1, duration: 1s, steps: {a: {http: {get: 'http://h/'}}}}\n";
  std::string text = workflow_of(steps) + "  y" + other;
  text.insert(text.find("  w:"), "  x: {depends: [y], " + other.substr(3));
  const std::string told = TestSources(text).errors();
  EXPECT_EQ(count_of(told, "shop.yaml:"), 1u) << told;
  EXPECT_EQ(count_of(told, "the scenario is too large"), 1u) << told;
}

TEST(Errors, of_a_misspelt_work_are_told_once) {
  const std::string told = TestSources(workflow_of(R"yaml(
      login: {htp: {get: "http://h/"}}
      b: {after: [login], http: {get: "http://h/${login.body}"}}
)yaml"))
                               .errors();
  EXPECT_EQ(count_of(told, "shop.yaml:"), 1u) << told;
  EXPECT_EQ(count_of(told, "unknown key 'htp'"), 1u) << told;
}

// With a search among all names for each mention, it does not end within the limit of tests.
TEST(Errors, of_names_among_thousands_are_found) {
  std::string sets;
  for (int i = 0; i < 9'000; ++i) sets += "somename" + std::to_string(i) + "xyz: v, ";
  std::string one;
  std::string different;
  for (int i = 0; i < 20'000; ++i) one += "${nobodyhasthis}";
  std::string unread = "    foo: [nobodyhasthis";
  for (int i = 0; i < 2'000; ++i) {
    different += "${nobodyhas" + std::to_string(i) + "}";
    unread += ", nobodyhas" + std::to_string(i);
  }
  const std::string set = "      s: {action: {set: {" + sets + "last: v}}}\n";
  for (const std::string& body : {one, different}) {
    // With the second, what is misspelt may be what makes the values.
    for (const std::string& wrong : {std::string(), unread + "]\n"}) {
      std::string text =
          workflow_of(set + "      a: {after: [s], http: {post: 'http://h/', body: \"" + body + "\"}}\n");
      text.insert(text.find("    steps:"), wrong);
      EXPECT_NE(TestSources(text).errors(), "");
    }
  }
}

TEST(Errors, limits_hold_for_what_is_generated) {
  std::string steps;
  for (int i = 0; i < 1'001; ++i) steps += "      s" + std::to_string(i) + ": {http: {get: 'http://h/'}}\n";
  const std::string head = "  w: {vus: 1, duration: 1s, steps: {a: {http: {get: 'http://h/'}}}}\n";
  TestSources many("workflows:\n" + head + "  v:\n    vus: 1\n    duration: 1s\n    steps:\n" + steps);
  EXPECT_EQ(many.errors(),
            "shop.yaml:3:3: the scenario is too large\n  expected: at most 1000 steps, with the names of their "
            "requests, and 10000 checks\n");
  std::string doubling = "env:\n  V0: xxxxxxxxxxxxxxxx\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "${V" + std::to_string(i - 1) + "}";
    doubling += "  V" + std::to_string(i) + ": \"" + before + before + "\"\n";
  }
  EXPECT_NE(TestSources(doubling + minimal()).errors().find("a value is longer than 1 MiB"), std::string::npos);
}

TEST(Errors, the_constant_text_of_a_plan_is_limited) {
  std::string body;
  for (int i = 0; i < 100; ++i) body += "${BIG}";
  TestSources sources(
      "env: {BIG: x}\nworkflows: {w: {vus: 1, duration: 1s, steps: {a: {http: {post: 'http://h/', body: \"" + body +
      "\"}}}}}\n");
  sources.sets = {{"BIG", std::string(1u << 20, 'x')}};
  EXPECT_EQ(sources.errors(),
            "shop.yaml:2:83: the texts of the scenario, names replaced and files read, are too long\n"
            "  expected: at most 64 MiB together\n");
}

}  // namespace
}  // namespace bellwether::plan

// Scenarios of several files.
#include <gmock/gmock.h>

#include "load/plan/feeder.h"
#include "load/plan/load.h"
#include "load/plan/load_testing.h"

namespace bellwether::plan {
namespace {

using testing::HasSubstr;

constexpr const char* kLoadIncludeShop = R"yaml(
include: [common/base.yaml, checks.yaml]
env: {CART: "${BASE}/cart"}
defaults: {http: {headers: {X-Own: shop}}}
workflows:
  buy:
    vus: 1
    duration: 1s
    steps:
      cart: {http: {get: "${CART}/${users.name}", body: {file: pay.json}}}
)yaml";

struct Shop : TestSources {
  explicit Shop(std::string text = kLoadIncludeShop) : TestSources(std::move(text)) {
    file_name = "load/shop.yaml";
    world.files = {{"common/base.yaml",
                    "include: more/inner.yaml\n"
                    "env: {BASE: \"${ROOT}/v1\"}\n"
                    "data: {users: {csv: users.csv}}\n"
                    "defaults: {http: {timeout: 5s, headers: {X-Base: base}}}\n"},
                   {"common/more/inner.yaml",
                    "env:\n  ROOT: http://h\n"
                    "workflows:\n  warm: {steps: {s: {action: {set: {x: y}}}}}\n"
                    "  ping: {vus: 1, duration: 1s, steps: {p: {http: {post: '/p', body: {file: ping.txt}}}}}\n"},
                   {"checks.yaml", "thresholds: {http_req_failed: ['rate<0.01']}\ndefaults:\n"},
                   {"common/users.csv", "name\nann\n"},
                   {"common/more/ping.txt", "ping!"},
                   {"pay.json", "{}"}};
  }
};

std::vector<std::string> names(const Plan& plan) {
  std::vector<std::string> out;
  for (const StepInfo& step : plan.steps) out.push_back(step.name);
  return out;
}

TEST(LoadInclude, files_are_put_together_and_what_they_name_lies_beside_them) {
  Shop shop;
  shop.text.insert(shop.text.find("headers"), "base: \"${ROOT}\", ");
  const auto plan = shop.load();
  ASSERT_TRUE(plan) << shop.errors();
  EXPECT_THAT(names(*plan), testing::ElementsAre("warm.s", "ping.p", "buy.cart"));
  const auto& cart = std::get<HttpCall>(plan->workflows[2].steps[0].work);
  EXPECT_EQ(show(cart.url), "http://h/v1/cart/{slot 0|url}");
  EXPECT_EQ(cart.timeout, Duration::seconds(5));
  ASSERT_EQ(cart.headers.size(), 2u);
  EXPECT_EQ(cart.headers[0].name + " " + cart.headers[1].name, "X-Base X-Own");
  EXPECT_EQ(show(*std::get<HttpCall>(plan->workflows[1].steps[0].work).body), "ping!");
  EXPECT_EQ(plan->workflows[2].feeds.at(0).feeder->rows(), 1u);
  EXPECT_EQ(plan->thresholds.size(), 1u);
}

TEST(LoadInclude, a_bundle_has_all_files) {
  Shop shop;
  shop.text.insert(shop.text.find("headers"), "base: \"${ROOT}\", ");
  shop.outside = &shop.world;
  const auto made = bundle_scenario(shop);
  ASSERT_TRUE(made);
  shop.world.files.clear();
  const auto again = plan_of(made->bundle);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(names(*again), names(made->plan));
}

TEST(LoadInclude, a_variable_may_be_mentioned_in_any_of_the_files) {
  Shop shop;
  shop.world.files["checks.yaml"] = "env: {X: \"${OTHER}\"}\n";
  shop.text.insert(shop.text.find("headers"), "base: \"${ROOT}\", ");
  shop.sets = {{"OTHER", "1"}};
  EXPECT_EQ(shop.errors(), "");
}

TEST(LoadInclude, what_is_wrong_in_a_file_names_that_file) {
  Shop shop;
  shop.world.files["common/more/inner.yaml"] =
      "workflows:\n  w:\n    vus: many\n    duration: 1s\n    steps: {a: {htp: {}}}\n";
  shop.world.files["checks.yaml"] = "name: x\nthresholdz: {}\n";
  EXPECT_EQ(shop.errors(),
            "load/common/base.yaml:2:13: unknown name 'ROOT' in 'env'\n"
            "  expected: an environment variable, a --set name or an entry above this one\n"
            "load/common/more/inner.yaml:3:10: wrong value of 'vus' in workflow 'w'\n"
            "  found: 'many'\n"
            "  expected: a whole number from 1 to 1000000\n"
            "load/common/more/inner.yaml:5:17: unknown key 'htp' in step 'w.a'\n"
            "  expected: one of after, if, repeat, weight, steps, choose, http, lua, native, action, check, "
            "extract, think, on_error, tags, "
            "group, metric\n"
            "  did you mean 'http'?\n"
            "load/checks.yaml:1:1: 'name' cannot stand in an included file\n"
            "  write it into the scenario itself\n"
            "load/checks.yaml:2:1: unknown key 'thresholdz' in an included file\n"
            "  expected: one of include, env, data, metrics, defaults, setup, workflows, teardown, thresholds\n"
            "  did you mean 'thresholds'?\n");
}

TEST(LoadInclude, what_is_given_twice_names_both_places) {
  Shop shop;
  shop.text.insert(shop.text.find("headers"), "base: \"${ROOT}\", ");
  shop.world.files["checks.yaml"] =
      "env: {BASE: x}\ndata: {users: {csv: a.csv}}\nworkflows: {buy: {steps: {s: {action: {set: {x: y}}}}}, warm: {}}\n"
      "defaults: {http: {timeout: 1s, headers: {X-Base: a}}}\n";
  EXPECT_EQ(shop.errors(),
            "load/shop.yaml:6:3: 'buy' in 'workflows' is given twice\n"
            "  the first time at load/checks.yaml:3:13\n"
            "load/checks.yaml:1:7: 'BASE' in 'env' is given twice\n"
            "  the first time at load/common/base.yaml:2:7\n"
            "load/checks.yaml:2:8: 'users' in 'data' is given twice\n"
            "  the first time at load/common/base.yaml:3:8\n"
            "load/checks.yaml:3:57: 'warm' in 'workflows' is given twice\n"
            "  the first time at load/common/more/inner.yaml:4:3\n"
            "load/checks.yaml:4:19: 'timeout' in 'http' is given twice\n"
            "  the first time at load/common/base.yaml:4:19\n"
            "load/checks.yaml:4:42: 'X-Base' in 'headers' is given twice\n"
            "  the first time at load/common/base.yaml:4:42\n");
}

TEST(LoadInclude, a_file_that_includes_itself_or_comes_twice_is_refused) {
  Shop cycle;
  cycle.world.files["common/more/inner.yaml"] = "include: [../../shop.yaml, ./../base.yaml]\n";
  EXPECT_THAT(cycle.errors(), HasSubstr("load/common/more/inner.yaml:1:11: the file '../../shop.yaml' includes itself\n"
                                        "  it is the scenario itself\n"
                                        "load/common/more/inner.yaml:1:28: the file './../base.yaml' includes itself\n"
                                        "  it is included at load/shop.yaml:2:11\n"));
  Shop twice;
  twice.world.files["checks.yaml"] = "include: common/more/inner.yaml\n";
  EXPECT_THAT(twice.errors(), HasSubstr("load/checks.yaml:1:10: the file 'common/more/inner.yaml' is included twice\n"
                                        "  it is included at load/common/base.yaml:1:10\n"));
}

TEST(LoadInclude, has_limits) {
  Shop deep("include: 1.yaml\n");
  Shop many("include: [a1.yaml");
  for (int i = 1; i < 30; ++i) {
    deep.world.files[std::to_string(i) + ".yaml"] = "include: " + std::to_string(i + 1) + ".yaml\n";
    many.world.files["a" + std::to_string(i) + ".yaml"] = "";
    if (i > 1) many.text += ", a" + std::to_string(i) + ".yaml";
  }
  many.text += "]\n";
  EXPECT_THAT(deep.errors(), HasSubstr("load/8.yaml:1:10: files include each other more than 8 levels deep\n"));
  EXPECT_THAT(many.errors(), HasSubstr("more than 20 files are included\n"));
}

TEST(LoadInclude, what_cannot_be_a_file_is_said) {
  Shop shop("include: [gone.yaml, {a: b}, \"${X}.yaml\", list.yaml, broken.yaml]\n");
  shop.world.files["list.yaml"] = "\n- a\n";
  shop.world.files["broken.yaml"] = "a: [\n";
  const std::string told = shop.errors();
  EXPECT_THAT(told, HasSubstr("load/shop.yaml:1:11: the file 'gone.yaml' cannot be read: no such file\n"));
  EXPECT_THAT(told, HasSubstr("load/shop.yaml:1:22: wrong value of 'include'\n  found: a map\n"));
  EXPECT_THAT(told, HasSubstr("load/shop.yaml:1:30: wrong value of 'include'\n  found: '${X}.yaml'\n"));
  EXPECT_THAT(told, HasSubstr("load/list.yaml:2:1: an included file must be a map\n"));
  EXPECT_THAT(told, HasSubstr("load/broken.yaml:2:1: this is not YAML"));
}

}  // namespace
}  // namespace bellwether::plan

#include <gmock/gmock.h>

#include "core/signature/signature.h"
#include "core/signature/signature_testing.h"
#include "load/plan/load.h"
#include "load/plan/load_testing.h"

namespace bellwether::plan {
namespace {

using testing::HasSubstr;

constexpr const char* kShop = R"yaml(
env: {BASE: "http://none", TOKEN: null, EXTRA: "${HOME}/x"}
defaults: {http: {base: "${BASE}", headers: {Authorization: "Bearer ${TOKEN}"}, tls: {ca: ca.pem}}}
workflows:
  buy:
    vus: 2
    duration: 1s
    steps:
      pay: {http: {post: "/pay", body: {file: pay.json, template: true}}}
      home: {http: {get: "/${EXTRA}"}}
)yaml";

void fill(TestSources& shop) {
  shop.world.variables = {{"BASE", "https://shop"}, {"TOKEN", "secret"}, {"HOME", "me"}, {"PATH", "/bin"}};
  shop.world.files = {{"ca.pem", "-----BEGIN CERTIFICATE-----\n"},
                      {"pay.json", "{\"vu\": ${vu}, \"token\": \"${TOKEN}\"}"},
                      {"other.txt", "not asked for"}};
  shop.sets = {{"EXTRA", "set"}};
  shop.overrides.vus = 7;
  shop.outside = &shop.world;
}

// What a request of the plan looks like, and by how many it is made.
std::string shown(const Plan& plan) {
  std::string out = plan.name;
  for (const Workflow& workflow : plan.workflows) {
    out += " " + workflow.name + " x" + std::to_string(std::get<ConstantVus>(workflow.executor).vus) + ":";
    for (const Step& step : workflow.steps) {
      const auto& call = std::get<HttpCall>(step.work);
      out += " " + call.method + " " + show(call.url) + " [" + (call.tls.ca.text == nullptr ? "" : *call.tls.ca.text) +
             "]";
      for (const Header& header : call.headers) out += " " + header.name + "=" + show(header.value);
      if (call.body) out += " " + show(*call.body);
    }
  }
  return out;
}

TEST(Bundle, makes_the_same_plan_where_the_world_is_another) {
  TestSources shop(kShop);
  fill(shop);
  const auto made = bundle_scenario(shop);
  ASSERT_TRUE(made);
  EXPECT_THAT(shown(made->plan), HasSubstr("x7: POST https://shop/pay"));
  EXPECT_THAT(shown(made->plan), HasSubstr("Bearer secret"));
  shop.world.variables.clear();
  shop.world.files.clear();
  const auto again = plan_of(made->bundle);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(shown(*again), shown(made->plan));
  EXPECT_FALSE(shop.load()) << "without the bundle there is nothing to make it of";
}

TEST(Bundle, holds_what_was_asked_for_and_nothing_else) {
  TestSources shop(kShop);
  fill(shop);
  const auto made = bundle_scenario(shop);
  ASSERT_TRUE(made);
  const auto& record = std::get<scenario::RecordedScenario>(made->bundle);
  EXPECT_EQ(record.files.size(), 2u);
  EXPECT_EQ(record.variables.size(), 2u);
  EXPECT_EQ(record.variables.at("TOKEN"), "secret");
  EXPECT_EQ(record.sets, shop.sets);
  EXPECT_EQ(record.file_name, "shop.yaml");
}

// What the world does not have is an answer too: the other machine may have it.
TEST(Bundle, remembers_what_was_not_there) {
  TestSources shop(
      "env: {BASE: \"http://default\"}\nworkflows: {w: {vus: 1, duration: 1s, steps: {a: {http: {get: "
      "\"${BASE}/\"}}}}}");
  shop.outside = &shop.world;
  const auto made = bundle_scenario(shop);
  ASSERT_TRUE(made);
  const auto& record = std::get<scenario::RecordedScenario>(made->bundle);
  ASSERT_TRUE(record.variables.contains("BASE"));
  EXPECT_EQ(record.variables.at("BASE"), std::nullopt);
  EXPECT_THAT(shown(*plan_of(made->bundle)), HasSubstr("http://default/"));
}

// A world that gives another answer each time: one that a scenario is read in must not see that.
class Restless final : public scenario::Outside {
 public:
  std::optional<std::string> env(const std::string&) const override { return std::to_string(++asked); }
  Result<std::string> read_file(const std::string&, uint64_t) const override { return std::to_string(++asked); }
  mutable int asked = 0;
};

TEST(Bundle, asks_each_question_once) {
  const Restless world;
  scenario::RecordedScenario record;
  const scenario::RecordingOutside outside(world, record);
  EXPECT_EQ(outside.env("A"), "1");
  EXPECT_EQ(outside.env("A"), "1");
  EXPECT_EQ(outside.read_file("f", 10), "2");
  EXPECT_EQ(outside.read_file("f", 10), "2");
  EXPECT_EQ(outside.read_file("f", 20), "3") << "another question: it may be too large for the one";
  const scenario::ReplayingOutside replayed(record);
  EXPECT_EQ(replayed.env("A"), "1");
  EXPECT_EQ(replayed.env("B"), std::nullopt);
  EXPECT_EQ(replayed.read_file("f", 20), "3");
  EXPECT_EQ(replayed.read_file("g", 20).error().code, Errc::kNotFound);
}

TEST(Bundle, that_makes_no_plan_says_all_that_is_wrong) {
  scenario::RecordedScenario record;
  record.file_name = "shop.yaml";
  record.text = "workflows: {w: {vus: 0, duration: 1s, steps: {a: {http: {get: x, body: {file: gone}}}}}}";
  const auto plan = plan_of(record);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Errc::kInvalid);
  EXPECT_THAT(plan.error().message, HasSubstr("shop.yaml:1:"));
  EXPECT_THAT(plan.error().message, HasSubstr("'vus'"));
}

TEST(Bundle, of_a_url_makes_its_plan_too) {
  scenario::QuickRun run{.url = "https://h/x", .method = "post", .body = "b", .vus = 3};
  run.tls_ca = "-----BEGIN CERTIFICATE-----\n";
  run.tls_ca_name = "ca.pem";
  const auto made = bundle_url(run);
  ASSERT_TRUE(made);
  EXPECT_EQ(shown(*plan_of(made->bundle)), shown(made->plan));
  EXPECT_THAT(shown(made->plan), HasSubstr("[-----BEGIN"));
  EXPECT_EQ(bundle_url({.url = "no url"}).error().code, Errc::kInvalid);
}

TEST(Certificates, that_are_none_are_told_once_however_many_steps_trust_them) {
  TestSources shop(R"yaml(
defaults: {http: {base: "https://h", tls: {ca: ca.pem}}}
workflows: {w: {vus: 1, duration: 1s, steps: {a: {http: {get: /}}, b: {http: {get: /}}}}}
)yaml");
  shop.world.files["ca.pem"] = "a key, or nothing";
  EXPECT_EQ(shop.errors(),
            "shop.yaml:2:48: the file 'ca.pem' holds no certificate\n"
            "  expected: PEM, from -----BEGIN CERTIFICATE----- on\n");
  shop.world.files.clear();
  EXPECT_THAT(shop.errors(), HasSubstr("2:48: the file 'ca.pem' cannot be read: no such file"));
  EXPECT_EQ(bundle_url({.url = "https://h/", .tls_ca = "x", .tls_ca_name = "ca.pem"}).error().message,
            "the file 'ca.pem' holds no certificate; expected: PEM, from -----BEGIN CERTIFICATE----- on");
}

TEST(Certificates, are_shared_by_the_steps_that_trust_them) {
  TestSources shop(kShop);
  fill(shop);
  const auto plan = shop.load();
  ASSERT_TRUE(plan);
  const auto& steps = plan->workflows[0].steps;
  EXPECT_EQ(std::get<HttpCall>(steps[0].work).tls.ca, std::get<HttpCall>(steps[1].work).tls.ca);
}

// Empty: it has a plan.
std::string why_not_with_program(const std::string& bytes) {
  TestSources shop("workflows: {w: {vus: 1, duration: 1s, steps: {s: {native: {file: shop.bw, call: w.s}}}}}");
  shop.world.files = {{"shop.bw", bytes}};
  shop.outside = &shop.world;
  const auto made = bundle_scenario(shop);
  if (!made) return "no bundle";
  const auto plan = plan_of(made->bundle);
  EXPECT_EQ(plan.has_value(), check_signatures(made->plan).has_value());
  return plan ? std::string() : plan.error().message;
}

// The user who makes the bundle may have an unsigned one; other machines refuse it.
TEST(Bundle, a_compiled_program_travels_with_a_signature_of_its_bytes) {
  std::string bytes =
      signature::sign("\x7f\x45LF", {1, "0.1.0"}, *signature::SigningKey::read(signature::kTestKey, "k"));
  EXPECT_EQ(why_not_with_program(bytes), "");
  EXPECT_THAT(why_not_with_program("\x7f\x45LF"), HasSubstr("'shop.bw' is a compiled program without a signature"));
  bytes[3] = 'f';
  EXPECT_THAT(why_not_with_program(bytes), HasSubstr("the program was changed after it was signed"));
}

}  // namespace
}  // namespace bellwether::plan

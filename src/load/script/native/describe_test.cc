#include <algorithm>
#include <gmock/gmock.h>

#include "load/script/native/declarations.h"
#include "load/script/native/native_testing.h"

namespace bellwether::script::native {
namespace {

using testing::HasSubstr;

// The line in which `what` stands, from 1; 0: nowhere.
std::size_t line_of(const std::string& text, std::string_view what) {
  const std::size_t at = text.find(what);
  if (at == std::string::npos) return 0;
  return static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) + 1;
}

constexpr std::string_view kShop = R"source(#include <bellwether/workflow.h>
using namespace bellwether::workflow;
BELLWETHER_SCENARIO(R"(
  env:
    BASE: http://127.0.0.1
)")
class Shop : public Workflow {
 public:
  static constexpr Settings settings{
      .vus = 3, .duration = 90_s, .depends = "auth, warm", .more = "keep_cookies: true"};
  static void steps(Steps<Shop>& s) {
    Step look = s.step("look", &Shop::look).checks("is \"there\"").sets("a", "b");
    look.argument("x", "${vu}").more("think: 1s");

    s.step("wash", &Shop::wash).after("look");
  }

 private:
  Task<Response> look() { co_return co_await get("/"); }
  Action wash() { co_return; }
};
BELLWETHER_WORKFLOWS(Shop)
)source";

TEST(Describe, what_is_declared_stands_in_its_line) {
  Compiled compiled(kShop);
  const auto described = describe(compiled.bytes(), "a/shop.bw");
  ASSERT_TRUE(described) << described.error().message;
  const std::string& text = described->text;
  EXPECT_EQ(line_of(text, "\nenv:") + 1, 4u) << text;
  EXPECT_EQ(line_of(text, "\"Shop\": {\"vus\": 3, \"duration\": 90s, \"depends\": [auth, warm], keep_cookies: true"),
            10u)
      << text;
  EXPECT_EQ(line_of(text, R"("look": {think: 1s, native: {file: "a/shop.bw", call: "Shop.look", args: {"x": "${vu}"}, )"
                          R"(sets: ["a", "b"], checks: ["is \"there\""]}})"),
            12u)
      << text;
  EXPECT_EQ(line_of(text, R"("wash": {after: ["look"], action: {native: {file: "a/shop.bw", call: "Shop.wash"}}})"),
            15u)
      << text;
  EXPECT_THAT(described->source, HasSubstr("shop.cc"));
}

TEST(Describe, settings_in_braces_are_refused_with_their_line_and_a_remedy) {
  const std::string kept = "BELLWETHER_SCENARIO(R\"(\n  env:\n    BASE: http://127.0.0.1\n)\")";
  std::string text(kShop);
  text.replace(text.find(kept), kept.size(), "BELLWETHER_SCENARIO(\" {env: {BASE: 'http://127.0.0.1'}}\")");
  Compiled compiled(text);
  const auto described = describe(compiled.bytes(), "a/shop.bw");
  ASSERT_FALSE(described);
  EXPECT_EQ(described.error().code, Errc::kInvalid);
  EXPECT_THAT(described.error().message, HasSubstr("shop.cc:3: the text of BELLWETHER_SCENARIO is a map in braces"));
  EXPECT_THAT(described.error().message, HasSubstr("leave out the outer braces"));
}

TEST(Describe, what_is_no_program_is_refused) {
  const auto described = describe("\x7f\x45LF and nothing else", "a/shop.bw");
  ASSERT_FALSE(described);
  EXPECT_EQ(described.error().code, Errc::kInvalid);
  EXPECT_THAT(described.error().message, HasSubstr("'shop.bw' is no compiled workflow"));
}

TEST(Describe, a_program_that_is_cut_off_is_refused_before_it_is_mapped) {
  Compiled compiled(kShop);
  for (const std::size_t size : {std::size_t{100}, std::size_t{3'000}}) {
    const auto described = describe(compiled.bytes().substr(0, size), "shop.bw");
    ASSERT_FALSE(described);
    EXPECT_THAT(described.error().message, HasSubstr("'shop.bw' is cut off after"));
  }
}

TEST(Describe, a_program_of_another_version_is_refused) {
  Compiled compiled(
      "extern \"C\" __attribute__((visibility(\"default\"))) const unsigned bellwether_program_table[64] = {99, 8};\n");
  const auto described = describe(compiled.bytes(), "shop.bw");
  ASSERT_FALSE(described);
  EXPECT_EQ(described.error().code, Errc::kUnsupported);
  EXPECT_THAT(described.error().message, HasSubstr("version 99"));
}

TEST(Describe, a_program_without_workflows_is_refused) {
  Compiled compiled("int answer() { return 42; }\n");
  const auto described = describe(compiled.bytes(), "shop.bw");
  ASSERT_FALSE(described);
  EXPECT_THAT(described.error().message, HasSubstr("BELLWETHER_WORKFLOWS"));
}

}  // namespace
}  // namespace bellwether::script::native

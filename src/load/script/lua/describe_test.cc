#include <gmock/gmock.h>

#include "load/script/lua/lua_program.h"

namespace bellwether::script::lua {
namespace {

plan::Program program(std::string_view text, std::string name, std::vector<plan::Module> modules = {}) {
  return {plan::Program::Language::kLua, std::move(name), std::make_shared<const std::string>(text),
          std::move(modules)};
}

using testing::HasSubstr;

std::string described(std::string_view script, Permissions may = {}) {
  auto text = describe(program(script, "shop.lua"), "load/shop.lua", may);
  if (text) return *text;
  std::string out;
  for (const yaml::Diagnostic& one : text.error()) out += yaml::format(one) + "\n";
  return out;
}

TEST(Describe, a_script_is_a_scenario_whose_steps_it_does) {
  EXPECT_EQ(described("scenario {name = 'x', thresholds = {checks = {'rate>0.9'}}}\n"
                      "local w = workflow('w', {vus = 2, duration = '3s'})\n"
                      "w:step('a', {check = {status = {200, 304}}, checks = {'good'}}, function() end)\n"
                      "w:action('b', function() end)\n"
                      "w:step('c', {http = {get = '/c'}, after = 'a'})\n"),
            "{\"name\": \"x\", \"thresholds\": {\"checks\": [\"rate>0.9\"]}, workflows: {\n"
            "\"w\": {\"duration\": \"3s\", \"vus\": 2, steps: {\n"
            "\"a\": {\"check\": {\"status\": [200, 304]}, lua: {file: \"shop.lua\", call: \"w.a\", "
            "checks: [\"good\"]}}, \n"
            "\"b\": {action: {lua: {file: \"shop.lua\", call: \"w.b\"}}}, \n"
            "\"c\": {\"after\": \"a\", \"http\": {\"get\": \"/c\"}}}}}}\n");
}

TEST(Describe, texts_and_numbers_come_through_as_they_are) {
  EXPECT_THAT(
      described("workflow('w', {a = '\"\\\\\\n\\1é', b = 1e9, c = 0.1, d = true, e = {}}):step('s', {http = {}})"),
      HasSubstr(R"({"a": "\"\\\x0a\x01é", "b": 1000000000, "c": 0.1, "d": true, "e": {}, steps)"));
}

TEST(Describe, refuses_a_digest_that_does_not_exist) {
  EXPECT_EQ(described("local w = workflow('w', {vus = 1, duration = '1s'})\n"
                      "w:step('a', function() hash.hmac('md4', 'key', 'text') end)\n"),
            "load/shop.lua:2: hash.hmac: 'md4' is no digest; expected: one of md5, sha1, sha256, sha512\n");
}

TEST(Describe, says_in_which_line_something_is_wrong) {
  EXPECT_EQ(described("local a = 1\nx y"), "load/shop.lua:2: this is not Lua: '=' expected near 'y'\n");
  EXPECT_EQ(described("\n\nerror('no')"), "load/shop.lua:3: no\n");
  EXPECT_EQ(described("x = 1"),
            "load/shop.lua:1: the script declares no workflow\n"
            "  write: local shop = workflow(\"shop\", {vus = 1, duration = \"10s\"})\n");
  EXPECT_EQ(described("workflow('a')\nworkflow('b')"),
            "load/shop.lua:1: workflow 'a' has no steps\nload/shop.lua:2: workflow 'b' has no steps\n");
  EXPECT_EQ(described("\nscenario 'x'"), "load/shop.lua:2: scenario needs a table: scenario {name = \"NAME\"}\n");
  EXPECT_EQ(described("scenario {}\nscenario {}"),
            "load/shop.lua:2: scenario is there twice; the first is in line 1\n");
  EXPECT_EQ(described("workflow('a', {})\nworkflow('a', {})"),
            "load/shop.lua:2: workflow 'a' is there twice; the first is in line 1\n");
  EXPECT_EQ(described("\nworkflow({})"), "load/shop.lua:2: workflow needs a name: workflow(\"NAME\", …)\n");
  EXPECT_EQ(described("\nworkflow('a', 1)"),
            "load/shop.lua:2: the settings of workflow 'a' must be a table, not a number\n");
}

TEST(Describe, says_what_is_wrong_with_a_step) {
  const auto told = [](const std::string& step) { return described("local w = workflow('w', {})\n\n" + step); };
  EXPECT_EQ(told("w.step('a', function() end)"), "load/shop.lua:3: write a colon: WORKFLOW:step(\"NAME\", function)\n");
  EXPECT_EQ(told("w:step(function() end)"), "load/shop.lua:3: step needs a name: WORKFLOW:step(\"NAME\", function)\n");
  EXPECT_EQ(told("w:step('a', 1)"), "load/shop.lua:3: the options of step 'a' must be a table, not a number\n");
  EXPECT_EQ(told("w:step('a', {}, 1)"), "load/shop.lua:3: the work of step 'a' must be a function, not a number\n");
  EXPECT_EQ(told("w:action('a', {})"), "load/shop.lua:3: an action needs a function\n");
  EXPECT_EQ(told("w:step('a', function() end) w:step('a', function() end)"),
            "load/shop.lua:3: step 'a' is there twice; the first is in line 3\n");
  EXPECT_EQ(told("w:step('a', {think = print}, function() end)"),
            "load/shop.lua:3: step 'w.a': 'think' cannot be a function\n"
            "  a setting is a text, a number, true, false, or a table of them\n");
  EXPECT_THAT(told("w:step('a', {check = {200, status = 1}}, function() end)"),
              HasSubstr("step 'w.a': 'check' is both a list and a table with names"));
  EXPECT_THAT(told("local t = {} t.t = t w:step('a', {check = t}, function() end)"), HasSubstr("is too deep"));
}

TEST(Describe, a_script_has_no_way_out) {
  for (const char* name :
       {"io", "dofile", "loadfile", "load", "loadstring", "debug", "package", "jit", "ffi", "coroutine", "getfenv",
        "setfenv", "os.execute", "os.exit", "os.getenv", "os.remove", "string.dump", "newproxy"}) {
    EXPECT_THAT(described("error(tostring(" + std::string(name) + " == nil))"), HasSubstr(":1: true")) << name;
  }
  EXPECT_THAT(described("\x1bLJ"), HasSubstr("this is no text"));
}

TEST(Describe, unless_it_is_permitted) {
  const auto has = [](const std::string& name, Permissions may) {
    return described("error(tostring(" + name + " ~= nil))", may).find(":1: true") != std::string::npos;
  };
  EXPECT_TRUE(has("io.open", {.files = true}));
  EXPECT_TRUE(has("os.remove", {.files = true}));
  EXPECT_FALSE(has("io.popen", {.files = true}));
  EXPECT_FALSE(has("os.execute", {.files = true}));
  EXPECT_TRUE(has("os.execute", {.processes = true}));
  EXPECT_TRUE(has("io.popen", {.processes = true}));
  EXPECT_FALSE(has("io.open", {.processes = true}));
  EXPECT_FALSE(has("os.exit", {.files = true, .processes = true}));
  EXPECT_FALSE(has("debug", {.files = true, .processes = true}));
}

TEST(Describe, what_runs_in_circles_is_stopped_even_when_it_catches_errors) {
  EXPECT_THAT(described("while true do end"), HasSubstr("ran for 1 s without waiting for anything"));
  EXPECT_THAT(described("local function f() while true do end end\nwhile true do pcall(f) end"),
              HasSubstr("ran for 1 s without waiting for anything"));
}

TEST(Describe, modules_are_run_once_and_found_by_their_names) {
  const auto module = [](const char* name, const char* path, const char* text) {
    return plan::Module{name, path, std::make_shared<const std::string>(text)};
  };
  const auto told = [&](std::string_view script, std::vector<plan::Module> modules) {
    const auto text = describe(program(script, "shop.lua", std::move(modules)), "shop.lua", {});
    return text ? *text : text.error().front().message;
  };
  EXPECT_THAT(
      told("local a = require 'a' require 'a' workflow(a.name, {vus = require('lib.b')}):step('s', {http = {}})",
           {module("a", "a.lua",
                   "require('lib.b') if seen then error('twice') end seen = true "
                   "return {name = 'shop'}"),
            module("lib.b", "lib/b.lua", "return 3")}),
      HasSubstr(R"("shop": {"vus": 3)"));
  EXPECT_THAT(told("require 'a'", {module("a", "a.lua", "require 'b'"), module("b", "b.lua", "require 'a'")}),
              HasSubstr("the module 'a' requires itself"));
  EXPECT_THAT(told("require 'lib.b'", {module("lib.b", "lib/b.lua", "\nlocal x = nil + 1")}),
              HasSubstr("lib/b.lua:2: cannot compute with a nil value; nil means that nothing has set it"));
  EXPECT_THAT(told("local vanilla = 5 return vanilla.x.y", {}), testing::Not(HasSubstr("nil means")));
  EXPECT_THAT(told("return 1 < nil", {}), HasSubstr("cannot compare number with nil; nil means"));
  EXPECT_THAT(told("local name = 'a' require(name)", {}), HasSubstr("write its name as a text, require(\"a\")"));
  EXPECT_THAT(told("require 'a'", {module("a", "a.lua", "x =")}),
              HasSubstr("a.lua:1: this is not Lua: unexpected symbol"));
}

TEST(Describe, a_function_that_a_step_calls_is_looked_for) {
  constexpr std::string_view kScript = "function buy() end\nworkflow('w', {}):step('a', function() end)";
  EXPECT_TRUE(check_functions(program(kScript, "s.lua"), {"buy", "w.a"}, {}));
  const auto missing = check_functions(program(kScript, "s.lua"), {"w.a", "bui"}, {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "there is no function 'bui': did you mean 'buy'?");
}

}  // namespace
}  // namespace bellwether::script::lua

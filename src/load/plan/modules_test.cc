#include "load/plan/modules.h"

#include <gmock/gmock.h>
#include <map>

#include "load/plan/load_testing.h"

namespace bellwether::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Modules, are_found_where_they_are_required) {
  EXPECT_THAT(
      required_names("local a = require(\"a\")\nlocal b = require 'lib.b' .x\n  require( \"c\" )\nrequire(\"a\")"),
      ElementsAre("a", "lib.b", "c"));
  EXPECT_THAT(
      required_names("-- require 'x'\n--[[ require 'x'\n]] --[==[ ]] require 'x' ]==]\nlocal t = \"require 'x'\""),
      IsEmpty());
  EXPECT_THAT(required_names("local s = [[ require 'x' ]] s = 'it\\'s' require 'y' a[b[1]] = require 'z'"),
              ElementsAre("y", "z"));
  EXPECT_THAT(required_names("t.require 'x' t:require('x') requires('x') prerequire('x') require(name) require"),
              IsEmpty());
  EXPECT_THAT(required_names("require 'broken"), ElementsAre("broken")) << "Lua will say what is wrong with it";
}

TEST(Modules, arguments_of_any_function_have_lines) {
  const auto found = constant_arguments(
      "-- hash.hmac('a')\nx.hash.hmac('b') hash.hmac(c)\nlocal d = hash.hmac( \"md4\", key)\nhash.hmac 'md4'",
      "hash.hmac");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].text, "md4");
  EXPECT_EQ(found[0].line, 3);
}

Result<std::vector<Module>> read(const std::string& script, std::map<std::string, std::string> files) {
  FakeOutside outside;
  outside.files = std::move(files);
  return read_modules(script, "", outside);
}

TEST(Modules, come_with_those_that_they_require_each_once) {
  const auto modules =
      read("require 'a' require 'lib.b'",
           {{"a.lua", "require 'lib.b' require 'a'"}, {"lib/b.lua", "require 'c-d'"}, {"c-d.lua", "x"}});
  ASSERT_TRUE(modules);
  ASSERT_EQ(modules->size(), 3u);
  EXPECT_EQ((*modules)[1].name, "lib.b");
  EXPECT_EQ((*modules)[1].path, "lib/b.lua");
  EXPECT_EQ(*(*modules)[2].text, "x");
}

TEST(Modules, that_cannot_be_are_refused) {
  for (const char* name : {"../a", "/etc/passwd", "", ".", "a..b", ".a", "a.", "a/b"}) {
    const auto modules = read("require \"" + std::string(name) + "\"", {});
    ASSERT_FALSE(modules) << name;
    EXPECT_THAT(modules.error().message, HasSubstr("cannot be the name of a module")) << name;
  }
  EXPECT_THAT(read("require 'a'", {}).error().message, HasSubstr("the module 'a': no such file"));
}

TEST(Modules, of_a_script_are_read_from_its_folder_with_the_scenario) {
  TestSources sources("workflows: {w: {vus: 1, duration: 1s, steps: {s: {lua: {file: lib/s.lua, call: f}}}}}");
  sources.world.files = {{"lib/s.lua", "local h = require 'more.h' function f() end"}, {"lib/more/h.lua", "return 1"}};
  const auto plan = sources.load();
  ASSERT_TRUE(plan) << sources.errors();
  ASSERT_EQ(plan->programs[0].modules.size(), 1u);
  EXPECT_EQ(*plan->programs[0].modules[0].text, "return 1");
  sources.world.files.erase("lib/more/h.lua");
  EXPECT_THAT(sources.errors(), HasSubstr("the program 'lib/s.lua' cannot be read: the module 'more.h': no such file"));
}

}  // namespace
}  // namespace bellwether::plan

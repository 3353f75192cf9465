#include "load/script/lua/json.h"

#include <gtest/gtest.h>
#include <lua.hpp>

#include "load/script/lua/state.h"

namespace bellwether::script::lua {
namespace {

class LuaJson : public testing::Test {
 protected:
  // From JSON to Lua and back.
  std::string through(const std::string& text) {
    lua_State* lua = state_.get();
    const Status pushed = push_json(lua, text);
    if (!pushed) return pushed.error().message;
    std::string out;
    const Status made = append_json(lua, -1, out);
    lua_pop(lua, 1);
    return made ? out : made.error().message;
  }
  // The value that a Lua expression has.
  std::string of(const std::string& expression) {
    lua_State* lua = state_.get();
    EXPECT_EQ(luaL_loadstring(lua, ("return " + expression).c_str()), 0);
    EXPECT_EQ(lua_pcall(lua, 0, 1, 0), 0);
    std::string out;
    const Status made = append_json(lua, -1, out);
    lua_settop(lua, 0);
    return made ? out : made.error().message;
  }
  State state_ = std::move(*new_state({}));
};

TEST_F(LuaJson, values_come_back_as_they_were) {
  for (const char* text : {R"({"a":[1,2.5,-3],"b":{"c":"x"},"d":true,"e":false})", R"("é\n\"\\")", "[[1],[2]]",
                           "9007199254740992", "1e+300", "{}"}) {
    EXPECT_EQ(through(text), text);
  }
}

TEST_F(LuaJson, what_lua_has_no_word_for) {
  EXPECT_EQ(through("null"), "null");
  EXPECT_EQ(through("{\"a\":null,\"b\":1}"), "{\"b\":1}") << "a member that is nil is none";
  EXPECT_EQ(through("[]"), "{}") << "an empty table is an object";
}

TEST_F(LuaJson, what_is_no_json_is_refused) {
  EXPECT_EQ(through("{\"a\":}"), "this is no JSON, from byte 6 on");
  EXPECT_EQ(through(""), "this is no JSON, from byte 1 on");
  EXPECT_EQ(through(std::string(101, '[')), "more than 100 levels of JSON");
  EXPECT_EQ(lua_gettop(state_.get()), 0) << "nothing is left behind";
}

TEST_F(LuaJson, what_json_has_no_word_for_is_refused) {
  EXPECT_EQ(of("print"), "a function cannot be said in JSON");
  EXPECT_EQ(of("{[true] = 1}"), "a member of a JSON object needs a text as its name");
  EXPECT_EQ(of("1/0"), "JSON has no number that is not finite");
  EXPECT_EQ(of("(function() local t = {} t.t = t return t end)()"),
            "more than 100 levels, or a table that holds itself");
  EXPECT_EQ(of("{'a', {b = 1}}"), "[\"a\",{\"b\":1}]");
  EXPECT_EQ(of("'\\1'"), "\"\\u0001\"");
}

}  // namespace
}  // namespace bellwether::script::lua

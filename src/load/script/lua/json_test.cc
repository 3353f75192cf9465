#include "load/script/lua/json.h"

#include <cmath>
#include <gtest/gtest.h>
#include <lua.hpp>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "core/base/prng.h"
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

TEST_F(LuaJson, what_lua_has_no_word_for_comes_back_too) {
  for (const char* text : {"null", R"({"a":null,"b":1})", "[1,null,2]", "[null]", "[]", R"({"a":[],"b":{}})",
                           "9007199254740993", "-9007199254740993", "18446744073709551615", "-9223372036854775808",
                           "123456789012345678901234567890", "[9007199254740992,-9007199254740992]"}) {
    EXPECT_EQ(through(text), text);
  }
}

TEST_F(LuaJson, integers_that_a_number_cannot_hold_keep_their_digits) {
  lua_State* lua = state_.get();
  ASSERT_TRUE(push_json(lua, "[9007199254740993,9007199254740993,9007199254740995,7]").has_value());
  lua_setglobal(lua, "t");
  EXPECT_EQ(of("'/items/' .. t[1] .. '/' .. t[4]"), "\"/items/9007199254740993/7\"");
  EXPECT_EQ(of("tostring(t[1])"), "\"9007199254740993\"");
  EXPECT_EQ(of("{t[1] == t[2], t[1] == t[3], t[1] == 7}"), "[true,false,false]");
  EXPECT_EQ(of("pcall(function() return t[1] + 1 end)"), "false") << "no figure is better than a wrong one";
}

TEST_F(LuaJson, an_array_that_becomes_an_object_is_one) {
  lua_State* lua = state_.get();
  ASSERT_TRUE(push_json(lua, "[]").has_value());
  lua_pushboolean(lua, 1);
  lua_setfield(lua, -2, "a");
  std::string out;
  ASSERT_TRUE(append_json(lua, -1, out).has_value());
  EXPECT_EQ(out, "{\"a\":true}");
}

nlohmann::json draw_document(Prng& prng, int depth) {
  using nlohmann::json;
  switch (prng.below(depth == 0 ? 6 : 8)) {
    case 0: return nullptr;
    case 1: return prng.chance(0.5);
    case 2: return prng.next() >> prng.below(64);  // up to 64 bits
    case 3: return -static_cast<int64_t>(prng.next() >> (1 + prng.below(63)));
    case 4: return (prng.unit() - 0.5) * std::pow(10, static_cast<double>(prng.below(40)));
    case 5: return std::string(prng.below(4), static_cast<char>(prng.below(128)));
    case 6: {
      json out = json::array();
      for (uint64_t i = prng.below(4); i > 0; --i) out.push_back(draw_document(prng, depth - 1));
      return out;
    }
    default: {
      json out = json::object();
      for (uint64_t i = prng.below(4); i > 0; --i) {
        out[prng.chance(0.5) ? std::to_string(i) : std::string(1, static_cast<char>(prng.below(128)))] =
            draw_document(prng, depth - 1);
      }
      return out;
    }
  }
}

RC_GTEST_FIXTURE_PROP(LuaJson, any_document_comes_back_as_it_was, ()) {
  Prng prng(*rc::gen::arbitrary<uint64_t>());
  const nlohmann::json document = draw_document(prng, 4);
  const nlohmann::json back = nlohmann::json::parse(through(document.dump()), nullptr, false);
  RC_ASSERT(back == document);
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

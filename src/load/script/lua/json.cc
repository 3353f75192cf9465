#include "load/script/lua/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <lua.hpp>
#include <nlohmann/json.hpp>
#include <vector>

#include "load/plan/compile/template.h"
#include "load/script/lua/host.h"

namespace bellwether::script::lua {
namespace {

constexpr int kMaxJsonDepth = 100;

// Metatables, by their names in the registry.
constexpr const char* kArray = "array";
constexpr const char* kInteger = "integer";

int integer_text(lua_State* state) {
  push_text(state, integer_at(state, 1));
  return 1;
}

int integers_are_equal(lua_State* state) {
  lua_pushboolean(state, integer_at(state, 1) == integer_at(state, 2) ? 1 : 0);
  return 1;
}

int concatenate_integer(lua_State* state) {
  for (int i = 1; i <= 2; ++i) {
    const std::string_view digits = integer_at(state, i);
    if (!digits.empty()) {
      push_text(state, digits);
    } else {
      luaL_checkstring(state, i);
      lua_pushvalue(state, i);
    }
  }
  lua_concat(state, 2);
  return 1;
}

void set_integer_kind(lua_State* state) {
  if (luaL_newmetatable(state, kInteger) != 0) {
    const auto add = [state](const char* name, lua_CFunction function) {
      lua_pushcfunction(state, function);
      lua_setfield(state, -2, name);
    };
    add("__tostring", integer_text);
    add("__eq", integers_are_equal);
    add("__concat", concatenate_integer);
    lua_pushliteral(state, "an integer");
    lua_setfield(state, -2, "__metatable");
  }
  lua_setmetatable(state, -2);
}

void push_integer(lua_State* state, std::string_view digits) {
  std::memcpy(lua_newuserdata(state, digits.size()), digits.data(), digits.size());
  set_integer_kind(state);
}

bool has_kind(lua_State* state, int index, const char* kind) {
  if (lua_getmetatable(state, index) == 0) return false;
  luaL_getmetatable(state, kind);
  const bool is_kind = lua_rawequal(state, -1, -2) != 0;
  lua_pop(state, 2);
  return is_kind;
}

// Builds tables as the text comes.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(lua_State* state) : state_(state) {}
  const std::string& why() const { return why_; }

  bool null() override {
    push_null(state_);
    return put();
  }
  bool boolean(bool value) override {
    lua_pushboolean(state_, value ? 1 : 0);
    return put();
  }
  bool number_integer(number_integer_t value) override { return whole(value); }
  bool number_unsigned(number_unsigned_t value) override { return whole(value); }
  bool number_float(number_float_t value, const string_t& written) override {
    push_number(state_, value, written);
    return put();
  }
  bool string(string_t& value) override {
    lua_pushlstring(state_, value.data(), value.size());
    return put();
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(false); }
  bool key(string_t& value) override {
    lua_pushlstring(state_, value.data(), value.size());
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(true); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t place, const std::string&, const nlohmann::json::exception&) override {
    why_ = fmt::format("this is no JSON, from byte {} on", place);
    return false;
  }

 private:
  struct Open {
    bool is_array;
    int count = 0;
  };
  template <class Whole>
  bool whole(Whole value) {
    push_number(state_, static_cast<double>(value), std::to_string(value));
    return put();
  }
  bool open(bool is_array) {
    if (open_.size() == kMaxJsonDepth || lua_checkstack(state_, 4) == 0) {
      why_ = fmt::format("more than {} levels of JSON", kMaxJsonDepth);
      return false;
    }
    lua_newtable(state_);
    if (is_array) mark_as_array(state_);
    open_.push_back({is_array});
    return true;
  }
  bool close() {
    open_.pop_back();
    return put();
  }
  // Puts the value on top into the open object or array.
  bool put() {
    if (open_.empty()) return true;
    if (open_.back().is_array) {
      lua_rawseti(state_, -2, ++open_.back().count);
    } else {
      lua_rawset(state_, -3);
    }
    return true;
  }

  lua_State* state_;
  std::vector<Open> open_;
  std::string why_;
};

void append_text(std::string_view text, std::string& out) {
  out += '"';
  out += plan::escape_json(text);
  out += '"';
}

Status append_value(lua_State* state, int index, std::string& out, int depth);

Status append_array(lua_State* state, int index, int count, std::string& out, int depth) {
  out += '[';
  for (int i = 1; i <= count; ++i) {
    if (i > 1) out += ',';
    lua_rawgeti(state, index, i);
    auto done = append_value(state, lua_gettop(state), out, depth + 1);
    lua_pop(state, 1);
    if (!done) return done;
  }
  out += ']';
  return {};
}

Status append_object(lua_State* state, int index, std::string& out, int depth) {
  std::vector<std::string> names;
  lua_pushnil(state);
  while (lua_next(state, index) != 0) {
    lua_pop(state, 1);
    if (lua_type(state, -1) != LUA_TSTRING) {
      lua_pop(state, 1);
      return fail(Errc::kInvalid, "a member of a JSON object needs a text as its name");
    }
    std::size_t size = 0;
    const char* text = lua_tolstring(state, -1, &size);
    names.emplace_back(text, size);
  }
  std::sort(names.begin(), names.end());
  out += '{';
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += ',';
    append_text(names[i], out);
    out += ':';
    lua_pushlstring(state, names[i].data(), names[i].size());
    lua_rawget(state, index);
    auto done = append_value(state, lua_gettop(state), out, depth + 1);
    lua_pop(state, 1);
    if (!done) return done;
  }
  out += '}';
  return {};
}

Status append_number(double number, std::string& out) {
  if (!std::isfinite(number)) return fail(Errc::kInvalid, "JSON has no number that is not finite");
  char text[32];
  const bool whole = std::floor(number) == number && std::fabs(number) <= kMaxWhole;
  const auto end = whole ? std::to_chars(text, text + sizeof text, static_cast<int64_t>(number)).ptr
                         : std::to_chars(text, text + sizeof text, number).ptr;
  out.append(text, end);
  return {};
}

// It has the mark, and no members that an array does not have.
bool is_empty_array(lua_State* state, int index) {
  if (!has_kind(state, index, kArray)) return false;
  lua_pushnil(state);
  if (lua_next(state, index) == 0) return true;
  lua_pop(state, 2);
  return false;
}

Status append_value(lua_State* state, int index, std::string& out, int depth) {
  if (depth > kMaxJsonDepth || lua_checkstack(state, 8) == 0) {
    return fail(Errc::kInvalid, fmt::format("more than {} levels, or a table that holds itself", kMaxJsonDepth));
  }
  switch (lua_type(state, index)) {
    case LUA_TNIL: out += "null"; return {};
    case LUA_TBOOLEAN: out += lua_toboolean(state, index) != 0 ? "true" : "false"; return {};
    case LUA_TNUMBER: return append_number(lua_tonumber(state, index), out);
    case LUA_TSTRING: {
      std::size_t size = 0;
      const char* text = lua_tolstring(state, index, &size);
      append_text({text, size}, out);
      return {};
    }
    case LUA_TTABLE: {
      const auto count = static_cast<int>(lua_objlen(state, index));
      if (count > 0 || is_empty_array(state, index)) return append_array(state, index, count, out, depth);
      return append_object(state, index, out, depth);
    }
    case LUA_TLIGHTUSERDATA:
      if (lua_touserdata(state, index) != nullptr) break;
      out += "null";
      return {};
    case LUA_TUSERDATA: {
      const std::string_view digits = integer_at(state, index);
      if (digits.empty()) break;
      out += digits;
      return {};
    }
    default: break;
  }
  return fail(Errc::kInvalid, "a {} cannot be said in JSON", luaL_typename(state, index));
}

}  // namespace

void push_null(lua_State* state) { lua_pushlightuserdata(state, nullptr); }

void mark_as_array(lua_State* state) {
  if (luaL_newmetatable(state, kArray) != 0) {
    lua_pushliteral(state, "an array");
    lua_setfield(state, -2, "__metatable");
  }
  lua_setmetatable(state, -2);
}

std::string_view integer_at(lua_State* state, int index) {
  if (lua_type(state, index) != LUA_TUSERDATA || !has_kind(state, index, kInteger)) return {};
  return {static_cast<const char*>(lua_touserdata(state, index)), lua_objlen(state, index)};
}

void push_number(lua_State* state, double value, std::string_view written) {
  const bool is_whole = !written.empty() && written.find_first_not_of("-0123456789") == std::string_view::npos;
  const double size = std::fabs(value);
  // 2^53 itself and the number after it are one double.
  if (is_whole && (size > kMaxWhole || (size == kMaxWhole && !written.ends_with("9007199254740992")))) {
    push_integer(state, written);
  } else {
    lua_pushnumber(state, value);
  }
}

Status push_json(lua_State* state, std::string_view text) {
  const int top = lua_gettop(state);
  Builder builder(state);
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return {};
  lua_settop(state, top);
  return fail(Errc::kInvalid, builder.why().empty() ? "this is no JSON" : builder.why());
}

Status append_json(lua_State* state, int index, std::string& out) {
  return append_value(state, index < 0 ? lua_gettop(state) + index + 1 : index, out, 0);
}

}  // namespace bellwether::script::lua

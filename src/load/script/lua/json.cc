#include "load/script/lua/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <lua.hpp>
#include <nlohmann/json.hpp>
#include <vector>

#include "load/plan/compile/template.h"

namespace bellwether::script::lua {
namespace {

constexpr int kMaxJsonDepth = 100;

// Builds tables as the text comes.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(lua_State* state) : state_(state) {}
  const std::string& why() const { return why_; }

  bool null() override {
    lua_pushnil(state_);
    return put();
  }
  bool boolean(bool value) override {
    lua_pushboolean(state_, value ? 1 : 0);
    return put();
  }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
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
  bool number(double value) {
    lua_pushnumber(state_, value);
    return put();
  }
  bool open(bool is_array) {
    if (open_.size() == kMaxJsonDepth || lua_checkstack(state_, 4) == 0) {
      why_ = fmt::format("more than {} levels of JSON", kMaxJsonDepth);
      return false;
    }
    lua_newtable(state_);
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
  constexpr double kMaxWhole = 9007199254740992.0;  // 2^53: up to there every whole number is one
  const bool whole = std::floor(number) == number && std::fabs(number) <= kMaxWhole;
  const auto end = whole ? std::to_chars(text, text + sizeof text, static_cast<int64_t>(number)).ptr
                         : std::to_chars(text, text + sizeof text, number).ptr;
  out.append(text, end);
  return {};
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
      return count > 0 ? append_array(state, index, count, out, depth) : append_object(state, index, out, depth);
    }
    default: return fail(Errc::kInvalid, "a {} cannot be said in JSON", luaL_typename(state, index));
  }
}

}  // namespace

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

// The functions for scripts beside requests: sleep(), check(), set(), metric(), json, uuid(), print(), math.random().
#include <algorithm>
#include <lua.hpp>
#include <optional>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "load/script/lua/host.h"
#include "load/script/lua/json.h"

namespace bellwether::script::lua {

namespace {

constexpr std::size_t kMaxSaid = 1000;  // bytes of one print()

int sleep(lua_State* state) {
  Strand* strand = strand_of(state, host_of(state), "sleep");
  if (strand == nullptr) return raise(state);
  const auto span = duration_at(state, 1, "sleep");
  if (!span) return raise(state);
  strand->waiting = Strand::Waiting::kTime;
  strand->run->sleep(*span);
  return lua_yield(state, 0);
}

const char* name_at(lua_State* state, int at) {
  return lua_type(state, at) == LUA_TSTRING ? lua_tostring(state, at) : luaL_typename(state, at);
}

int check_call(lua_State* state) {
  Strand* strand = strand_of(state, host_of(state), "check");
  if (strand == nullptr) return raise(state);
  luaL_checkany(state, 1);
  const auto index = declared(state, 1, strand->function->checks, "check", "checks");
  if (!index) return raise(state);
  const bool holds = lua_toboolean(state, 2) != 0;
  strand->run->check(*index, holds);
  lua_pushboolean(state, holds ? 1 : 0);
  return 1;
}

int set(lua_State* state) {
  Strand* strand = strand_of(state, host_of(state), "set");
  if (strand == nullptr) return raise(state);
  luaL_checkany(state, 1);
  const auto index = declared(state, 1, strand->function->sets, "value", "sets");
  if (!index) return raise(state);
  const std::string_view whole = integer_at(state, 2);
  if (whole.empty() && lua_type(state, 2) != LUA_TSTRING && lua_type(state, 2) != LUA_TNUMBER) {
    lua_pushfstring(state, "the value of '%s' must be a text or a number, not a %s", lua_tostring(state, 1),
                    luaL_typename(state, 2));
    return raise(state);
  }
  strand->run->set(*index, whole.empty() ? text_at(state, 2) : whole);
  return 0;
}

int metric(lua_State* state) {
  Strand* strand = strand_of(state, host_of(state), "metric");
  if (strand == nullptr) return raise(state);
  luaL_checkany(state, 1);
  const auto index = index_of(state, 1, strand->function->metrics);
  if (!index) {
    const char* name = name_at(state, 1);
    lua_pushfstring(state, "the scenario declares no metric '%s': scenario {metrics = {%s = \"counter\"}}", name, name);
    return raise(state);
  }
  if (lua_type(state, 2) != LUA_TNUMBER && lua_type(state, 2) != LUA_TBOOLEAN) {
    lua_pushfstring(state, "the value of metric '%s' must be a number, true or false, not a %s", lua_tostring(state, 1),
                    luaL_typename(state, 2));
    return raise(state);
  }
  const bool is_truth = lua_type(state, 2) == LUA_TBOOLEAN;
  strand->run->measure(*index, is_truth ? lua_toboolean(state, 2) : lua_tonumber(state, 2));
  return 0;
}

bool encode(lua_State* state, Host& host) {
  host.scratch.clear();
  const Status made = append_json(state, 1, host.scratch);
  push_text(state, made ? std::string_view(host.scratch) : std::string_view(made.error().message));
  return made.has_value();
}

int json_encode(lua_State* state) {
  luaL_checkany(state, 1);
  return encode(state, host_of(state)) ? 1 : raise(state);
}

bool decode(lua_State* state) {
  const Status made = push_json(state, text_at(state, 1));
  if (!made) push_text(state, made.error().message);
  return made.has_value();
}

int json_decode(lua_State* state) {
  luaL_checktype(state, 1, LUA_TSTRING);
  return decode(state) ? 1 : raise(state);
}

int json_array(lua_State* state) {
  lua_settop(state, 1);
  if (lua_isnil(state, 1)) {
    lua_newtable(state);
    lua_replace(state, 1);
  }
  luaL_checktype(state, 1, LUA_TTABLE);
  mark_as_array(state);
  return 1;
}

Prng& prng_of(Host& host) {
  // The code outside of functions has the same result on all cores.
  static thread_local Prng outside(0);
  return host.running == nullptr ? outside : host.running->run->prng();
}

// Like math.random of Lua, from the run's own randomness: the same seed repeats it.
int random(lua_State* state) {
  Prng& prng = prng_of(host_of(state));
  if (lua_gettop(state) == 0) {
    lua_pushnumber(state, prng.unit());
    return 1;
  }
  const auto first = static_cast<int64_t>(luaL_checknumber(state, 1));
  const bool two = lua_gettop(state) > 1;
  const int64_t low = two ? first : 1;
  const int64_t high = two ? static_cast<int64_t>(luaL_checknumber(state, 2)) : first;
  luaL_argcheck(state, low <= high, two ? 2 : 1, "the interval is empty");
  lua_pushnumber(state, static_cast<double>(prng.between(low, high)));
  return 1;
}

int no_seed(lua_State* state) { return luaL_error(state, "the seed is that of the run: --seed"); }

// Version 4 of RFC 9562.
int uuid(lua_State* state) {
  Prng& prng = prng_of(host_of(state));
  uint64_t bits[2] = {prng.next(), prng.next()};
  bits[0] = (bits[0] & ~uint64_t{0xf000}) | 0x4000;
  bits[1] = (bits[1] & ~(uint64_t{3} << 62U)) | (uint64_t{2} << 62U);
  char text[36];
  int at = 0;
  for (int digit = 0; digit < 32; ++digit) {
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) text[at++] = '-';
    text[at++] = kHexDigits[(bits[digit / 16] >> (60 - 4 * (digit % 16))) & 15U];
  }
  lua_pushlstring(state, text, sizeof text);
  return 1;
}

void say(lua_State* state, Host& host) {
  std::string line;
  for (int i = 1; i <= lua_gettop(state) && line.size() < kMaxSaid; ++i) {
    if (i > 1) line += ' ';
    switch (lua_type(state, i)) {
      case LUA_TBOOLEAN: line += lua_toboolean(state, i) != 0 ? "true" : "false"; break;
      case LUA_TSTRING:
      case LUA_TNUMBER:
        lua_pushvalue(state, i);
        line += text_at(state, -1);
        lua_pop(state, 1);
        break;
      case LUA_TTABLE:
        if (!append_json(state, i, line)) line += "a table";
        break;
      case LUA_TLIGHTUSERDATA:
      case LUA_TUSERDATA:
        if (!append_json(state, i, line)) line += luaL_typename(state, i);
        break;
      default: line += luaL_typename(state, i); break;
    }
  }
  if (line.size() > kMaxSaid) line.resize(kMaxSaid);
  if (host.running != nullptr) host.running->run->say(std::move(line));
}

int print(lua_State* state) {
  say(state, host_of(state));
  return 0;
}

constexpr const char* kLoaded = "bellwether modules";  // in the registry: name → its result; false: it still runs

// Pushes the result of the module at 1, or a message.
bool push_module(lua_State* state, const plan::Program& script) {
  std::size_t size = 0;
  const char* text = lua_type(state, 1) == LUA_TSTRING ? lua_tolstring(state, 1, &size) : nullptr;
  if (text == nullptr) return refuse(state, "require takes the name of a module, a text");
  const std::string name(text, size);
  lua_getfield(state, LUA_REGISTRYINDEX, kLoaded);
  lua_getfield(state, -1, name.c_str());
  if (lua_isboolean(state, -1) && lua_toboolean(state, -1) == 0) {
    return refuse(state, fmt::format("the module '{}' requires itself, by way of others or not", name));
  }
  if (!lua_isnil(state, -1)) return true;
  const auto module = std::ranges::find_if(script.modules, [&](const plan::Module& one) { return one.name == name; });
  if (module == script.modules.end()) {
    return refuse(state,
                  fmt::format("the module '{}' was not read with the script: write its name as a text, require(\"{}\")",
                              name, name));
  }
  lua_pop(state, 1);
  lua_pushboolean(state, 0);
  lua_setfield(state, -2, name.c_str());
  const Status loaded = load_text(state, *module->text, module->path);
  bool good = loaded.has_value();
  if (good) {
    good = lua_pcall(state, 0, 1, 0) == 0;
  } else {
    refuse(state, loaded.error().message);
  }
  if (good && lua_isnil(state, -1)) {
    lua_pop(state, 1);
    lua_pushboolean(state, 1);
  }
  // A failed module counts as not loaded.
  if (good) {
    lua_pushvalue(state, -1);
  } else {
    lua_pushnil(state);
  }
  lua_setfield(state, -3, name.c_str());
  return good;
}

int require(lua_State* state) {
  // The place is that of the module, where it failed.
  return push_module(state, *host_of(state).script) ? 1 : lua_error(state);
}

}  // namespace

bool refuse(lua_State* state, std::string_view message) {
  push_text(state, message);
  return false;
}

int raise(lua_State* state) {
  luaL_where(state, 1);
  lua_insert(state, -2);
  lua_concat(state, 2);
  return lua_error(state);
}

std::optional<std::size_t> index_of(lua_State* state, int at, Names& names) {
  const char* name = lua_type(state, at) == LUA_TSTRING ? lua_tostring(state, at) : nullptr;
  if (const std::size_t* near = names.known.find(name)) return *near;
  lua_rawgeti(state, LUA_REGISTRYINDEX, names.table);
  lua_pushvalue(state, at);
  lua_rawget(state, -2);
  const auto index = lua_tointeger(state, -1);
  lua_pop(state, 2);
  if (index <= 0) return std::nullopt;
  names.known.add(name, static_cast<std::size_t>(index - 1));
  return static_cast<std::size_t>(index - 1);
}

std::optional<std::size_t> declared(lua_State* state, int at, Names& names, const char* what, const char* list) {
  if (const auto index = index_of(state, at, names)) return index;
  const char* name = name_at(state, at);
  lua_pushfstring(state, "the step declares no %s '%s': add it to the options of the step, %s = {\"%s\"}", what, name,
                  list, name);
  return std::nullopt;
}

void push_text(lua_State* state, std::string_view text) { lua_pushlstring(state, text.data(), text.size()); }

std::string_view text_at(lua_State* state, int index) {
  std::size_t size = 0;
  const char* text = lua_tolstring(state, index, &size);
  return text == nullptr ? std::string_view() : std::string_view(text, size);
}

std::optional<Duration> duration_at(lua_State* state, int index, const char* what) {
  if (lua_type(state, index) == LUA_TNUMBER) {
    const double seconds = lua_tonumber(state, index);
    if (seconds >= 0 && seconds < 1e9) return Duration::from_seconds_f(seconds);
  } else if (lua_type(state, index) == LUA_TSTRING) {
    if (const auto span = parse_duration(text_at(state, index)); span && *span >= Duration::zero()) return *span;
  }
  lua_pushfstring(state, "%s takes a time: seconds, or a text such as \"200ms\"", what);
  return std::nullopt;
}

Host& host_of(lua_State* state) { return *static_cast<Host*>(lua_touserdata(state, lua_upvalueindex(1))); }

Strand* strand_of(lua_State* state, Host& host, const char* what) {
  if (host.running != nullptr && host.running->state == state) return host.running;
  lua_pushfstring(state, "%s can be called only while a step runs, in its function", what);
  return nullptr;
}

void set_function(lua_State* state, Host& host, const char* name, lua_CFunction function) {
  lua_pushlightuserdata(state, &host);
  lua_pushcclosure(state, function, 1);
  lua_setfield(state, -2, name);
}

void push_calls(lua_State* state, Host& host) {
  push_require(state, host);
  push_requests(state, host);
  push_encodings(state, host);
  lua_newtable(state);
  set_function(state, host, "encode", json_encode);
  set_function(state, host, "decode", json_decode);
  set_function(state, host, "array", json_array);
  push_null(state);
  lua_setfield(state, -2, "null");
  lua_setglobal(state, "json");
  lua_getglobal(state, "math");
  set_function(state, host, "random", random);
  set_function(state, host, "randomseed", no_seed);
  lua_pop(state, 1);
  lua_pushvalue(state, LUA_GLOBALSINDEX);
  set_function(state, host, "sleep", sleep);
  set_function(state, host, "check", check_call);
  set_function(state, host, "set", set);
  set_function(state, host, "metric", metric);
  set_function(state, host, "uuid", uuid);
  set_function(state, host, "print", print);
  lua_pop(state, 1);
}

void push_require(lua_State* state, Host& host) {
  lua_newtable(state);
  lua_setfield(state, LUA_REGISTRYINDEX, kLoaded);
  lua_pushlightuserdata(state, &host);
  lua_pushcclosure(state, require, 1);
  lua_setglobal(state, "require");
}

}  // namespace bellwether::script::lua

// require(): the modules of a script, each run once.

#include <algorithm>
#include <lua.hpp>
#include <string>

#include "load/script/lua/host.h"

namespace bellwether::script::lua {
namespace {

constexpr const char* kLoaded = "bellwether modules";  // in the registry: name → what it gave; false: it still runs

bool refuse_module(lua_State* state, const std::string& message) {
  lua_pushlstring(state, message.data(), message.size());
  return false;
}

// Pushes what the module at 1 gave, or a message.
bool push_module(lua_State* state, const plan::Program& script) {
  std::size_t size = 0;
  const char* text = lua_type(state, 1) == LUA_TSTRING ? lua_tolstring(state, 1, &size) : nullptr;
  if (text == nullptr) return refuse_module(state, "require takes the name of a module, a text");
  const std::string name(text, size);
  lua_getfield(state, LUA_REGISTRYINDEX, kLoaded);
  lua_getfield(state, -1, name.c_str());
  if (lua_isboolean(state, -1) && lua_toboolean(state, -1) == 0) {
    return refuse_module(state, "the module '" + name + "' requires itself, by way of others or not");
  }
  if (!lua_isnil(state, -1)) return true;
  const auto module = std::find_if(script.modules.begin(), script.modules.end(),
                                   [&](const plan::Module& one) { return one.name == name; });
  if (module == script.modules.end()) {
    return refuse_module(state, "the module '" + name + "' was not read with the script: write its name as a text, " +
                                    "require(\"" + name + "\")");
  }
  lua_pop(state, 1);
  lua_pushboolean(state, 0);
  lua_setfield(state, -2, name.c_str());
  const Status loaded = load_text(state, *module->text, module->path);
  bool good = loaded.has_value();
  if (good) {
    good = lua_pcall(state, 0, 1, 0) == 0;
  } else {
    refuse_module(state, loaded.error().message);
  }
  if (good && lua_isnil(state, -1)) {
    lua_pop(state, 1);
    lua_pushboolean(state, 1);
  }
  // What failed is as if it had not been tried.
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

void push_require(lua_State* state, Host& host) {
  lua_newtable(state);
  lua_setfield(state, LUA_REGISTRYINDEX, kLoaded);
  lua_pushlightuserdata(state, &host);
  lua_pushcclosure(state, require, 1);
  lua_setglobal(state, "require");
}

}  // namespace bellwether::script::lua

#include "load/script/lua/state.h"

#include <charconv>
#include <lua.hpp>
#include <vector>

#include "load/script/lua/watch.h"

namespace bellwether::script::lua {
namespace {

// Globals of the libraries that a script does not get.
constexpr const char* kRefused[] = {
    "dofile", "load", "loadfile",  "loadstring", "require", "module",  "package",        "debug",
    "jit",    "ffi",  "coroutine", "newproxy",   "getfenv", "setfenv", "collectgarbage", "gcinfo"};

// Replaces the library `name` by one with only these functions of it.
void keep_only(lua_State* state, const char* name, const std::vector<const char*>& functions) {
  lua_getglobal(state, name);
  lua_newtable(state);
  for (const char* function : functions) {
    lua_getfield(state, -2, function);
    lua_setfield(state, -2, function);
  }
  lua_setglobal(state, name);
  lua_pop(state, 1);
}

int open_safely(lua_State* state) {
  const Permissions& may = *static_cast<const Permissions*>(lua_touserdata(state, 1));
  luaL_openlibs(state);
  luaJIT_setmode(state, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);  // the library of the compiler turns it on
  // Of the operating system, every script may ask the time.
  std::vector<const char*> of_system{"time", "clock", "date", "difftime"};
  std::vector<const char*> of_files;
  if (may.files) {
    of_system.insert(of_system.end(), {"remove", "rename", "tmpname"});
    of_files = {"open", "lines", "type", "close", "read", "write", "stderr"};
  }
  if (may.processes) {
    of_system.push_back("execute");
    of_files.push_back("popen");
  }
  keep_only(state, "os", of_system);
  keep_only(state, "io", of_files);
  if (of_files.empty()) {
    lua_pushnil(state);
    lua_setglobal(state, "io");
  }
  for (const char* name : kRefused) {
    lua_pushnil(state);
    lua_setglobal(state, name);
  }
  lua_getglobal(state, "string");
  lua_pushnil(state);
  lua_setfield(state, -2, "dump");
  lua_pop(state, 1);
  return 0;
}

std::string message_of(lua_State* state) {
  std::size_t size = 0;
  const char* text = lua_tolstring(state, -1, &size);
  return text == nullptr ? "an error that is no text" : std::string(text, size);
}

}  // namespace

void Close::operator()(lua_State* state) const { lua_close(state); }

Result<State> new_state(Permissions may) {
  State state(luaL_newstate());
  if (state == nullptr) return fail(Errc::kExhausted, "no memory for a script");
  if (lua_cpcall(state.get(), open_safely, &may) != 0) return fail(Errc::kExhausted, message_of(state.get()));
  return state;
}

Status load_text(lua_State* state, std::string_view text, const std::string& name) {
  // A text begins with no escape: byte code does, and is not verified.
  if (text.starts_with('\x1b')) return fail(Errc::kInvalid, name + ":1: this is no text");
  if (luaL_loadbuffer(state, text.data(), text.size(), ("@" + name).c_str()) == 0) return {};
  std::string message = message_of(state);
  lua_pop(state, 1);
  return fail(Errc::kInvalid, std::move(message));
}

Status call(lua_State* state, int arguments) {
  const Slice slice(state);
  if (lua_pcall(state, arguments, 0, 0) == 0) return {};
  std::string message = message_of(state);
  lua_pop(state, 1);
  return fail(Errc::kInvalid, std::move(message));
}

int line_of(std::string_view message, std::string_view name) {
  if (!message.starts_with(name) || message.size() <= name.size() || message[name.size()] != ':') return 0;
  int line = 0;
  message.remove_prefix(name.size() + 1);
  std::from_chars(message.data(), message.data() + message.size(), line);
  return line;
}

std::string_view without_place(std::string_view message, std::string_view name) {
  if (line_of(message, name) == 0) return message;
  message.remove_prefix(name.size() + 1);
  const std::size_t colon = message.find(':');
  if (colon == std::string_view::npos) return message;
  message.remove_prefix(colon + 1);
  while (message.starts_with(' ')) message.remove_prefix(1);
  return message;
}

}  // namespace bellwether::script::lua

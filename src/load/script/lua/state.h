// A LuaJIT state with the rights of a script: the language and its pure libraries. No environment, modules, native code
// or byte code, and no files and processes unless they are permitted; no coroutines, since the engine has those of a
// script.
//
// The compiler of LuaJIT is off: compiled code cannot be interrupted, and an endless loop must be stopped (watch.h).
//
// Of one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"

struct lua_State;

namespace bellwether::script::lua {

struct Close {
  void operator()(lua_State* state) const;
};
using State = std::unique_ptr<lua_State, Close>;

// Additional rights of a script, which the user grants. It waits for files and processes with its whole thread.
struct Permissions {
  bool files = false;      // io, os.remove(), os.rename(), os.tmpname()
  bool processes = false;  // os.execute(), io.popen()
};

// kExhausted when memory is short.
Result<State> new_state(Permissions may);

// Compiles `text` under `name` ("shop.lua"), leaving the function on the stack. kInvalid with Lua's message.
Status load_text(lua_State* state, std::string_view text, const std::string& name);
// Calls the function below its `arguments` on the stack; leaves nothing. kInvalid with Lua's message; stopped when it
// runs too long.
Status call(lua_State* state, int arguments);

// "shop.lua:12: what" in two parts: 12 and "what". 0 when the message has no such beginning.
int line_of(std::string_view message, std::string_view name);
std::string_view without_place(std::string_view message, std::string_view name);

}  // namespace bellwether::script::lua

// A LuaJIT state with the rights of a script: the language and its pure libraries. No environment, modules, native code
// or byte code, and no files and processes unless they are permitted; no coroutines, since the engine has those of a
// script.
//
// The compiler of LuaJIT is off: compiled code cannot be interrupted, and an endless loop must be stopped.
//
// Of one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/time.h"

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

// The error on top of the stack, with its file and line.
std::string message_of(lua_State* state);

// kExhausted when memory is short.
Result<State> new_state(Permissions may);

// Compiles `text` under `name` ("shop.lua"), leaving the function on the stack. kInvalid with its file and line.
Status load_text(lua_State* state, std::string_view text, const std::string& name);
// Calls the function below its `arguments` on the stack; leaves nothing. kInvalid with its file and line; stopped when
// it runs too long.
Status call(lua_State* state, int arguments);

// "shop.lua:12: what" in two parts: 12 and "what". 0 when the message has no such beginning.
int line_of(std::string_view message, std::string_view name);
std::string_view without_place(std::string_view message, std::string_view name);

// Ends endless loops. Between two waits a script has its thread for itself, and with it the load of a whole core. A
// slice of more than kMaxSlice of processor time ends with an error.
//
// A timer of the thread's processor time looks a few times a second. The hot path only marks where a slice begins and
// ends.

inline constexpr Duration kMaxSlice = Duration::seconds(1);  // of processor time

// A script runs from here to the end of the scope. Not nested.
class Slice {
 public:
  explicit Slice(lua_State* state);
  ~Slice();
  Slice(const Slice&) = delete;
  Slice& operator=(const Slice&) = delete;
};

}  // namespace bellwether::script::lua

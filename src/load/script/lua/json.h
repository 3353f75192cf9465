// Converts between JSON and the values of Lua.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

struct lua_State;

namespace bellwether::script::lua {

// Pushes the value of a JSON text: objects and arrays become tables, null becomes nil. kInvalid with the problem, and
// nothing is pushed.
Status push_json(lua_State* state, std::string_view text);

// Appends the value at `index` as JSON. A table with elements is an array, one with names an object whose members come
// in the order of their names; an empty one is an object. kInvalid: a value that JSON does not have.
Status append_json(lua_State* state, int index, std::string& out);

}  // namespace bellwether::script::lua

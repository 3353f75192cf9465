// Converts between JSON and the values of Lua.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

struct lua_State;

namespace bellwether::script::lua {

// Pushes the value of a JSON text, from which append_json() makes the same document: objects and arrays become tables,
// of which arrays are marked; null becomes json.null; an integer beyond 2^53 becomes a value that keeps its digits.
// kInvalid with the problem, and nothing is pushed.
Status push_json(lua_State* state, std::string_view text);
// Pushes a number of JSON. `written`: as in the document.
void push_number(lua_State* state, double value, std::string_view written);
// From here on a double may not be the whole number that was written: 2^53.
inline constexpr double kMaxWhole = 9007199254740992.0;

// Appends the value at `index` as JSON. A table with elements or a mark is an array, any other an object whose members
// come in the order of their names. kInvalid: a value that JSON does not have.
Status append_json(lua_State* state, int index, std::string& out);

// json.null.
void push_null(lua_State* state);
// The table on top is an array, even an empty one.
void mark_as_array(lua_State* state);
// The digits of an integer beyond 2^53; empty: the value is none. Valid while the state holds it.
std::string_view integer_at(lua_State* state, int index);

}  // namespace bellwether::script::lua

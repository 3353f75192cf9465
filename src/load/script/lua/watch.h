// Ends endless loops. Between two waits a script has its thread for itself, and with it the load of a whole core. A
// slice of more than kMaxSlice of processor time ends with an error.
//
// A timer of the thread's processor time looks a few times a second. The hot path only marks where a slice begins and
// ends.
#pragma once

#include <cstdint>

#include "core/base/time.h"

struct lua_State;

namespace bellwether::script::lua {

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

// Assertions that stay on in release: check() is for faults of the code. A fault that the world outside can cause is a
// Result (result.h), never a check().
#pragma once

#include <source_location>

namespace bellwether {

// Prints where the failed check stands and what should have held, then aborts (so that a core dump shows the state).
[[noreturn, gnu::cold]] void check_failed(const char* what_must_hold, const std::source_location& where);

// check(condition) or check(condition, "what must hold, for the reader of the core dump").
inline void check(bool condition, const char* what_must_hold = nullptr,
                  const std::source_location where = std::source_location::current()) {
  if (!condition) [[unlikely]]
    check_failed(what_must_hold, where);
}

}  // namespace bellwether

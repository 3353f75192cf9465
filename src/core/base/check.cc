#include "core/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace bellwether {

void check_failed(const char* what_must_hold, const std::source_location& where) {
  std::fprintf(stderr, "bellwether: internal error at %s:%u in %s%s%s\n", where.file_name(), where.line(),
               where.function_name(), what_must_hold != nullptr ? ": " : "",
               what_must_hold != nullptr ? what_must_hold : "");
  std::fflush(stderr);
  std::abort();
}

}  // namespace bellwether

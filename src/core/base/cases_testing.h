// How many random cases a property tries. BW_CASES says so in percent of the number that a test names for an ordinary
// run: fewer under a sanitizer, which looks at each access and not at each case, and more in `./dev check`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

#include "core/base/bytes.h"

namespace bellwether {

// `usual` in an ordinary run; never none.
inline uint64_t cases(uint64_t usual) {
  const char* text = std::getenv("BW_CASES");  // NOLINT(concurrency-mt-unsafe): no thread sets it
  if (text == nullptr) return usual;
  const auto percent = parse_u64(text);
  if (!percent) ADD_FAILURE() << "BW_CASES is no number: '" << text << "'";
  return std::max(uint64_t{1}, usual * percent.value_or(100) / 100);
}

}  // namespace bellwether

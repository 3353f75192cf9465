#include "election/token.h"

#include <string_view>

namespace bellwether::election {

std::string make_token(Prng& prng) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string token;
  token.reserve(32);
  for (int half = 0; half < 2; ++half) {
    uint64_t bits = prng.next();
    for (int i = 0; i < 16; ++i, bits >>= 4) token.push_back(kDigits[bits & 15]);
  }
  return token;
}

}  // namespace bellwether::election

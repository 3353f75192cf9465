#include "election/lease_record.h"

#include <string>

#include "core/base/encoding.h"

namespace bellwether::election {

std::string make_token(Prng& prng) {
  const std::string half = hex(prng.next());
  return half + hex(prng.next());
}

}  // namespace bellwether::election

// What proves that a record is ours: drawn anew for each term.
#pragma once

#include <string>

#include "core/base/prng.h"

namespace bellwether::election {

// 128 random bits in hexadecimal. Not a secret: it tells claims apart, it does not keep anybody out.
std::string make_token(Prng& prng);

}  // namespace bellwether::election

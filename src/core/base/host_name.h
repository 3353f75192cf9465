// Names of hosts in letters beyond ASCII.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace bellwether {

// The name in the letters of the DNS (IDNA 2008 with the mapping of UTS 46): "bücher.example" is
// "xn--bcher-kva.example". A name in ASCII stays as it is. kInvalid: it is no name, or no UTF-8.
Result<std::string> ascii_host(std::string_view name);

}  // namespace bellwether

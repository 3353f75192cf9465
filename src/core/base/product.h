// The version of this product.
#pragma once

#include <string_view>

namespace bellwether {

inline constexpr std::string_view kProductVersion = "0.1.0";

}  // namespace bellwether

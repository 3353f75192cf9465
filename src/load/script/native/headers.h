// The headers that a workflow includes, as they were when this program was built.
#pragma once

#include <array>
#include <string_view>

namespace bellwether::script::native {

struct Header {
  std::string_view name;  // in the folder bellwether/
  std::string_view text;
};
extern const std::array<Header, 4> kHeaders;

}  // namespace bellwether::script::native

// What every thread of the product does first.
#pragma once

#include <optional>
#include <string>

namespace bellwether::runtime {

// Names the calling thread for `top` and debuggers (15 characters are kept) and, when a processor is given that it may
// run on, pins it there.
void set_up_thread(const std::string& name, std::optional<int> cpu);

}  // namespace bellwether::runtime

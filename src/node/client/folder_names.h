// What lies in a folder of this machine.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace bellwether::client::detail {

// The names of the files in it, without folders and what begins with a dot, in no order. kNotFound, kRefused, kIo;
// kTooLarge when there are more than `most`.
bellwether::Result<std::vector<std::string>> names_in_folder(const std::string& path, std::size_t most);

}  // namespace bellwether::client::detail

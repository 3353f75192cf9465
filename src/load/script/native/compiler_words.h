// What a compiler says, cut down to what is wrong in the user's own file.
#pragma once

#include <string>
#include <string_view>

namespace bellwether::script::native {

// `said`: the output of clang or gcc without pictures of the source. `file`: as it was given to the compiler. `source`:
// its text. The result has at most `most` errors, each in the line of the user's file that leads to it, with that line
// below; what stands in no line of it comes as it is. Without a newline at the end.
std::string first_errors(std::string_view said, std::string_view file, std::string_view source, std::size_t most = 3);

}  // namespace bellwether::script::native

// Compiles workflows with a compiler of this machine. The user's cache folder keeps each result, for the next build
// from the same texts.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace bellwether::script::native {

// A compiler's output, cut down to the errors in the user's own file. `said`: the output of clang or gcc without
// pictures of the source. `file`: as given to the compiler. `source`: its text. The result has at most `most` errors,
// each in the line of the user's file that leads to it, with that line below; an error in no line of it comes
// unchanged. Without a newline at the end.
std::string first_errors(std::string_view said, std::string_view file, std::string_view source, std::size_t most = 3);

// Whether a file of this name is the source of a workflow.
bool is_source(std::string_view file_name);

struct BuildOptions {
  std::string file;
  std::string compiler;  // a name in PATH or a path; empty: the first of clang++-16, clang++, g++
  std::string cache;     // folder, made if missing
  bool verbose = false;  // all output of the compiler, in place of the first errors
};

// The path of the artifact in the cache. Waits for the compiler. kNotFound without a file or a compiler, kInvalid with
// the errors of the source, kIo.
Result<std::string> build(const BuildOptions& options);

// $XDG_CACHE_HOME/bellwether, or ~/.cache/bellwether. kNotFound when the environment names neither.
Result<std::string> cache_folder();

// The headers that a workflow includes, as of the build of this program.
struct Header {
  std::string_view name;  // in the folder bellwether/
  std::string_view text;
};
extern const std::array<Header, 4> kHeaders;

}  // namespace bellwether::script::native

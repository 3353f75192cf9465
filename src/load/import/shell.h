// Command lines as a POSIX shell splits them into words, with the quotes $'…' of other shells.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/yaml/diagnostic.h"

namespace bellwether::imports {

struct Word {
  std::string text;  // a template: a variable of the shell, $NAME, is ${NAME}
  yaml::Mark mark;
};

struct Commands {
  std::vector<std::vector<Word>> lines;  // none is empty
  std::vector<std::string> variables;    // of the shell, each once
};

// Splits at line ends and at ; & |. Comments, and redirections with their files, are left out. Reports what only a
// shell can compute, and quotes that are not closed.
Commands split_commands(std::string_view text, yaml::Diagnostics& diagnostics);

}  // namespace bellwether::imports

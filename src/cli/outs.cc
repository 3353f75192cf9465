#include "cli/outs.h"

#include <CLI/CLI.hpp>

namespace bellwether::cli {
namespace {

constexpr std::string_view kJson = "json=";

}  // namespace

void add_out_option(CLI::App* command, std::vector<std::string>& outs) {
  command->add_option("-o,--out", outs, "json=FILE: writes the result")->take_all()->allow_extra_args(false);
}

Result<std::vector<std::string>> json_files(const std::vector<std::string>& outs) {
  std::vector<std::string> files;
  for (const std::string& out : outs) {
    if (!out.starts_with(kJson) || out.size() == kJson.size()) {
      return fail(Errc::kInvalid, "--out '" + out + "': write json=FILE");
    }
    files.push_back(out.substr(kJson.size()));
  }
  return files;
}

}  // namespace bellwether::cli

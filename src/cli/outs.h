// --out FORMAT=FILE and --to FORMAT=FILE: the reports of a run, as several commands have them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "load/report/result_file.h"

namespace CLI {
class App;
}

namespace bellwether::cli {

struct Out {
  enum class Format : unsigned char { kJson, kCsv, kJunit, kHtml, kHdr };
  Format format = Format::kJson;
  std::string step;  // of kHdr: whose times; empty: of all
  std::string file;
};

inline constexpr std::string_view kOutHelp =
    "FORMAT=FILE: json, html, csv, junit, hdr, or hdr:WORKFLOW.STEP; several at will";

void add_out_option(CLI::App* command, std::vector<std::string>& outs);
// What was written on the command line, as `option` ("--out"). kInvalid: something else than formats and files, or one
// file twice.
Result<std::vector<Out>> parse_outs(const std::vector<std::string>& words, std::string_view option = "--out");

// Whether all of it can be written, before anything is run.
Status can_deliver(const std::vector<Out>& outs);
// Whether there are such steps. kNotFound, with the nearest name.
Status has_steps(const std::vector<Out>& outs, std::span<const std::string_view> steps);
// `json` is the result file. Goes on with the others when one cannot be written, and tells each problem on standard
// error under the name of the verb. False: something is missing.
bool write_outs(const std::string& json, const std::vector<Out>& outs, std::string_view verb);

}  // namespace bellwether::cli

// The output of a run at its end: reports (--out FORMAT=FILE, --to FORMAT=FILE), a summary, and its place in the store.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "load/local/request_log.h"
#include "load/report/result_file.h"
#include "load/report/run_report.h"
#include "load/results/recorder.h"

namespace CLI {
class App;
}

namespace bellwether::cli {

struct Out {
  enum class Format : unsigned char { kJson, kCsv, kJunit, kHtml, kHdr };
  Format format = Format::kJson;
  std::string step;  // of kHdr: the step of the times; empty: all
  std::string file;
};

inline constexpr std::string_view kOutHelp = "FORMAT is json, html, csv, junit, hdr, or hdr:WORKFLOW.STEP; repeatable";

void add_out_option(CLI::App* command, std::vector<std::string>& outs);
// The words of the command line after `option` ("--out"). kInvalid: something else than formats and files, or one file
// twice.
Result<std::vector<Out>> parse_outs(const std::vector<std::string>& words, std::string_view option = "--out");

// Whether all of it can be written, before the run.
Status can_deliver(const std::vector<Out>& outs);
// Whether these steps exist. kNotFound, with the nearest name.
Status has_steps(const std::vector<Out>& outs, std::span<const std::string_view> steps);
// The reports, and the summary on standard output. Returns the exit code of the process: that of the verdict, or, of a
// run that passed, kExitNotWritten when an output could not be written; the summary then says so. `verb` speaks in
// messages: "run".
int deliver(report::RunReport report, const std::vector<Out>& outs, std::string_view verb);

// Puts its result into the store. A failure does not change the run; it only goes to standard error.
void keep(results::Recorder& recorder, const report::RunReport& report);

// A request log that is not whole changes the verdict of a run that passed, as a missing report does.
void judge_log(const node::RequestLog::Outcome& logged, report::RunReport& report);

}  // namespace bellwether::cli

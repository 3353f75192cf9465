#include "cli/run/reports.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <sys/ioctl.h>
#include <system_error>
#include <unistd.h>

#include "cli/run/results.h"
#include "cli/sources.h"
#include "cli/verb.h"
#include "core/base/bytes.h"
#include "core/base/units.h"
#include "election/store/environment.h"
#include "load/report/reports.h"
#include "load/report/write_file.h"

namespace bellwether::cli {
namespace {

using Format = Out::Format;

constexpr int kWidestSummary = 120;  // columns, on a terminal that has more
constexpr std::array<std::string_view, 5> kFormats{"json", "csv", "junit", "html", "hdr"};  // in the order of Format

Result<Out> parse_out(const std::string& word, std::string_view option) {
  const std::string said = fmt::format("{} '{}': ", option, word);
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals + 1 == word.size()) {
    return fail(Errc::kInvalid, said + "write FORMAT=FILE, for example html=report.html");
  }
  Out out;
  std::string format = word.substr(0, equals);
  if (format.starts_with("hdr:")) {
    out.step = format.substr(4);
    if (out.step.empty()) return fail(Errc::kInvalid, said + "write hdr:WORKFLOW.STEP=FILE, or hdr=FILE");
    format.resize(3);
  }
  const auto known = std::find(kFormats.begin(), kFormats.end(), format);
  if (known == kFormats.end()) {
    const std::string_view near = nearest(format, kFormats);
    return fail(Errc::kInvalid, "{}FORMAT must be json, csv, junit, html or hdr{}", said,
                near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
  }
  out.format = static_cast<Format>(known - kFormats.begin());
  out.file = word.substr(equals + 1);
  if (out.file == "-") return fail(Errc::kInvalid, said + "name a file: standard output has the summary");
  return out;
}

Result<std::string> made(const std::string& json, const report::ResultFile& run, const Out& out) {
  switch (out.format) {
    case Format::kJson: return json;
    case Format::kCsv: return report::to_csv(run);
    case Format::kJunit: return report::to_junit(run);
    case Format::kHtml: return report::to_html(run);
    case Format::kHdr: break;
  }
  return report::to_hdr(run, out.step);
}

// `json` is the result file. A report that cannot be written does not stop the others. Returns the problems.
std::vector<std::string> write_outs(const std::string& json, const std::vector<Out>& outs) {
  std::vector<std::string> problems;
  if (outs.empty()) return problems;
  const auto run = report::read_result(json);
  for (const Out& out : outs) {
    Result<std::string> text = fail(Errc::kInvalid, "");
    if (run) {
      text = made(json, *run, out);
    } else if (out.format == Format::kJson) {
      text = json;
    } else {
      text = tl::unexpected(run.error());
    }
    const Status written = text ? report::write_file(out.file, *text) : Status(tl::unexpected(text.error()));
    if (!written) problems.push_back((text ? "" : out.file + ": ") + written.error().message);
  }
  return problems;
}

// False when not all of it was written. A reader that went away (`| head`) has had enough.
bool print_all(const std::string& text, std::string_view verb) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written || errno == EPIPE) return true;
  refuse(verb, "the summary could not be written: " + std::system_category().message(errno));
  return false;
}

}  // namespace

void add_out_option(CLI::App* command, std::vector<std::string>& outs) {
  add_list(command, "-o,--out", outs, std::string(kOutHelp))->type_name("FORMAT=FILE");
}

Result<std::vector<Out>> parse_outs(const std::vector<std::string>& words, std::string_view option) {
  std::vector<Out> outs;
  for (const std::string& word : words) {
    BW_TRY(auto out, parse_out(word, option));
    for (const Out& other : outs) {
      if (other.file == out.file) {
        return fail(Errc::kInvalid, "{} '{}': another report goes to that file", option, word);
      }
    }
    outs.push_back(std::move(out));
  }
  return outs;
}

Status can_deliver(const std::vector<Out>& outs) {
  for (const Out& out : outs) {
    BW_RETURN_IF_ERROR(report::can_write_file(out.file));
  }
  return {};
}

Status has_steps(const std::vector<Out>& outs, std::span<const std::string_view> steps) {
  for (const Out& out : outs) {
    if (out.step.empty() || std::find(steps.begin(), steps.end(), out.step) != steps.end()) continue;
    const std::string_view near = nearest(out.step, steps);
    return fail(Errc::kNotFound, "there is no step '{}' that makes requests{}", out.step,
                near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
  }
  return {};
}

int deliver(report::RunReport report, const std::vector<Out>& outs, std::string_view verb) {
  report::SummaryOptions look;
  look.wraps_verdict = ::isatty(STDOUT_FILENO) == 1;
  look.color = look.wraps_verdict && store::variable(&store::own_environment, "NO_COLOR").empty();
  winsize size{};
  if (look.wraps_verdict && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    look.width = std::min<int>(size.ws_col, kWidestSummary);
  }
  aggregate::Verdict& verdict = report.verdict;
  const std::vector<std::string> problems =
      outs.empty() ? std::vector<std::string>() : write_outs(report::to_json(report), outs);
  if (!problems.empty() && verdict.exit_code == kExitOk) {
    verdict.exit_code = aggregate::kExitNotWritten;
    verdict.reason += fmt::format("; {} could not be written", format_count(problems.size(), "report"));
  }
  // After the files, because a stopped terminal can keep it waiting.
  const bool printed = print_all(report::summary(report, look), verb);
  for (const std::string& problem : problems) refuse(verb, problem);
  return printed || verdict.exit_code != kExitOk ? verdict.exit_code : aggregate::kExitNotWritten;
}

void keep(results::Recorder& recorder, const report::RunReport& report) {
  const results::Limits limits;
  const std::string_view verdict =
      report.confirmed ? aggregate::to_string(report.verdict.outcome) : results::kUnconfirmed;
  const auto outcome = recorder.end(report::to_json(report), std::string(verdict), report.verdict.exit_code, limits);
  if (!outcome.problem.empty()) {
    std::fprintf(
        stderr,
        "warning: the run was not stored completely: %s. --store FILE stores it elsewhere, --no-store does not "
        "store it.\n",
        outcome.problem.c_str());
  }
  if (outcome.removed > 0) {
    std::fprintf(stderr, "The oldest stored runs were deleted: %zu. At most %llu are kept, of %llu MiB together.\n",
                 outcome.removed, static_cast<unsigned long long>(limits.runs),
                 static_cast<unsigned long long>(limits.bytes >> 20U));
  }
}

// bellwether report: the reports of a run that is over, from its result file or from the store.

namespace {

struct ReportArguments {
  std::string run;
  std::vector<std::string> to;
  std::string store;
};

Result<int> report_command(const ReportArguments& given) {
  BW_TRY(auto outs, parse_outs(given.to, "--to"));
  BW_TRY(const auto document, document_of(given.run, given.store));
  const auto run = report::read_result(document);
  if (!run) return fail(Errc::kInvalid, "'{}': {}", given.run, run.error().message);
  std::vector<std::string_view> steps;
  for (const report::ResultStep& step : run->steps) steps.emplace_back(step.name);
  BW_RETURN_IF_ERROR(has_steps(outs, steps));
  BW_RETURN_IF_ERROR(can_deliver(outs));
  const std::vector<std::string> problems = write_outs(document, outs);
  for (const std::string& problem : problems) refuse("report", problem);
  return problems.empty() ? kExitOk : kExitUsage;
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  auto given = std::make_shared<ReportArguments>();
  CLI::App* command = new_verb(app, "report");
  command->add_option("RUN|FILE", given->run, "A stored run (its id, last, last~1), or a result file")->required();
  add_list(command, "--to", given->to, std::string(kOutHelp))->type_name("FORMAT=FILE")->required();
  add_store_option(command, given->store);
  command->footer("Exit codes: 0 all reports were written, 104 a report was not written.");
  command->callback([given, &exit_code] { exit_code = answer("report", report_command(*given)); });
}

void judge_log(const node::RequestLog::Outcome& logged, report::RunReport& report) {
  if (logged.left_out > 0) {
    std::fprintf(stderr, "warning: --request-log left out %llu rows: the file took them too slowly.\n",
                 static_cast<unsigned long long>(logged.left_out));
  }
  if (logged.problem.empty()) return;
  refuse("run", logged.problem);
  if (report.verdict.exit_code != kExitOk) return;
  report.verdict.exit_code = aggregate::kExitNotWritten;
  report.verdict.reason += "; the request log could not be written";
}

}  // namespace bellwether::cli

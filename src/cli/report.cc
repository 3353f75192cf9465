// bellwether report: the reports of a run that is over, from its result file or from the store.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/outs.h"
#include "cli/sources.h"
#include "cli/stored_runs.h"
#include "cli/verb.h"

namespace bellwether::cli {
namespace {

struct ReportArguments {
  std::string run;
  std::vector<std::string> to;
  std::string store;
};

int report_command(const ReportArguments& given) {
  auto outs = parse_outs(given.to, "--to");
  if (!outs) return refuse("report", outs.error().message);
  const auto document = document_of(given.run, given.store);
  if (!document) return refuse("report", document.error().message);
  const auto run = report::read_result(*document);
  if (!run) return refuse("report", "'" + given.run + "': " + run.error().message);
  std::vector<std::string_view> steps;
  for (const report::ResultStep& step : run->steps) steps.emplace_back(step.name);
  if (auto has = has_steps(*outs, steps); !has) return refuse("report", has.error().message);
  if (auto can = can_deliver(*outs); !can) return refuse("report", can.error().message);
  return write_outs(*document, *outs, "report") ? kExitOk : kExitUsage;
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  auto given = std::make_shared<ReportArguments>();
  CLI::App* command = new_verb(app, "report", "Make reports of a run that is over");
  command->add_option("RUN|FILE", given->run, "A stored run (its id, last, last~1), or a result file")->required();
  command->add_option("--to", given->to, std::string(kOutHelp))->required()->take_all()->allow_extra_args(false);
  add_store_option(command, given->store);
  command->footer(
      "Exit codes: 0 all were written, 104 not all.\n"
      "Examples:\n"
      "  bellwether report last --to html=report.html\n"
      "  bellwether report result.json --to csv=series.csv --to junit=junit.xml\n"
      "  bellwether report last~1 --to hdr:browse.list=list.hgrm");
  command->callback([given, &exit_code] { exit_code = report_command(*given); });
}

}  // namespace bellwether::cli

// bellwether check FILE: is the scenario right? Sends nothing.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/sources.h"
#include "cli/verb.h"

namespace bellwether::cli {
namespace {

struct CheckOptions {
  std::string file;
  std::vector<std::string> sets;
};

std::string describe(const plan::Plan& plan, const plan::Workflow& workflow) {
  std::string text = "  " + workflow.name + ": " + format_count(workflow.steps.size(), "step") + " in " +
                     format_count(workflow.layers.size(), "layer") + ", ";
  if (const auto* vus = std::get_if<plan::ConstantVus>(&workflow.executor)) {
    text += "constant-vus, " + format_count(vus->vus, "VU") + " for " + format_duration(vus->duration);
  } else if (const auto* rate = std::get_if<plan::ConstantArrivalRate>(&workflow.executor)) {
    char number[32];
    std::snprintf(number, sizeof number, "%g", rate->rate_per_s);
    text += std::string("constant-arrival-rate, ") + number + "/s for " + format_duration(rate->duration);
  } else {
    text += "runs once";
  }
  for (std::size_t i = 0; i < workflow.depends.size(); ++i) {
    text += (i == 0 ? ", after " : " and ") + plan.workflows[workflow.depends[i]].name;
  }
  return text;
}

int run_check(const CheckOptions& options) {
  auto sets = parse_sets(options.sets);
  if (!sets) {
    std::fprintf(stderr, "bellwether check: %s\n", sets.error().message.c_str());
    return kExitUsage;
  }
  client::Scenario scenario;
  scenario.file = options.file;
  scenario.variables = std::move(*sets);
  const auto bundled = load_scenario(scenario);
  if (!bundled) {
    std::fprintf(stderr, "bellwether check: %s\n", bundled.error().message.c_str());
    return kExitUsage;
  }
  const plan::Plan& plan = bundled->plan;
  std::printf("%s: ok\n", options.file.c_str());
  for (const plan::Workflow& workflow : plan.workflows) std::printf("%s\n", describe(plan, workflow).c_str());
  std::printf("  %s, %s\n", format_count(plan.checks.size(), "check").c_str(),
              format_count(plan.thresholds.size(), "threshold").c_str());
  return kExitOk;
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = new_verb(app, "check", "Check a scenario file; sends nothing");
  command->add_option("FILE", options->file, "Scenario file")->required();
  command->add_option("-e,--set", options->sets, "NAME=VALUE: sets a variable of the scenario")
      ->take_all()
      ->allow_extra_args(false);
  command->footer(
      "Exit codes: 0 right, 104 wrong (each error on stderr as FILE:LINE:COLUMN).\n"
      "Example:\n  bellwether check examples/first.yaml --set BASE=http://127.0.0.1:8080");
  command->callback([options, &exit_code] { exit_code = run_check(*options); });
}

}  // namespace bellwether::cli

// bellwether check FILE: is the scenario right? Sends nothing. bellwether check --schema: what editors check it with.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/machine_limits.h"
#include "cli/sources.h"
#include "cli/verb.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/signature/signature.h"
#include "load/plan/stages.h"
#include "load/scenario/schema.h"

namespace bellwether::cli {
namespace {

struct CheckOptions {
  std::string file;
  bool schema = false;
  std::vector<std::string> sets;
  script::lua::Permissions scripts;
};

std::string rate_text(double per_s) {
  char number[32];
  std::snprintf(number, sizeof number, "%g/s", per_s);
  return number;
}

struct Words {
  std::string operator()(const plan::ConstantVus& one) const {
    return format_count(one.vus, "VU") + " for " + format_duration(one.duration);
  }
  std::string operator()(const plan::RampingVus& one) const {
    return "up to " + format_count(plan::most_vus(one.start_vus, one.stages), "VU") + " in " +
           format_count(one.stages.size(), "stage") + ", " + format_duration(plan::length_of(one.stages));
  }
  std::string operator()(const plan::Iterations& one) const {
    return format_count(one.iterations, "iteration") + (one.shared ? " by " : " by each of ") +
           format_count(one.vus, "VU") + " in at most " + format_duration(one.max_duration);
  }
  std::string operator()(const plan::ArrivalRate& one) const {
    const Duration length = plan::length_of(one.stages);
    double most = 0;
    for (const plan::RateStage& stage : one.stages) most = std::max({most, stage.from_per_s, stage.to_per_s});
    const bool level = plan::facts_of(one).name == "constant-arrival-rate";
    if (level) return rate_text(most) + " for " + format_duration(length);
    return "up to " + rate_text(most) + " in " + format_count(one.stages.size(), "stage") + ", " +
           format_duration(length);
  }
  std::string operator()(const plan::ExternallyControlled& one) const {
    return format_count(one.vus, "VU") + " at its begin and up to " + std::to_string(one.vus_most) +
           (one.duration ? " for " + format_duration(*one.duration) : " until it is stopped");
  }
  std::string operator()(const plan::Once&) const { return "runs once"; }
};

std::string describe(const plan::Plan& plan, const plan::Workflow& workflow) {
  std::string text = "  " + workflow.name + ": " + format_count(workflow.steps.size(), "step") + " in " +
                     format_count(workflow.layers.size(), "layer") + ", ";
  const std::string name(plan::facts_of(workflow.executor).name);
  text += (name.empty() ? name : name + ", ") + std::visit(Words{}, workflow.executor);
  for (std::size_t i = 0; i < workflow.depends.size(); ++i) {
    text += (i == 0 ? ", after " : " and ") + plan.workflows[workflow.depends[i]].name;
  }
  return text;
}

// What runs beside what, and on how many of the cores; nothing where all share all of them.
std::string describe_order(const plan::Plan& plan, uint32_t cores) {
  const std::vector<plan::Stage> stages = plan::stages_of(plan, cores);
  if (std::none_of(stages.begin(), stages.end(), [](const plan::Stage& stage) { return stage.apart; })) return {};
  std::string text;
  for (const plan::Stage& stage : stages) {
    text += text.empty() ? "  on " + format_count(cores, "core") + ": " : ", then ";
    for (const plan::CoreGrant& grant : stage.grants) {
      if (&grant != &stage.grants.front()) text += " beside ";
      text += plan.workflows[grant.workflow].name + " on " + std::to_string(grant.cores);
    }
  }
  return text + "\n";
}

// The files that it was made from beside the scenario, each once, as paths from here.
std::vector<std::string> files_of(const std::string& scenario, const scenario::Bundle& bundle) {
  std::set<std::string> out;
  const auto& record = std::get<scenario::RecordedScenario>(bundle);
  for (const auto& [question, answer] : record.files) out.insert(scenario::beside(scenario, question.path));
  for (const auto& [question, answer] : record.views) out.insert(scenario::beside(scenario, question.path));
  return {out.begin(), out.end()};
}

// Who has signed a compiled program. What is compiled anew each time nobody has.
std::string vouched_by(const plan::Program& program) {
  if (program.language != plan::Program::Language::kNative || program.name.starts_with('/')) return {};
  const auto read = signature::read(*program.text, program.name);
  if (!read && read.error().code != Errc::kNotFound) return "  " + printable(read.error().message) + "\n";
  if (!read) return "  " + printable(program.name) + ": not signed, so it runs on this machine only\n";
  return "  " + printable(program.name) + ": signed by key " + signature::name_of(read->key) + ", with bellwether " +
         printable(read->versions.product) + "\n";
}

int run_check(const CheckOptions& options) {
  if (options.schema == !options.file.empty()) {
    std::fprintf(stderr, "bellwether check: %s\n  see 'bellwether check --help'\n",
                 options.schema ? "--schema prints the schema of all scenarios, and takes no FILE"
                                : "FILE is missing: the scenario to check");
    return kExitUsage;
  }
  if (options.schema) {
    std::fputs(scenario::schema_text().c_str(), stdout);
    return kExitOk;
  }
  auto sets = parse_sets(options.sets);
  if (!sets) {
    std::fprintf(stderr, "bellwether check: %s\n", sets.error().message.c_str());
    return kExitUsage;
  }
  client::Scenario scenario;
  scenario.file = options.file;
  scenario.variables = std::move(*sets);
  const auto native = native_of(options.file);
  const auto bundled = native ? load_scenario(scenario, *native, options.scripts)
                              : Result<plan::Bundled>(tl::unexpected(native.error()));
  if (!bundled) {
    std::fprintf(stderr, "bellwether check: %s\n", bundled.error().message.c_str());
    return kExitUsage;
  }
  const plan::Plan& plan = bundled->plan;
  std::printf("%s: ok\n", options.file.c_str());
  for (const plan::Workflow& workflow : plan.workflows) std::printf("%s\n", describe(plan, workflow).c_str());
  std::fputs(describe_order(plan, usable_cpus()).c_str(), stdout);
  for (const std::string& file : files_of(options.file, bundled->bundle)) std::printf("  reads %s\n", file.c_str());
  for (const plan::Program& program : plan.programs) std::fputs(vouched_by(program).c_str(), stdout);
  std::printf("  %s, %s\n", format_count(plan.checks.size(), "check").c_str(),
              format_count(plan.thresholds.size(), "threshold").c_str());
  return kExitOk;
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = new_verb(app, "check", "Check a scenario file; sends nothing");
  command->add_option("FILE", options->file, "Scenario: FILE.yaml, FILE.lua, FILE.cc or FILE.bw");
  command->add_flag("--schema", options->schema,
                    "Print the JSON Schema of scenario files, for editors; checks nothing");
  command->add_option("-e,--set", options->sets, "NAME=VALUE: sets a variable of the scenario")
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("--allow-files", options->scripts.files, "Lua scripts may read and write files");
  command->add_flag("--allow-processes", options->scripts.processes, "Lua scripts may start other programs");
  command->footer(
      "Exit codes: 0 right, 104 wrong (each error on stderr as FILE:LINE:COLUMN).\n"
      "Examples:\n  bellwether check examples/first.yaml --set BASE=http://127.0.0.1:8080\n"
      "  bellwether check --schema > scenario.schema.json");
  command->callback([options, &exit_code] { exit_code = run_check(*options); });
}

}  // namespace bellwether::cli

// bellwether check FILE: whether the scenario is right. Sends nothing. bellwether check --schema: the schema for
// editors. bellwether build FILE.cc: compiles a workflow in C++.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bellwether/workflow_abi.h"
#include "cli/run/machine_limits.h"
#include "cli/sources.h"
#include "cli/verb.h"
#include "core/base/encoding.h"
#include "core/base/product.h"
#include "core/base/units.h"
#include "core/signature/signature.h"
#include "load/plan/sequence.h"
#include "load/report/write_file.h"
#include "load/scenario/keys.h"
#include "load/script/native/build.h"
#include "load/script/native/declarations.h"

namespace bellwether::cli {
namespace {

struct CheckOptions {
  std::string file;
  bool schema = false;
  std::vector<std::string> sets;
  script::lua::Permissions scripts;
};

std::string describe(const plan::Plan& plan, const plan::Workflow& workflow) {
  std::string text = fmt::format("  {}: {}, ", workflow.name, format_count(workflow.steps.size(), "step"));
  if (workflow.order.width > 1) text += fmt::format("up to {} at once, ", workflow.order.width);
  const std::string name(plan::facts_of(workflow.executor).name);
  text += (name.empty() ? name : name + ", ") + plan::load_text(workflow.executor);
  for (std::size_t i = 0; i < workflow.depends.size(); ++i) {
    text += (i == 0 ? ", after " : " and ") + plan.workflows[workflow.depends[i]].name;
  }
  return text;
}

// The workflows that run side by side, and their cores; empty when all share all cores.
std::string describe_order(const plan::Plan& plan, uint32_t cores) {
  const std::vector<plan::Stage> stages = plan::stages_of(plan, cores);
  if (std::ranges::none_of(stages, [](const plan::Stage& stage) { return stage.apart; })) return {};
  std::string text;
  for (const plan::Stage& stage : stages) {
    text += text.empty() ? fmt::format("  on {}: ", format_count(cores, "core")) : ", then ";
    for (const plan::CoreGrant& grant : stage.grants) {
      if (&grant != &stage.grants.front()) text += " beside ";
      text += fmt::format("{} on {}", plan.workflows[grant.workflow].name, grant.cores);
    }
  }
  return text + "\n";
}

// The files of the scenario beside its own, each once, as paths from here.
std::vector<std::string> files_of(const std::string& scenario, const scenario::Bundle& bundle) {
  std::set<std::string> out;
  const auto& record = std::get<scenario::RecordedScenario>(bundle);
  for (const auto& [question, answer] : record.files) out.insert(scenario::beside(scenario, question.path));
  for (const auto& [question, answer] : record.views) out.insert(scenario::beside(scenario, question.path));
  return {out.begin(), out.end()};
}

// The signer of a compiled program. A program that is compiled anew each time has none.
std::string vouched_by(const plan::Program& program) {
  if (program.language != plan::Program::Language::kNative || program.name.starts_with('/')) return {};
  const auto read = signature::read(*program.text, program.name);
  if (!read && read.error().code != Errc::kNotFound) return fmt::format("  {}\n", printable(read.error().message));
  if (!read) return fmt::format("  {}: not signed, so it runs on this machine only\n", printable(program.name));
  return fmt::format("  {}: signed by key {}, with bellwether {}\n", printable(program.name),
                     signature::name_of(read->key), printable(read->versions.product));
}

Result<int> run_check(const CheckOptions& options) {
  if (options.schema == !options.file.empty()) {
    return fail(Errc::kInvalid,
                std::string(options.schema ? "--schema prints the schema of all scenarios, and takes no FILE"
                                           : "FILE is missing: the scenario to check") +
                    "\nSee 'bellwether check --help'.");
  }
  if (options.schema) {
    std::fputs(scenario::schema_text().c_str(), stdout);
    return kExitOk;
  }
  BW_TRY(auto sets, parse_pairs(options.sets));
  client::Scenario scenario;
  scenario.file = options.file;
  scenario.variables = std::move(sets);
  BW_TRY(const auto native, native_of(options.file));
  BW_TRY(const auto bundled, load_scenario(scenario, native, options.scripts));
  const plan::Plan& plan = bundled.plan;
  std::printf("%s: ok\n", options.file.c_str());
  for (const plan::Workflow& workflow : plan.workflows) std::printf("%s\n", describe(plan, workflow).c_str());
  std::fputs(describe_order(plan, usable_cpus()).c_str(), stdout);
  for (const std::string& file : files_of(options.file, bundled.bundle)) std::printf("  reads %s\n", file.c_str());
  for (const plan::Program& program : plan.programs) std::fputs(vouched_by(program).c_str(), stdout);
  std::printf("  %s, %s\n", format_count(plan.checks.size(), "check").c_str(),
              format_count(plan.thresholds.size(), "threshold").c_str());
  return kExitOk;
}

// --- build -----------------------------------------------------------------------------------------------------------

struct BuildArguments {
  script::native::BuildOptions build;
  std::string out;
  std::string sign_key;
};

// "load/shop.cc" makes "load/shop.bw".
std::string artifact_beside(const std::string& source) { return source.substr(0, source.rfind('.')) + ".bw"; }

Status run_build(BuildArguments arguments) {
  if (!script::native::is_source(arguments.build.file)) {
    return fail(Errc::kInvalid, "'{}' is no file in C++: FILE.cc, FILE.cpp or FILE.cxx", arguments.build.file);
  }
  std::optional<signature::SigningKey> key;
  if (!arguments.sign_key.empty()) {
    BW_TRY(key, read_signing_key(arguments.sign_key));
  }
  BW_TRY(arguments.build.cache, script::native::cache_folder());
  auto built = script::native::build(arguments.build);
  if (!built && built.error().code == Errc::kInvalid) {
    std::fprintf(stderr, "%s\n", built.error().message.c_str());
    return fail(Errc::kInvalid, arguments.build.file + ": it does not compile");
  }
  BW_TRY(const auto library, std::move(built));
  BW_TRY(auto bytes, read_whole_file(library, signature::kMaxProgramBytes));
  const std::string out = arguments.out.empty() ? artifact_beside(arguments.build.file) : arguments.out;
  BW_RETURN_IF_ERROR(script::native::describe(bytes, out));
  if (key) bytes = signature::sign(bytes, {BELLWETHER_ABI_VERSION, std::string(kProductVersion)}, *key);
  if (bytes.size() > signature::kMaxProgramBytes) {
    return fail(Errc::kTooLarge, "'{}' would be larger than {} MiB, and nothing could run it", out,
                signature::kMaxProgramBytes >> 20);
  }
  BW_RETURN_IF_ERROR(report::write_file(out, bytes));
  const std::string by = key ? " and signed by key " + signature::name_of(key->public_key()) : "";
  std::printf("%s: built%s; run it with: bellwether run %s\n", out.c_str(), by.c_str(), out.c_str());
  return {};
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = new_verb(app, "check");
  command->add_option("FILE", options->file, "Scenario: FILE.yaml, FILE.lua, FILE.cc or FILE.bw");
  command->add_flag("--schema", options->schema, "Print the JSON Schema of scenario files for editors; check nothing");
  add_sets(command, options->sets);
  add_permissions(command, options->scripts);
  command->footer("Exit codes: 0 right, 104 wrong (each error on stderr as FILE:LINE:COLUMN).");
  command->callback([options, &exit_code] { exit_code = answer("check", run_check(*options)); });
}

void add_build(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<BuildArguments>();
  CLI::App* command = new_verb(app, "build");
  command->add_option("FILE", arguments->build.file, "Source file of the workflow: FILE.cc")->required();
  add_text(command, "-o,--output", arguments->out, "FILE", "File to write (default: FILE.bw beside the source)");
  add_text(command, "--compiler", arguments->build.compiler, "COMMAND",
           "Compiler (default: the first found of clang++-16, clang++ and g++)");
  add_sign_option(command, arguments->sign_key);
  command->add_flag("--verbose", arguments->build.verbose,
                    "Print all messages of the compiler, not only the first errors");
  command->footer(
      "`bellwether run FILE.cc` builds by itself, and keeps the result in $XDG_CACHE_HOME/bellwether. Clusters run "
      "only programs signed by a key that the workers trust. Pages of the documentation: \"Workflows in C++\" and "
      "\"Workflows in C++ on a cluster\".\n"
      "\n"
      "Exit codes: 0 built, 104 not built.");
  command->callback([arguments, &exit_code] {
    const Status built = run_build(*arguments);
    exit_code = built ? kExitOk : refuse("build", built.error().message);
  });
}

}  // namespace bellwether::cli

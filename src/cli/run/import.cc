// bellwether import: a scenario file made of a curl command line, a recording, an OpenAPI document or a collection.

#include "load/import/import.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <sys/stat.h>

#include "cli/sources.h"
#include "cli/verb.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "load/report/write_file.h"

namespace bellwether::cli {
namespace {

struct ImportArguments {
  std::string from;
  std::string out;
  imports::Choices choices;
  bool force = false;
};

struct ImportFormat {
  const char* name;
  const char* argument;
  const char* help;
  imports::Import (*make)(const imports::Source&, const imports::Choices&);
};
constexpr ImportFormat kImportFormats[] = {
    {"curl", "COMMAND", "A command line in quotes, or a file of them; - or nothing: standard input",
     imports::from_curl},
    {"har", "FILE", "Recording (HAR); - or nothing: standard input", imports::from_har},
    {"openapi", "FILE", "OpenAPI document, JSON or YAML; - or nothing: standard input", imports::from_openapi},
    {"postman", "FILE", "Collection (v2.0 or v2.1); - or nothing: standard input", imports::from_postman},
};

Result<imports::Source> read_import(const ImportArguments& arguments) {
  const std::string& from = arguments.from;
  if (from.find_first_of(" \n") != std::string::npos && (from.starts_with("curl ") || from.starts_with("curl\n"))) {
    return imports::Source{"curl", from};
  }
  const bool is_input = from.empty() || from == "-";
  BW_TRY(auto text, read_whole_file(is_input ? "/dev/stdin" : from, imports::kMaxSourceBytes));
  return imports::Source{is_input ? "standard input" : from, std::move(text)};
}

Result<int> run_import(const ImportFormat& format, const ImportArguments& arguments) {
  const std::string verb = fmt::format("import {}", format.name);
  struct stat status {};
  const bool is_there = !arguments.out.empty() && ::stat(arguments.out.c_str(), &status) == 0;
  if (is_there && S_ISREG(status.st_mode) && !arguments.force) {
    return fail(Errc::kExists, "'{}' exists already; --force replaces it", arguments.out);
  }
  BW_TRY(const imports::Source source, read_import(arguments));
  const imports::Import made = format.make(source, arguments.choices);
  if (!made) {
    for (const yaml::Diagnostic& diagnostic : made.error()) {
      std::fprintf(stderr, "%s\n", yaml::format(diagnostic).c_str());
    }
    return fail(Errc::kInvalid, "{}: {}", source.name, format_count(made.error().size(), "error"));
  }
  for (const std::string& warning : made->warnings) refuse(verb, "warning: " + printable(warning));
  if (!made->unset.empty()) {
    std::string sets;
    for (const std::string& name : made->unset) sets += fmt::format(" --set {}=…", name);
    refuse(verb, fmt::format("the scenario needs values, by --set or as environment variables:{}", sets));
  }
  if (arguments.out.empty()) {
    BW_RETURN_IF_ERROR(report::write_to(1, made->scenario, "standard output"));
    return kExitOk;
  }
  BW_RETURN_IF_ERROR(report::write_file(arguments.out, made->scenario));
  std::printf("%s: %s; run it with: bellwether run %s\n", printable(arguments.out).c_str(),
              format_count(made->steps, "step").c_str(), shell_word(arguments.out).c_str());
  return kExitOk;
}

}  // namespace

void add_import(CLI::App& app, int& exit_code) {
  CLI::App* const command = new_verb(app, "import");
  command->require_subcommand(1);
  command->footer("What each format becomes: the page \"Import requests\" of the documentation.");
  for (const ImportFormat& format : kImportFormats) {
    const auto arguments = std::make_shared<ImportArguments>();
    CLI::App* const one = new_verb(*command, format.name);
    one->add_option(format.argument, arguments->from, format.help);
    add_text(one, "-o,--output", arguments->out, "FILE", "Write the scenario to this file, not to standard output");
    one->add_flag("--force", arguments->force, "Replace the file");
    const bool is_recording = format.make == imports::from_har;
    if (is_recording) {
      add_more(one, "--host", arguments->choices.hosts, "Keep the requests to this host and its subdomains; repeatable",
               "HOST");
      one->add_flag("--all", arguments->choices.all, "Keep images, styles, scripts, fonts and preflight requests too");
      one->add_flag("--pauses", arguments->choices.pauses, "Turn pauses of half a second or more into 'think'");
    }
    if (format.make != imports::from_openapi) {
      one->add_flag("--keep-secrets", arguments->choices.keep_secrets,
                    "Write passwords, tokens and cookies into the scenario, under 'env'");
    }
    one->footer("Exit codes: 0 written, 104 wrong input (each error on stderr as FILE:LINE:COLUMN) or command line.");
    one->callback([&format, arguments, &exit_code] {
      exit_code = answer(std::string("import ") + format.name, run_import(format, *arguments));
    });
  }
}

}  // namespace bellwether::cli

// bellwether alerts POLICY: Prometheus rules for the loops of a policy sheet.

#include "lead/policy/alerts.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/sources.h"
#include "cli/verb.h"
#include "core/base/units.h"

namespace bellwether::cli {
namespace {

struct AlertOptions {
  std::string file;
  std::string via;
  std::string store_p99 = "50ms";
  std::string scrape = "15s";
  std::string runbook_url;
};

int run_alerts(const AlertOptions& options) {
  lead::AlertSettings settings{.default_store = options.via, .runbook_url = options.runbook_url};
  for (const auto& [name, text, into] : {std::tuple{"--store-p99", &options.store_p99, &settings.operation},
                                         {"--scrape", &options.scrape, &settings.scrape}}) {
    const auto span = parse_duration(*text);
    if (!span || *span <= Duration::zero() || *span > Duration::hours(1)) {
      std::fprintf(stderr, "bellwether alerts: %s '%s': write a duration such as 15s, at most 1h\n", name,
                   text->c_str());
      return kExitUsage;
    }
    *into = *span;
  }
  if (options.runbook_url.find("{{") != std::string::npos) {
    std::fprintf(stderr, "bellwether alerts: --runbook-url: Prometheus would take '{{' for a template\n");
    return kExitUsage;
  }
  std::vector<yaml::Diagnostic> warnings;
  const auto policy = load_policy(options.file, warnings);
  if (!policy) {
    std::fprintf(stderr, "bellwether alerts: %s\n", policy.error().message.c_str());
    return kExitUsage;
  }
  std::fputs(prometheus_rules(*policy, settings).c_str(), stdout);
  return kExitOk;
}

}  // namespace

void add_alerts(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<AlertOptions>();
  CLI::App* command = new_verb(app, "alerts", "Prometheus rules for the loops of a policy sheet");
  command->add_option("POLICY", options->file, "Policy sheet (YAML)")->required();
  command->add_option("--via", options->via, "Store, where the sheet names none")->type_name("URL");
  command->add_option("--store-p99", options->store_p99, "One operation of the store, 99 of 100 times (default 50ms)")
      ->type_name("TIME");
  command->add_option("--scrape", options->scrape, "How often Prometheus looks (default 15s)")->type_name("TIME");
  command->add_option("--runbook-url", options->runbook_url, "Page that each alert links to, with its name as fragment")
      ->type_name("URL");
  command->footer(
      "Example:\n"
      "  bellwether alerts examples/leadership/policy.yaml > rules.yaml && promtool check rules rules.yaml\n\n"
      "Exit codes: 0 printed, 104 wrong sheet or command line.");
  command->callback([options, &exit_code] { exit_code = run_alerts(*options); });
}

}  // namespace bellwether::cli

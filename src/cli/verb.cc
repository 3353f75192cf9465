#include "cli/verb.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>

#include "cli/help.h"
#include "core/base/bytes.h"
#include "core/base/units.h"

namespace bellwether::cli {
namespace {

Result<Duration> duration_argument(const std::string& text, Bare bare) {
  const auto seconds = bare == Bare::kSeconds ? parse_u64(text) : std::nullopt;
  if (seconds && *seconds < 1'000'000'000) return Duration::seconds(static_cast<int64_t>(*seconds));
  return parse_duration(text);
}

template <class Target>
void add_span(CLI::App* verb, const std::string& names, Target& into, const std::string& help, Bare bare) {
  // The check runs first, and its error names the option.
  const std::function<std::string(const std::string&)> judge = [bare](const std::string& text) {
    const auto parsed = duration_argument(text, bare);
    return parsed ? std::string() : parsed.error().message;
  };
  auto take = [&into, bare](const std::string& text) { into = *duration_argument(text, bare); };
  verb->add_option_function<std::string>(names, take, help)->type_name("TIME")->check(judge);
}

}  // namespace

CLI::App* new_verb(CLI::App& parent, std::string name) {
  CLI::App* verb = parent.add_subcommand(std::move(name));
  verb->description(purpose_of(path_of(*verb)));
  // It would inherit the exit codes of its parent, which do not apply.
  verb->footer("");
  // The parent would take an option that stands before this verb, and nobody would look at it.
  if (parent.get_parent() != nullptr) {
    verb->preparse_callback([&parent, verb](std::size_t) {
      for (const CLI::Option* option : parent.get_options()) {
        if (option->count() == 0 || option == parent.get_help_ptr()) continue;
        throw CLI::ValidationError(
            fmt::format("write {} after '{}', which it is for", option->get_name(), verb->get_name()));
      }
    });
  }
  return verb;
}

int refuse(std::string_view verb, const std::string& text, int code) {
  std::fprintf(stderr, "bellwether %.*s: %s\n", static_cast<int>(verb.size()), verb.data(), text.c_str());
  return code;
}

void add_seed(CLI::App* verb, uint64_t& into, const std::string& help) {
  // The parser reads a negative number as a large one.
  const std::function<std::string(const std::string&)> judge = [](const std::string& text) {
    return std::string(text.starts_with('-') ? "negative" : "");
  };
  verb->add_option("--seed", into, help)->check(judge);
}

void add_duration(CLI::App* verb, const std::string& names, Duration& into, const std::string& help) {
  add_span(verb, names, into, help, Bare::kRefused);
}

void add_duration(CLI::App* verb, const std::string& names, std::optional<Duration>& into, const std::string& help,
                  Bare bare) {
  add_span(verb, names, into, help, bare);
}

CLI::Option* add_text(CLI::App* verb, const std::string& names, std::string& into, const std::string& kind,
                      std::string help) {
  return verb->add_option(names, into, std::move(help))->type_name(kind);
}

CLI::Option* add_choice(CLI::App* verb, const std::string& names, std::string& into, std::vector<std::string> choices,
                        std::string help) {
  const std::string known = CLI::detail::join(choices, "|");
  const std::function<std::string(const std::string&)> judge = [choices = std::move(choices)](const std::string& word) {
    if (std::ranges::find(choices, word) != choices.end()) return std::string();
    return fmt::format("'{}' is not one of {}{}", word, CLI::detail::join(choices, ", "), did_you_mean(word, choices));
  };
  return verb->add_option(names, into, std::move(help))->type_name(known)->check(judge);
}

CLI::Option* add_list(CLI::App* verb, const std::string& names, std::vector<std::string>& into, std::string help) {
  return verb->add_option(names, into, std::move(help))->take_all()->allow_extra_args(false);
}

void add_more(CLI::App* verb, const std::string& names, std::vector<std::string>& into, std::string help,
              const std::string& kind) {
  add_list(verb, names, into, std::move(help))->type_name(kind)->expected(1);
}

void add_telling(CLI::App* verb, Telling& telling, std::string& audit, std::string* metrics, bool& json,
                 const char* audited, const char* told) {
  verb->add_option("--audit", audit, fmt::format("Append every {} to this file, as JSON", audited))->type_name("FILE");
  if (metrics != nullptr) {
    verb->add_option("--metrics", *metrics, "Serve /metrics, /healthz, /leader and /follower here")
        ->type_name("HOST:PORT");
  }
  verb->add_flag("--json", json, "Print messages as JSON, one object a line");
  verb->add_flag("-q,--quiet", telling.quiet, "Print errors only");
  verb->add_flag("-v,--verbose", telling.verbose, "Tell every " + std::string(told));
}

void add_lease_bounds(CLI::App* verb, LeaseBounds& bounds, const char* help_least, const char* help_most) {
  add_duration(verb, "--ttl-min", bounds.least, help_least);
  add_duration(verb, "--ttl-max", bounds.most, help_most);
}

Result<election::AdaptiveSettings> settings_within(const LeaseBounds& bounds, Duration first, Duration usual_most) {
  election::AdaptiveSettings settings;
  settings.lease_min = bounds.least.value_or(first);
  settings.lease_max = bounds.most.value_or(usual_most);
  if (settings.lease_min > first || first > settings.lease_max) {
    return fail(Errc::kInvalid, "the lease must lie within its bounds: --ttl-min {}, --ttl {}, --ttl-max {}",
                format_duration(settings.lease_min), format_duration(first), format_duration(settings.lease_max));
  }
  if (const auto good = election::LeaseTiming::of(settings.lease_min).validate(); !good) {
    return fail(Errc::kInvalid, "--ttl-min: " + good.error().message);
  }
  return settings;
}

std::string who_asks(const std::string& by, std::string_view usual) {
  if (!by.empty()) return by;
  const char* user = std::getenv("USER");  // NOLINT(concurrency-mt-unsafe): one thread
  return user == nullptr || *user == '\0' ? std::string(usual) : user;
}

}  // namespace bellwether::cli

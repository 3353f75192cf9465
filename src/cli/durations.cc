#include "cli/durations.h"

#include <CLI/CLI.hpp>

#include "core/base/bytes.h"
#include "core/base/units.h"

namespace bellwether::cli {
namespace {

Duration duration_argument(const std::string& text) {
  if (const auto seconds = parse_u64(text); seconds && *seconds < 1'000'000'000) {
    return Duration::seconds(static_cast<int64_t>(*seconds));
  }
  const auto parsed = parse_duration(text);
  if (!parsed) throw CLI::ValidationError(parsed.error().message);
  return *parsed;
}

template <class Target>
void add(CLI::App* command, const std::string& names, Target& into, const std::string& help) {
  auto take = [&into](const std::string& text) { into = duration_argument(text); };
  command->add_option_function<std::string>(names, take, help)->type_name("TIME");
}

}  // namespace

void add_duration(CLI::App* command, const std::string& names, Duration& into, const std::string& help) {
  add(command, names, into, help);
}

void add_duration(CLI::App* command, const std::string& names, std::optional<Duration>& into, const std::string& help) {
  add(command, names, into, help);
}

}  // namespace bellwether::cli

#include "cli/sources.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <sys/stat.h>

#include "cli/verb.h"
#include "core/base/bytes.h"
#include "core/base/units.h"
#include "load/scenario/document.h"
#include "load/script/native/build.h"

namespace bellwether::cli {
namespace {

constexpr uint64_t kMaxPolicyBytes = 4ull << 20;  // a file that is too large for YAML has an error with the limit

constexpr uint64_t kMaxBodyBytes = uint64_t{16} << 20;

}  // namespace

void add_sets(CLI::App* command, std::vector<std::string>& sets) {
  add_list(command, "-e,--set", sets, "Set a variable of the scenario")->type_name("NAME=VALUE");
}

void add_permissions(CLI::App* command, script::lua::Permissions& scripts) {
  command->add_flag("--allow-files", scripts.files, "Lua scripts may read and write files");
  command->add_flag("--allow-processes", scripts.processes, "Lua scripts may start other programs");
}

Result<std::vector<std::pair<std::string, std::string>>> parse_pairs(const std::vector<std::string>& texts,
                                                                     std::string_view option, std::string_view kind) {
  std::vector<std::pair<std::string, std::string>> sets;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return fail(Errc::kInvalid, "{} '{}': write {}", option, text, kind);
    }
    sets.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return sets;
}

Status add_stage(const std::string& text, client::Scenario& scenario) {
  const std::size_t colon = text.find(':');
  const auto wrong = [&](const std::string& why) {
    return fail(Errc::kInvalid, "--stage '{}': {}; write DURATION:TARGET, for example 30s:100 or 30s:500/s", text, why);
  };
  if (colon == std::string::npos) return wrong("the target is missing");
  const auto duration = parse_duration(text.substr(0, colon));
  if (!duration) return wrong(duration.error().message);
  const std::string target = text.substr(colon + 1);
  const bool is_rate = target.find('/') != std::string::npos;
  if (!scenario.stages.empty() && scenario.stages_of_rate != is_rate) {
    return wrong("the targets are virtual users, or all are rates");
  }
  scenario.stages_of_rate = is_rate;
  client::Scenario::Stage& stage = scenario.stages.emplace_back();
  stage.duration = client::Span(duration->ns());
  if (is_rate) {
    const auto rate = parse_rate(target);
    if (!rate) return wrong(rate.error().message);
    stage.target = *rate;
    return {};
  }
  const auto vus = parse_u64(target);
  if (!vus) return wrong("the target is no whole number");
  stage.target = static_cast<double>(*vus);
  return {};
}

Result<std::string> read_body(const std::string& text) {
  if (!text.starts_with('@')) return text;
  const std::string file = text.substr(1);
  auto body = read_whole_file(file == "-" ? "/dev/stdin" : file, kMaxBodyBytes);
  if (!body) return fail(body.error().code, "--body: " + body.error().message);
  return body;
}

Result<std::optional<Duration>> parse_timeout(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto timeout = parse_duration(text);
  if (!timeout) return fail(Errc::kInvalid, "--timeout: " + timeout.error().message);
  if (*timeout <= Duration::zero()) return fail(Errc::kInvalid, "--timeout: write more than 0");
  return *timeout;
}

Result<plan::Bundled> load_scenario(const client::Scenario& scenario, const client::detail::Native& native,
                                    script::lua::Permissions may) {
  auto bundled = client::detail::bundle_of(scenario, native, may);
  if (bundled) {
    std::vector<std::string> warnings = plan::host_warnings(bundled->plan);
    const auto is_script = [](const plan::Program& one) { return one.language == plan::Program::Language::kLua; };
    if ((may.files || may.processes) && std::ranges::none_of(bundled->plan.programs, is_script)) {
      warnings.emplace_back("--allow-files and --allow-processes have no effect: there is no script in Lua");
    }
    for (const std::string& warning : warnings) std::fprintf(stderr, "warning: %s.\n", warning.c_str());
    return std::move(*bundled);
  }
  for (const scenario::Diagnostic& diagnostic : bundled.error().diagnostics) {
    std::fprintf(stderr, "%s\n", scenario::format(diagnostic).c_str());
  }
  return tl::unexpected(std::move(bundled.error().error));
}

Result<client::detail::Native> native_of(const std::string& file) {
  client::detail::Native native{.allowed = true, .artifact = {}};
  if (!script::native::is_source(file)) return native;
  BW_TRY(auto cache, script::native::cache_folder());
  auto built = script::native::build({.file = file, .compiler = {}, .cache = std::move(cache), .verbose = false});
  if (built) {
    native.artifact = std::move(*built);
    return native;
  }
  if (built.error().code != Errc::kInvalid) return tl::unexpected(built.error());
  std::fprintf(stderr, "%s\n", built.error().message.c_str());
  return fail(Errc::kInvalid, file + ": it does not compile; nothing was sent");
}

Result<client::detail::Native> native_for_cluster(const std::string& file, const std::string& sign_key) {
  std::optional<signature::SigningKey> key;
  if (!sign_key.empty()) {
    BW_TRY(key, read_signing_key(sign_key));
  } else if (script::native::is_source(file)) {
    return fail(Errc::kInvalid, file + ": a cluster runs compiled workflows only when they are signed: --sign-key KEY");
  }
  auto native = native_of(file);
  if (!native) return native;
  native->travels = true;
  native->sign = std::move(key);
  return native;
}

Result<signature::SigningKey> read_signing_key(const std::string& path) {
  const auto pem = read_whole_file(path, signature::kMaxKeyFileBytes);
  if (!pem) return fail(pem.error().code, "--sign-key: " + pem.error().message);
  auto key = signature::SigningKey::read(*pem, path);
  struct stat status {};
  if (key && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 077U) != 0) {
    return fail(Errc::kInvalid, "the key in '{}' can be read by others: chmod 600 '{}'", path, path);
  }
  return key;
}

void add_sign_option(CLI::App* command, std::string& path) {
  add_text(command, "--sign-key", path, "KEY", "Sign a workflow in C++ with this private key (Ed25519, PEM)");
}

Result<lead::Policy> load_policy(const std::string& path, std::vector<yaml::Diagnostic>* warnings) {
  BW_TRY(auto text, read_whole_file(path, kMaxPolicyBytes));
  lead::PolicyReading reading = lead::parse_policy(text, path);
  if (warnings != nullptr) *warnings = std::move(reading.warnings);
  if (reading.policy) return std::move(*reading.policy);
  for (const yaml::Diagnostic& diagnostic : reading.errors) {
    std::fprintf(stderr, "%s\n", yaml::format(diagnostic).c_str());
  }
  return fail(Errc::kInvalid, "{}: {}", path, format_count(reading.errors.size(), "error"));
}

Result<std::vector<lead::LoopPolicy>> choose_loops(const std::string& path, const std::string& via,
                                                   const std::vector<std::string>& names) {
  BW_TRY(auto policy, load_policy(path));
  std::vector<std::string_view> known;
  for (const lead::LoopPolicy& loop : policy.loops) known.emplace_back(loop.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string_view near = nearest(name, known);
    return fail(Errc::kNotFound, "{} has no loop '{}'{}", path, name,
                near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
  }
  std::vector<lead::LoopPolicy> chosen;
  use_store(via, policy.loops);
  for (lead::LoopPolicy& loop : policy.loops) {
    const bool wanted = names.empty() || std::find(names.begin(), names.end(), loop.name) != names.end();
    if (!wanted) continue;
    if (loop.store.empty()) {
      return fail(Errc::kInvalid, "loop {} has no store: name one in the sheet, or with --via URL", loop.name);
    }
    chosen.push_back(std::move(loop));
  }
  return chosen;
}

}  // namespace bellwether::cli

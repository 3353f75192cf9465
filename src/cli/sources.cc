#include "cli/sources.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sys/stat.h>

#include "base/units.h"
#include "scenario/document.h"

namespace bellwether::cli {
namespace {

constexpr uint64_t kScenarioBytesMax = 4ull << 20;
constexpr uint64_t kPolicyBytesMax = 4ull << 20;  // what is too much for YAML is said with the limit

class Machine final : public scenario::Outside {
 public:
  explicit Machine(const std::string& scenario_path) {
    const std::size_t slash = scenario_path.rfind('/');
    if (slash != std::string::npos) folder_ = scenario_path.substr(0, slash + 1);
  }
  std::optional<std::string> env(const std::string& name) const override {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }
  Result<std::string> read_file(const std::string& path, uint64_t bytes_max) const override {
    return read_whole_file(path.starts_with('/') ? path : folder_ + path, bytes_max);
  }

 private:
  std::string folder_;
};

}  // namespace

Result<std::string> read_whole_file(const std::string& path, uint64_t bytes_max) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  if (file == nullptr) return fail_errno(errno, "cannot read '" + path + "'");
  struct stat status {};
  if (::fstat(fileno(file.get()), &status) == 0 && S_ISDIR(status.st_mode)) {
    return fail(Errc::kIo, "cannot read '" + path + "': it is a folder");
  }
  std::string text;
  char piece[64 * 1024];
  while (const std::size_t n = std::fread(piece, 1, sizeof piece, file.get())) {
    text.append(piece, n);
    if (text.size() > bytes_max) {
      return fail(Errc::kTooLarge, "'" + path + "' is larger than " + std::to_string(bytes_max >> 20) + " MiB");
    }
  }
  if (std::ferror(file.get()) != 0) return fail_errno(errno, "cannot read '" + path + "'");
  return text;
}

Result<std::vector<std::pair<std::string, std::string>>> parse_sets(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::string>> sets;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return fail(Errc::kInvalid, "--set '" + text + "': write NAME=VALUE");
    }
    sets.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return sets;
}

Result<plan::Bundled> load_scenario(const std::string& path, std::vector<std::pair<std::string, std::string>> sets,
                                    scenario::Overrides overrides) {
  auto text = read_whole_file(path, kScenarioBytesMax);
  if (!text) return tl::unexpected(text.error());
  const Machine machine(path);
  scenario::Sources sources;
  sources.file_name = path;
  sources.text = std::move(*text);
  sources.sets = std::move(sets);
  sources.outside = &machine;
  sources.overrides = overrides;
  auto bundled = plan::bundle_scenario(std::move(sources));
  if (bundled) return std::move(*bundled);
  for (const scenario::Diagnostic& diagnostic : bundled.error()) {
    std::fprintf(stderr, "%s\n", scenario::format(diagnostic).c_str());
  }
  return fail(Errc::kInvalid, path + ": " + format_count(bundled.error().size(), "error") + "; nothing was sent");
}

Result<lead::Policy> load_policy(const std::string& path, std::vector<yaml::Diagnostic>& warnings) {
  auto text = read_whole_file(path, kPolicyBytesMax);
  if (!text) return tl::unexpected(text.error());
  lead::PolicyReading reading = lead::parse_policy(*text, path);
  warnings = std::move(reading.warnings);
  if (reading.policy) return std::move(*reading.policy);
  for (const yaml::Diagnostic& diagnostic : reading.errors) {
    std::fprintf(stderr, "%s\n", yaml::format(diagnostic).c_str());
  }
  return fail(Errc::kInvalid, path + ": " + format_count(reading.errors.size(), "error"));
}

}  // namespace bellwether::cli

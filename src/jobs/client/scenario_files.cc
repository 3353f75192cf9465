#include "jobs/client/scenario_files.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "bellwether/workflow_abi.h"
#include "core/base/encoding.h"
#include "core/base/product.h"
#include "core/base/result.h"
#include "core/base/units.h"
#include "core/signature/signature.h"
#include "election/store/environment.h"
#include "jobs/client/client_format.h"
#include "load/scenario/model.h"
#include "load/scenario/parse.h"
#include "load/script/lua/lua_program.h"
#include "load/script/native/build.h"
#include "load/script/native/declarations.h"

namespace bellwether::client::detail {

namespace {

constexpr uint64_t kMaxCopiedBytes = 16ULL << 20;

// Closes its descriptor; a mapping outlives that.
struct Descriptor {
  explicit Descriptor(const char* path) : fd(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  int fd;
};

// For an entry in a folder of this machine.
bool is_file(DIR* folder, const dirent& entry) {
  if (entry.d_type == DT_REG) return true;
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return false;
  struct stat status {};
  return ::fstatat(::dirfd(folder), entry.d_name, &status, 0) == 0 && S_ISREG(status.st_mode);
}

// The names of the files in it, without folders and names that begin with a dot, unordered. kNotFound, kRefused, kIo;
// kTooLarge if it has more than `most`.
bellwether::Result<std::vector<std::string>> names_in_folder(const std::string& path, std::size_t most) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
  if (folder == nullptr) return fail_errno(errno, fmt::format("cannot read the folder '{}'", path));
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (entry->d_name[0] != '.' && is_file(folder.get(), *entry)) names.emplace_back(entry->d_name);
    if (names.size() > most) {
      return fail(Errc::kTooLarge, "'{}' has more than {} files", path, most);
    }
    errno = 0;
  }
  if (errno != 0) return fail_errno(errno, fmt::format("cannot read the folder '{}'", path));
  return names;
}

constexpr uint64_t kMaxScenarioBytes = 4ULL << 20;
constexpr uint64_t kMaxCaBytes = 4ULL << 20;
constexpr uint32_t kMaxVus = 10'000'000;
constexpr Span kStagesLongest = std::chrono::hours(366 * 24);

class Machine final : public scenario::Outside {
 public:
  explicit Machine(const Scenario& scenario) : variables_(scenario.environment) {
    const std::size_t slash = scenario.file.rfind('/');
    if (slash != std::string::npos) folder_ = scenario.file.substr(0, slash + 1);
  }
  std::optional<std::string> env(const std::string& name) const override {
    const auto given =
        std::find_if(variables_.begin(), variables_.end(), [&](const auto& one) { return one.first == name; });
    if (given != variables_.end()) return given->second;
    const char* value = store::own_environment(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }
  bellwether::Result<std::string> read_file(const std::string& path, uint64_t bytes_max) const override {
    if (path == held_path_ && held_.size() <= bytes_max) return held_;
    return read_whole_file(place_of(path), bytes_max);
  }
  bellwether::Result<scenario::FileView> view_file(const std::string& path, uint64_t bytes_max) const override {
    return view_whole_file(place_of(path), bytes_max);
  }
  bellwether::Result<std::vector<std::string>> list_folder(const std::string& path, std::size_t most) const override {
    return names_in_folder(place_of(path), most);
  }
  // Replaces the file on the disk.
  void hold(std::string path, std::string bytes) {
    held_path_ = std::move(path);
    held_ = std::move(bytes);
  }

 private:
  std::string place_of(const std::string& path) const { return path.starts_with('/') ? path : folder_ + path; }

  const std::vector<std::pair<std::string, std::string>>& variables_;
  std::string folder_;
  std::string held_path_, held_;
};

bellwether::Error too_large(const std::string& file, uint64_t bytes_max) {
  return {Errc::kTooLarge, fmt::format("'{}' is larger than {} MiB", file, bytes_max >> 20)};
}

tl::unexpected<ScenarioTrouble> trouble(bellwether::Error error) {
  return tl::unexpected<ScenarioTrouble>(ScenarioTrouble{std::move(error), {}});
}

scenario::NewLoad load_of(const Scenario& from) {
  scenario::NewLoad load{.iterations = from.iterations, .stages = {}, .of_rates = from.stages_of_rate};
  for (const Scenario::Stage& stage : from.stages) load.stages.push_back({duration_of(stage.duration), stage.target});
  return load;
}

bellwether::Result<plan::Bundled> bundle_of_url(const Scenario& from) {
  scenario::QuickRun quick;
  quick.url = from.url;
  if (!from.method.empty()) quick.method = from.method;
  quick.headers = from.headers;
  quick.body = from.body;
  if (from.rate_per_s || from.stages_of_rate) quick.vus = scenario::kUsersOfRate;
  if (from.vus) quick.vus = *from.vus;
  if (from.iterations) quick.duration = Duration::minutes(10);
  if (from.duration) quick.duration = duration_of(*from.duration);
  quick.load = load_of(from);
  quick.tags = from.tags;
  quick.hosts = from.hosts;
  quick.local_ips = from.local_ips;
  quick.rate_per_s = from.rate_per_s;
  if (from.timeout) quick.timeout = duration_of(*from.timeout);
  quick.skip_tls_verify = !from.verify_certificate;
  if (!from.ca_file.empty()) {
    auto pem = read_whole_file(from.ca_file, kMaxCaBytes);
    if (!pem) return fail(pem.error().code, "the CA certificates: " + pem.error().message);
    if (pem->empty()) return fail(Errc::kInvalid, "the CA certificates: '{}' is empty", from.ca_file);
    quick.tls_ca = std::move(*pem);
    quick.tls_ca_name = from.ca_file;
  }
  return plan::bundle_url(std::move(quick));
}

std::string wrong_with_load(const Scenario& from) {
  if (from.iterations && (*from.iterations == 0 || *from.iterations > scenario::kMaxIterations)) {
    return "the number of iterations must be 1 to 1000000000000";
  }
  if (from.iterations && from.rate_per_s) return "a number of iterations and a rate exclude each other";
  if (from.stages.empty()) return from.stages_of_rate ? "there are no stages" : "";
  if (from.iterations) return "stages and a number of iterations exclude each other";
  if (from.duration) return "stages have their own durations, and exclude another one";
  if (from.rate_per_s && !from.stages_of_rate) return "stages of virtual users exclude a rate";
  if (from.stages.size() > scenario::kMaxStages)
    return fmt::format("there are more than {} stages", scenario::kMaxStages);
  const double most = from.stages_of_rate ? scenario::kMaxRate : double{scenario::kMaxVus};
  Span sum{};
  for (const Scenario::Stage& stage : from.stages) {
    if (!(stage.target >= 0 && stage.target <= most)) return fmt::format("the target of a stage must be 0 to {}", most);
    if (stage.duration < Span::zero() || stage.duration > kStagesLongest - sum)
      return "stages take at most a year together";
    sum += stage.duration;
  }
  return sum > Span::zero() ? "" : "stages must take longer than 0 together";
}

std::string wrong_with_tags(const Scenario& from) {
  if (from.tags.size() > scenario::kMaxTags) return fmt::format("a run has at most {} tags", scenario::kMaxTags);
  for (const auto& [name, value] : from.tags) {
    if (!scenario::is_tag_name(name)) {
      return fmt::format(
          "'{}' cannot be the name of a tag: write letters, digits and _, and none of step, workflow, "
          "scenario, check, group, method, url, status, expected_response",
          printable(name));
    }
    if (!scenario::is_tag_value(value)) {
      return fmt::format("the value of tag '{}' must have 1 to 200 bytes, none of , {{ and }}", name);
    }
    const auto same = [&](const auto& tag) { return tag.first == name; };
    if (std::count_if(from.tags.begin(), from.tags.end(), same) > 1)
      return fmt::format("tag '{}' is given twice", name);
  }
  return {};
}

// The fault before anything is read; empty: none.
std::string wrong_with(const Scenario& from) {
  const bool url = !from.url.empty();
  const bool file = !from.file.empty() || !from.text.empty();
  if (url == file) return "a scenario must be exactly one of a file, a text and a URL";
  if (url && !from.variables.empty()) return "a scenario from a URL cannot have variables";
  if (from.vus && (*from.vus == 0 || *from.vus > kMaxVus)) return "the number of virtual users must be 1 to 10000000";
  if (from.duration && *from.duration <= Span::zero()) return "the duration must be more than 0";
  if (from.timeout && *from.timeout <= Span::zero()) return "the timeout must be more than 0";
  if (from.rate_per_s && !(*from.rate_per_s > 0)) return "the rate must be more than 0";
  if (from.hosts.size() > scenario::kMaxHosts)
    return fmt::format("at most {} hosts have addresses", scenario::kMaxHosts);
  std::string wrong = wrong_with_load(from);
  return wrong.empty() ? wrong_with_tags(from) : wrong;
}

tl::unexpected<ScenarioTrouble> wrong_scenario(const std::string& name, std::vector<scenario::Diagnostic> what) {
  const std::string message = fmt::format("{}: {}; nothing was sent", name, format_count(what.size(), "error"));
  return tl::unexpected<ScenarioTrouble>(ScenarioTrouble{{Errc::kInvalid, message}, std::move(what)});
}

// Functions that steps call and their scripts lack. Each script runs once.
std::vector<scenario::Diagnostic> missing_functions(const plan::Plan& plan, const std::string& file,
                                                    script::lua::Permissions may) {
  std::vector<std::vector<std::string>> called(plan.programs.size());
  for (const plan::Workflow& workflow : plan.workflows) {
    for (const plan::Step& step : workflow.steps) {
      const auto* call = std::get_if<plan::CodeCall>(&step.work);
      if (call != nullptr) called[call->program].push_back(call->function);
    }
  }
  std::vector<scenario::Diagnostic> out;
  for (std::size_t i = 0; i < called.size(); ++i) {
    const plan::Program& program = plan.programs[i];
    if (program.language != plan::Program::Language::kLua) continue;
    const bellwether::Status there = script::lua::check_functions(program, called[i], may);
    if (there) continue;
    scenario::Diagnostic& one = out.emplace_back();
    one.file = file;
    one.message = fmt::format("{}: {}", program.name, there.error().message);
  }
  return out;
}

// Declarations of a program have a line, but no column.
void forget_column(scenario::Diagnostic& one) {
  one.column = 0;
  std::vector<std::string> lines{fmt::format("{}:{}", one.file, one.line)};
  for (std::string& place : one.also) {
    place.resize(place.rfind(':'));
    if (std::find(lines.begin(), lines.end(), place) == lines.end()) lines.push_back(std::move(place));
  }
  one.also.assign(lines.begin() + 1, lines.end());
}

// The declarations of a script that is the scenario itself.
tl::expected<std::string, std::vector<scenario::Diagnostic>> described_script(const scenario::Sources& sources,
                                                                              const Machine& machine,
                                                                              script::lua::Permissions may) {
  const std::string& file = sources.file_name;
  plan::Program script{plan::Program::Language::kLua, file.substr(file.rfind('/') + 1),
                       std::make_shared<const std::string>(sources.text)};
  auto modules = plan::read_modules(sources.text, "", machine);
  if (!modules) {
    scenario::Diagnostic wrong;
    wrong.file = file;
    wrong.message = modules.error().message;
    return tl::unexpected(std::vector{std::move(wrong)});
  }
  script.modules = std::move(*modules);
  return script::lua::describe(script, file, may);
}

// Replaces the bytes or the source of a compiled program with its declarations. False: it is none.
bellwether::Result<bool> put_declarations(const Scenario& from, const Native& native, scenario::Sources& sources,
                                          Machine& machine) {
  const bool built = !native.artifact.empty();
  if (!built && !script::native::is_artifact(sources.text)) {
    if (!native.sign) return false;
    return fail(Errc::kInvalid, "'{}' is not a workflow in C++, so there is nothing to sign", from.file);
  }
  // Beside the scenario, which it is itself.
  std::string file = from.file.substr(from.file.rfind('/') + 1);
  if (built) {
    BW_TRY(sources.text, read_whole_file(native.artifact, signature::kMaxProgramBytes));
    // The cluster must not see the folders of this machine.
    file = native.sign ? file.substr(0, file.rfind('.')) + ".bw" : native.artifact;
  }
  if (signature::is_signed(sources.text)) {
    BW_RETURN_IF_ERROR(signature::read(sources.text, file));
  }
  BW_TRY(auto described, script::native::describe(sources.text, file));
  if (native.sign) {
    // It fits this version, or it could not have been described.
    const signature::Versions versions{BELLWETHER_ABI_VERSION, std::string(bellwether::kProductVersion)};
    sources.text = signature::sign(sources.text, versions, *native.sign);
  }
  if (sources.text.size() > signature::kMaxProgramBytes) {
    return tl::unexpected(too_large(file, signature::kMaxProgramBytes));
  }
  machine.hold(file, std::exchange(sources.text, std::move(described.text)));
  if (!built) sources.file_name = std::move(described.source);
  return true;
}

}  // namespace

bellwether::Result<scenario::FileView> view_whole_file(const std::string& path, uint64_t bytes_max) {
  const Descriptor file(path.c_str());
  if (file.fd < 0) return fail_errno(errno, fmt::format("cannot read '{}'", path));
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) return fail_errno(errno, fmt::format("cannot read '{}'", path));
  const auto size = static_cast<uint64_t>(status.st_size);
  // A special file (a pipe, a device) has no known size, and cannot be mapped.
  if (!S_ISREG(status.st_mode) || size <= kMaxCopiedBytes) {
    BW_TRY(auto text,
           read_whole_file(path, S_ISREG(status.st_mode) ? bytes_max : std::min(bytes_max, kMaxCopiedBytes)));
    return scenario::view_of(std::move(text));
  }
  if (size > bytes_max) {
    return fail(Errc::kTooLarge, "'{}' is larger than {} MiB", path, bytes_max >> 20);
  }
  void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd, 0);
  if (bytes == MAP_FAILED) return fail_errno(errno, fmt::format("cannot map '{}'", path));
  const auto unmap = [size](const void* mapped) { ::munmap(const_cast<void*>(mapped), size); };
  return scenario::FileView{{static_cast<const char*>(bytes), size}, std::shared_ptr<const void>(bytes, unmap)};
}

bellwether::Result<std::string> read_whole_file(const std::string& path, uint64_t bytes_max) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  if (file == nullptr) return fail_errno(errno, fmt::format("cannot read '{}'", path));
  struct stat status {};
  if (::fstat(fileno(file.get()), &status) == 0 && S_ISDIR(status.st_mode)) {
    return fail(Errc::kIo, "cannot read '{}': it is a folder", path);
  }
  std::string text;
  char piece[64 * 1024];
  while (const std::size_t n = std::fread(piece, 1, sizeof piece, file.get())) {
    text.append(piece, n);
    if (text.size() > bytes_max) {
      return tl::unexpected(too_large(path, bytes_max));
    }
  }
  if (std::ferror(file.get()) != 0) return fail_errno(errno, fmt::format("cannot read '{}'", path));
  return text;
}

tl::expected<plan::Bundled, ScenarioTrouble> bundle_of(const Scenario& from, const Native& native,
                                                       script::lua::Permissions may) {
  if (std::string wrong = wrong_with(from); !wrong.empty()) return trouble({Errc::kInvalid, std::move(wrong)});
  if (!from.url.empty()) {
    auto bundled = bundle_of_url(from);
    if (!bundled) return trouble(bundled.error());
    return std::move(*bundled);
  }
  scenario::Sources sources;
  sources.file_name = from.file.empty() ? "scenario" : from.file;
  sources.text = from.text;
  if (from.text.empty() && script::native::is_source(from.file) && !native.allowed) {
    return trouble(
        {Errc::kInvalid,
         fmt::format(
             "{}: this client cannot compile a workflow in C++; use `bellwether run` or `bellwether job submit`",
             from.file)});
  }
  const bool of_another_tool = from.file.ends_with(".js") || from.file.ends_with(".ts") || from.file.ends_with(".py");
  if (from.text.empty() && of_another_tool) {
    return trouble(
        {Errc::kInvalid, fmt::format("'{}' is a script of another tool; a scenario is FILE.yaml, .lua, .cc or .bw. "
                                     "The pages \"From k6\" and \"From Locust\" of the documentation show how to "
                                     "write it",
                                     from.file)});
  }
  if (from.text.empty()) {
    auto text = read_whole_file(from.file, native.allowed ? signature::kMaxProgramBytes : kMaxScenarioBytes);
    if (!text) return trouble(text.error());
    sources.text = std::move(*text);
  }
  Machine machine(from);
  bool described = false;
  if (native.allowed && from.text.empty()) {
    auto changed = put_declarations(from, native, sources, machine);
    if (!changed) return trouble(changed.error());
    described = *changed;
    if (sources.text.size() > kMaxScenarioBytes) return trouble(too_large(from.file, kMaxScenarioBytes));
  }
  sources.sets = from.variables;
  sources.outside = &machine;
  sources.overrides.vus = from.vus;
  if (from.duration) sources.overrides.duration = duration_of(*from.duration);
  sources.overrides.rate_per_s = from.rate_per_s;
  if (from.timeout) sources.overrides.timeout = duration_of(*from.timeout);
  sources.overrides.load = load_of(from);
  sources.overrides.tags = from.tags;
  sources.overrides.hosts = from.hosts;
  sources.overrides.local_ips = from.local_ips;
  const std::string name = sources.file_name;
  if (script::lua::is_script(name)) {
    auto text = described_script(sources, machine, may);
    if (!text) return wrong_scenario(name, std::move(text.error()));
    sources.text = std::move(*text);
    described = true;
  }
  auto bundled = plan::bundle_scenario(std::move(sources));
  if (!bundled) {
    for (scenario::Diagnostic& one : bundled.error()) {
      if (described) forget_column(one);
    }
    return wrong_scenario(name, std::move(bundled.error()));
  }
  if (native.travels) {
    if (auto vouched = plan::check_signatures(bundled->plan); !vouched) return trouble(vouched.error());
  }
  auto missing = missing_functions(bundled->plan, name, may);
  if (!missing.empty()) return wrong_scenario(name, std::move(missing));
  return std::move(*bundled);
}

}  // namespace bellwether::client::detail

#include "load/script/native/build.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <spawn.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/encoding.h"

extern char** environ;

namespace bellwether::script::native {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxOutput = 4u << 20;
constexpr std::array<std::string_view, 3> kCompilers{"clang++-16", "clang++", "g++"};
constexpr std::array<const char*, 8> kFlags{
    "-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-fdiagnostics-color=never", "-MMD"};

Result<std::string> read_file(const std::string& path) {
  std::error_code is_folder;
  if (fs::is_directory(path, is_folder)) return fail(Errc::kIo, "cannot read '{}': it is a folder", path);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail_errno(errno, fmt::format("cannot read '{}'", path));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// All of it or nothing is there afterwards.
Status write_file(const std::string& path, std::string_view text) {
  const std::string beside = fmt::format("{}.{}", path, ::getpid());
  {
    std::ofstream file(beside, std::ios::binary);
    file << text;
    if (!file.flush()) return fail(Errc::kIo, "cannot write '{}'", beside);
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) return fail_errno(errno, fmt::format("cannot write '{}'", path));
  return {};
}

Status make_folder(const std::string& path) {
  std::error_code wrong;
  fs::create_directories(path, wrong);
  if (wrong) return fail(Errc::kIo, "cannot make the folder '{}': {}", path, wrong.message());
  return {};
}

Result<std::string> find_compiler(const std::string& wanted) {
  const auto in_path = [](const std::string& name) -> std::string {
    if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : std::string();
    const char* path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      const std::string candidate = fmt::format("{}/{}", folder, name);
      if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    }
    return {};
  };
  if (!wanted.empty()) {
    std::string found = in_path(wanted);
    if (found.empty()) return fail(Errc::kNotFound, "there is no compiler '{}' here", wanted);
    return found;
  }
  for (const std::string_view name : kCompilers) {
    std::string found = in_path(std::string(name));
    if (!found.empty()) return found;
  }
  return fail(Errc::kNotFound,
              "a workflow in C++ needs a compiler, and neither clang++-16 nor clang++ nor g++ is in PATH: install one "
              "(Debian: clang-16), or name one with --compiler");
}

// The texts from which an artifact was made: "SHA256 PATH", one a line.
bool is_as_noted(const std::string& notes) {
  std::istringstream lines(notes);
  bool any = false;
  for (std::string line; std::getline(lines, line); any = true) {
    if (line.size() < 66) return false;
    const auto text = read_file(line.substr(65));
    if (!text || sha256_hex(*text) != line.substr(0, 64)) return false;
  }
  return any;
}

// The files in the compiler's file of dependencies: "a.bw: shop.cc \\\n  own.h".
std::vector<std::string> dependencies_in(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  text.remove_prefix(std::min(text.size(), text.find(": ") + 2));
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == ' ' || text[i + 1] == '\n')) {
      if (text[++i] == ' ') word += ' ';
      continue;
    }
    if (text[i] != ' ' && text[i] != '\n') {
      word += text[i];
      continue;
    }
    if (!word.empty()) out.push_back(std::exchange(word, {}));
  }
  if (!word.empty()) out.push_back(word);
  return out;
}

// A folder for one compilation, removed afterwards.
class Scratch {
 public:
  static Result<std::unique_ptr<Scratch>> make(const std::string& below) {
    std::string path = fmt::format("{}/build-{}", below, std::string(6, 'X'));
    if (::mkdtemp(path.data()) == nullptr) return fail_errno(errno, fmt::format("cannot make a folder in '{}'", below));
    return std::unique_ptr<Scratch>(new Scratch(std::move(path)));
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string file(const char* name) const { return fmt::format("{}/{}", path_, name); }

 private:
  explicit Scratch(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Runs the compiler to its end; its output goes into the file `said`. False when it refused.
Result<bool> run(const std::vector<std::string>& command, const std::string& said) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 1, said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int wrong = ::posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (wrong != 0) return fail_errno(wrong, fmt::format("cannot start '{}'", command[0]));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return fail_errno(errno, fmt::format("cannot wait for '{}'", command[0]));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Result<std::string> put_headers(const std::string& cache) {
  std::string all;
  for (const Header& header : kHeaders) all += header.text;
  const std::string folder = fmt::format("{}/include-{}", cache, sha256_hex(all).substr(0, 16));
  BW_RETURN_IF_ERROR(make_folder(folder + "/bellwether"));
  for (const Header& header : kHeaders) {
    const std::string path = fmt::format("{}/bellwether/{}", folder, header.name);
    const auto there = read_file(path);
    if (there && *there == header.text) continue;
    BW_RETURN_IF_ERROR(write_file(path, header.text));
  }
  return folder;
}

std::string identity_of(const std::string& compiler) {
  struct stat facts {};
  if (::stat(compiler.c_str(), &facts) != 0) return compiler;
  return fmt::format("{} {} {}", compiler, facts.st_mtim.tv_sec, facts.st_size);
}

// "FILE:12:7: error: text"
struct Line {
  std::string_view file;
  uint32_t line = 0;
  uint32_t column = 0;
  bool error = false;
  std::string_view text;
};

// "FILE:12:7", or its known part.
void put_place(std::string_view place, Line& out) {
  for (uint32_t* number : {&out.column, &out.line}) {
    const std::size_t colon = place.rfind(':');
    if (colon == std::string_view::npos) break;
    const auto value = parse_u64(place.substr(colon + 1));
    if (!value || *value > 100'000'000) break;
    *number = static_cast<uint32_t>(*value);
    place = place.substr(0, colon);
  }
  out.file = place;
}

std::optional<Line> parse(std::string_view said) {
  Line out;
  std::size_t mark = std::string_view::npos;
  for (const std::string_view kind : {": fatal error: ", ": error: ", ": note: ", ": warning: "}) {
    const std::size_t at = said.find(kind);
    if (at >= mark) continue;
    mark = at;
    out.error = kind.find("error") != std::string_view::npos;
    out.text = said.substr(at + kind.size());
  }
  if (mark == std::string_view::npos) return std::nullopt;
  put_place(said.substr(0, mark), out);
  return out;
}

std::string_view line_of(std::string_view source, uint32_t number) {
  for (; number > 1 && !source.empty(); --number) {
    const std::size_t end = source.find('\n');
    source.remove_prefix(end == std::string_view::npos ? source.size() : end + 1);
  }
  return source.substr(0, source.find('\n'));
}

constexpr std::size_t kMaxText = 300;
constexpr std::size_t kMaxSaid = 2000;

struct Problem {
  Line error;
  std::optional<Line> place;  // in the user's file
  std::string_view raw;
};

}  // namespace

bool is_source(std::string_view file_name) {
  return file_name.ends_with(".cc") || file_name.ends_with(".cpp") || file_name.ends_with(".cxx");
}

Result<std::string> cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') {
    return std::string(cache) + "/bellwether";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return std::string(home) + "/.cache/bellwether";
  }
  return fail(Errc::kNotFound, "nobody says where the cache folder is: set HOME or XDG_CACHE_HOME");
}

Result<std::string> build(const BuildOptions& options) {
  BW_TRY(const auto source, read_file(options.file));
  BW_TRY(const auto compiler, find_compiler(options.compiler));
  BW_RETURN_IF_ERROR(make_folder(options.cache));
  BW_TRY(const auto include, put_headers(options.cache));

  std::error_code wrong;
  std::string key = fmt::format("{}\n{}\n{}\n", identity_of(compiler), include, options.file);
  key += fs::current_path(wrong).string();
  for (const char* flag : kFlags) (key += '\n') += flag;
  const std::string kept = fmt::format("{}/{}", options.cache, sha256_hex(key));
  const std::string artifact = kept + ".bw";
  const auto notes = read_file(kept + ".from");
  if (notes && ::access(artifact.c_str(), R_OK) == 0 && is_as_noted(*notes)) return artifact;

  BW_TRY(const auto scratch, Scratch::make(options.cache));
  const Scratch& work = *scratch;
  std::vector<std::string> command{compiler};
  command.insert(command.end(), kFlags.begin(), kFlags.end());
  const bool clang = compiler.find("clang") != std::string::npos;
  if (!options.verbose) {
    command.emplace_back(clang ? "-fno-caret-diagnostics" : "-fno-diagnostics-show-caret");
    command.emplace_back(clang ? "-ferror-limit=8" : "-fmax-errors=8");
  }
  for (std::string word : {std::string("-MF"), work.file("from"), "-I" + include, std::string("-o"),
                           work.file("program.bw"), options.file}) {
    command.push_back(std::move(word));
  }
  BW_TRY(const auto compiled, run(command, work.file("said")));
  BW_TRY(auto said, read_file(work.file("said")));
  if (said.size() > kMaxOutput) said.resize(kMaxOutput);
  if (!compiled) {
    return fail(Errc::kInvalid, options.verbose ? said : first_errors(said, options.file, source));
  }
  std::string from;
  const auto made_from = read_file(work.file("from"));
  if (made_from) {
    for (const std::string& path : dependencies_in(*made_from)) {
      const auto text = read_file(path);
      if (text) from += fmt::format("{} {}\n", sha256_hex(*text), path);
    }
  }
  if (::rename(work.file("program.bw").c_str(), artifact.c_str()) != 0) {
    return fail_errno(errno, fmt::format("cannot write '{}'", artifact));
  }
  BW_RETURN_IF_ERROR(write_file(kept + ".from", from));
  return artifact;
}

std::string first_errors(std::string_view said, std::string_view file, std::string_view source, std::size_t most) {
  std::vector<Problem> problems;
  std::optional<Line> context;  // gcc first names the line of the user's file through which it came
  for (std::string_view rest = said; !rest.empty();) {
    const std::string_view raw = take_until(rest, '\n');
    const auto line = parse(raw);
    if (!line) {
      const std::size_t required = raw.find(":   required from");
      if (required != std::string_view::npos && raw.starts_with(file)) {
        context.emplace();
        put_place(raw.substr(0, required), *context);
      }
      continue;
    }
    if (line->error) {
      problems.push_back({*line, line->file == file ? line : context, raw});
      context.reset();
    } else if (!problems.empty() && !problems.back().place && line->file == file) {
      problems.back().place = *line;
    }
  }
  std::string out;
  std::size_t shown = 0;
  std::set<std::pair<uint32_t, std::string_view>> told;
  for (const Problem& problem : problems) {
    if (!told.emplace(problem.place ? problem.place->line : 0, problem.error.text).second) continue;
    if (shown == most) {
      out += "\nand more";
      break;
    }
    if (shown++ > 0) out += '\n';
    if (!problem.place) {
      out += problem.raw.substr(0, kMaxText);
      continue;
    }
    out += fmt::format("{}:{}:{}: {}", file, problem.place->line, problem.place->column,
                       problem.error.text.substr(0, kMaxText));
    const std::string_view text = line_of(source, problem.place->line);
    if (!trim(text).empty()) out += "\n    " + std::string(trim(text).substr(0, 110));
  }
  if (shown > 0) return out;
  out = said.substr(0, kMaxSaid);
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

}  // namespace bellwether::script::native

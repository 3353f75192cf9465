// All inputs of a scenario, and the constants that come of them. The rooms that read scenarios never touch the world
// themselves: their inputs come in here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "load/scenario/document.h"

namespace bellwether::scenario {

// The content of a file, read-only: `bytes` stay in place while an `owner` exists.
struct FileView {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};

// The outside world, within the rights of a scenario.
class Outside {
 public:
  virtual ~Outside() = default;
  // The environment variable of this name.
  virtual std::optional<std::string> env(const std::string& name) const = 0;
  // The content of a file. A relative path is relative to the folder of the scenario file. Errors: kNotFound, kIo,
  // kRefused, and kTooLarge for a file of more than `bytes_max`.
  virtual Result<std::string> read_file(const std::string& path, uint64_t bytes_max) const = 0;
  // The names of the files in a folder, without folders and names that begin with a dot, in no order. Errors:
  // kNotFound, kIo, kRefused, and kTooLarge for more than `most`.
  virtual Result<std::vector<std::string>> list_folder(const std::string& path, std::size_t most) const;
  // The content of a file that may be larger than memory. Errors as of read_file().
  virtual Result<FileView> view_file(const std::string& path, uint64_t bytes_max) const;
};

// A view of a text, which it keeps.
FileView view_of(std::string text);

// A path relative to the scenario's folder, converted to the base of the scenario file's own path.
std::string beside(const std::string& scenario_file, const std::string& path);

// A load of the command line in place of the scenario's executors.
struct NewLoad {
  struct Stage {
    Duration duration;
    double target = 0;  // virtual users, or arrivals a second
  };
  std::optional<uint64_t> iterations;  // of each workflow
  std::vector<Stage> stages;           // wins over iterations
  bool of_rates = false;               // the targets of the stages
};

// The settings of the command line that replace the scenario's. They apply to every workflow that has the setting.
struct Overrides {
  std::optional<uint32_t> vus;
  std::optional<Duration> duration;
  std::optional<double> rate_per_s;
  std::optional<Duration> timeout;
  NewLoad load;
  std::vector<std::pair<std::string, std::string>> hosts;  // IP or IP:PORT of host names; over those of the scenario
  std::vector<std::pair<std::string, std::string>> tags;   // of all steps; those of the scenario win
  std::string local_ips;                                   // in place of those of the scenario; empty: not given
};

struct Sources {
  std::string file_name;  // as the user wrote it, for messages and the default of `name`
  std::string text;       // of the scenario file
  std::vector<std::pair<std::string, std::string>> sets;  // --set NAME=VALUE, win over everything else
  const Outside* outside = nullptr;                       // not owned, must not be null
  Overrides overrides;
};

// A scenario file and the files that it includes, as one tree. The marks name the file of each node.

constexpr std::size_t kMaxIncludes = 20;         // files, all together
constexpr std::size_t kMaxIncludeDepth = 8;      // that include each other
constexpr uint64_t kMaxIncludeBytes = 1u << 20;  // of one

struct Included {
  Node root;                         // without `include`; included content stands before that of the including file
  std::vector<std::string> folders;  // as in Reading, for each file
  std::vector<std::string> texts;    // of each file; the first is the scenario's own
};

// Reads the scenario and its includes. Problems go to `diagnostics`, which learns the names of all files; empty when
// the scenario file itself is unusable. REQUIRES sources.outside.
std::optional<Included> read_with_includes(const Sources& sources, Diagnostics& diagnostics);

// The constants of a scenario: its `env`, the environment variables that replace them, and --set, which beats both.

// The outer syntax of templates: text with ${…} in it. The resolver decides the meaning of an expression.
struct TemplatePart {
  bool is_expression = false;
  std::string text;  // of an expression: the text between ${ and }, without surrounding spaces
};

// Splits at ${…}; $${ stands for a literal ${. Error: an expression that is empty or not closed.
Result<std::vector<TemplatePart>> split_template(std::string_view text);

class Environment {
 public:
  // Resolves the `env` map of the file (null: none). Its values may mention environment variables, --set names and
  // entries above them. A null entry has no default and must come from outside.
  static Environment resolve(const Node* env, const Sources& sources, Diagnostics& diagnostics);

  const std::string* find(std::string_view name) const;
  // Whether the file's own `env` names it.
  bool declares(std::string_view name) const;
  std::vector<std::string_view> declared() const { return {declared_.begin(), declared_.end()}; }
  std::vector<std::string_view> names() const;
  // The text with every ${NAME} replaced. Error: a template that is no constant.
  Result<std::string> fold(std::string_view text) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::vector<std::string> declared_;
};

}  // namespace bellwether::scenario

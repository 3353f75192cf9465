// All inputs of a plan, as a value. Another machine makes the same plan from it, without the files and the environment
// of the machine that read the scenario.
//
// Files and variables may be secrets: send a bundle only sealed, and log nothing of it.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/hash.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "load/scenario/sources.h"

namespace bellwether::scenario {

// The input of `bellwether run URL` in place of a scenario file: one repeated request. Nothing in it is a template.
struct QuickRun {
  std::string url;
  std::string method = "GET";
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<std::string> body;
  uint32_t vus = 1;
  Duration duration = Duration::seconds(10);
  std::optional<double> rate_per_s;  // given: constant-arrival-rate with `vus` virtual users; else constant-vus
  std::optional<Duration> timeout;
  bool skip_tls_verify = false;
  std::string tls_ca;       // certificates to trust, PEM; empty: the system's
  std::string tls_ca_name;  // its source file, for messages
  NewLoad load;             // in place of the two executors above
  std::vector<std::pair<std::string, std::string>> tags;
  std::vector<std::pair<std::string, std::string>> hosts;  // see Overrides
  std::string local_ips;                                   // the same
};

// A scenario file, with each file and variable that reading it asked for.
struct RecordedScenario {
  struct FileQuestion {
    std::string path;  // as in the scenario
    uint64_t bytes_max = 0;
    auto operator<=>(const FileQuestion&) const = default;
  };
  std::string file_name;
  std::string text;
  std::vector<std::pair<std::string, std::string>> sets;
  Overrides overrides;
  // The contents. For a folder (a path that ends with a slash; `bytes_max` counts files): the names of its files, each
  // followed by a NUL.
  std::map<FileQuestion, Result<std::string>> files;
  // Files that may be too large to be part of a bundle. One that has arrived in a bundle is in `files`.
  std::map<FileQuestion, Result<FileView>> views;
  // Files that travel beside the bundle. One that is not in `views` is kElsewhere.
  std::map<FileQuestion, FileRef> apart;
  std::map<std::string, std::optional<std::string>> variables;  // nullopt: not set
};

// A file whose content is on other machines. A plan with it can be made, but not run.
inline const FileView kElsewhere{};
inline bool is_elsewhere(const FileView& view) { return view.bytes.data() == nullptr; }

using Bundle = std::variant<RecordedScenario, QuickRun>;

// Asks the world each question once and records the answer.
class RecordingOutside final : public Outside {
 public:
  // Both must outlive this object.
  RecordingOutside(const Outside& world, RecordedScenario& record) : world_(world), record_(record) {}
  std::optional<std::string> env(const std::string& name) const override;
  Result<std::string> read_file(const std::string& path, uint64_t bytes_max) const override;
  Result<FileView> view_file(const std::string& path, uint64_t bytes_max) const override;
  Result<std::vector<std::string>> list_folder(const std::string& path, std::size_t most) const override;

 private:
  const Outside& world_;
  RecordedScenario& record_;
};

// The recorded world. A question that was never asked has no answer: kNotFound, and no variable.
class ReplayingOutside final : public Outside {
 public:
  // `record` must outlive this object.
  explicit ReplayingOutside(const RecordedScenario& record) : record_(record) {}
  std::optional<std::string> env(const std::string& name) const override;
  Result<std::string> read_file(const std::string& path, uint64_t bytes_max) const override;
  Result<FileView> view_file(const std::string& path, uint64_t bytes_max) const override;
  Result<std::vector<std::string>> list_folder(const std::string& path, std::size_t most) const override;

 private:
  const RecordedScenario& record_;
};

// The sources of a record, again. `outside` and the record's own data must outlive it.
Sources sources_of(const RecordedScenario& record, const Outside& outside);

}  // namespace bellwether::scenario

#include "cli/stored_runs.h"

#include <CLI/CLI.hpp>
#include <sys/stat.h>

#include "cli/sources.h"
#include "election/store/environment.h"
#include "load/report/result_file.h"

namespace bellwether::cli {
namespace {

std::string environment(const char* name) { return store::variable(&store::own_environment, name); }

bool is_file(const std::string& name) {
  struct stat found {};
  return ::stat(name.c_str(), &found) == 0 && !S_ISDIR(found.st_mode);
}

// No id of a run has a dot or a slash.
bool looks_like_file(const std::string& name) { return name.find_first_of("./") != std::string::npos; }

}  // namespace

void add_store_option(CLI::App* command, std::string& store) {
  command->add_option("--store", store, "FILE of stored runs (default: this user's, see docs/results.md)");
}

Result<std::string> store_path(const std::string& given) {
  if (!given.empty()) return given;
  if (std::string file = environment("BELLWETHER_STORE"); !file.empty()) return file;
  // By the XDG Base Directory Specification a path that is not absolute does not count.
  if (const std::string data = environment("XDG_DATA_HOME"); data.starts_with('/')) {
    return data + "/bellwether/results.db";
  }
  if (const std::string home = environment("HOME"); home.starts_with('/')) {
    return home + "/.local/share/bellwether/results.db";
  }
  return fail(Errc::kNotFound, "neither XDG_DATA_HOME nor HOME says where runs are stored; name a file with --store");
}

bool is_store_off() {
  const std::string off = environment("BELLWETHER_NO_STORE");
  return !off.empty() && off != "0";
}

Result<StoredRun> open_run(const std::string& name, const std::string& store) {
  const bool exported = looks_like_file(name);
  if (exported && !is_file(name)) return fail(Errc::kNotFound, "there is no file '" + name + "'");
  BW_TRY(const auto path, exported ? Result<std::string>(name) : store_path(store));
  auto opened = results::Store::open(path, results::Store::Use::kRead);
  if (!opened && opened.error().code == Errc::kNotFound && !exported) {
    return fail(Errc::kNotFound, "there is no run '" + name + "': none is stored (" + opened.error().message + ")");
  }
  if (!opened && opened.error().code == Errc::kInvalid && exported) {
    return fail(Errc::kInvalid, "'" + name + "' holds no seconds of a run; `bellwether results export RUN FILE.db` " +
                                    "writes a file that does");
  }
  if (!opened) return tl::unexpected(opened.error());
  BW_TRY(auto run, opened->find(exported ? "last" : name));
  return StoredRun{std::move(*opened), std::move(run)};
}

Result<std::string> document_of(const std::string& name, const std::string& store) {
  if (looks_like_file(name) && is_file(name)) {
    auto text = read_whole_file(name, report::kMostResultBytes);
    // A store begins as every file of SQLite does; everything else is meant to be a result file.
    if (!text || !text->starts_with("SQLite format 3")) return text;
  }
  BW_TRY(auto found, open_run(name, store));
  return found.store.document(found.run);
}

}  // namespace bellwether::cli

// The commands' access to the store of runs: its place, and its runs by name.
#pragma once

#include <string>

#include "core/base/result.h"
#include "load/results/store.h"

namespace CLI {
class App;
}

namespace bellwether::cli {

// --store FILE. Empty: this user's store.
void add_store_option(CLI::App* command, std::string& store);

// BELLWETHER_STORE, else below XDG_DATA_HOME, else below ~/.local/share. kNotFound: none of them is set.
Result<std::string> store_path(const std::string& given);

// Whether BELLWETHER_NO_STORE says that runs are not stored.
bool is_store_off();

// A run, and its store.
struct StoredRun {
  results::Store store;
  results::Run run;
};
// By the name of a run (load/results/store.h), or of an exported file: then the newest in it.
Result<StoredRun> open_run(const std::string& name, const std::string& store);

// The result file of a stored run, or the content of a result file.
Result<std::string> document_of(const std::string& name, const std::string& store);

}  // namespace bellwether::cli

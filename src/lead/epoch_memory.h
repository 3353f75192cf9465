// The highest epoch that this machine has ever seen of a key, kept over restarts, so that a store which comes back with
// less than it had is noticed by everybody who was there. A file for each store and key in one folder.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/runtime/runtime.h"
#include "election/epoch.h"

namespace bellwether::lead {

class EpochMemory {
 public:
  // `folder` is made at the first save. `store` is LeaseStore::describe().
  EpochMemory(runtime::Runtime& runtime, std::string folder, const std::string& store, const std::string& key);

  // 0 when nothing was kept. kInvalid when what was kept is damaged.
  runtime::task<Result<election::Epoch>> load();
  // Durable when it has succeeded. Calls do not overlap.
  runtime::task<Status> save(election::Epoch epoch);
  // As if this machine had never seen the key.
  runtime::task<Status> forget();
  const std::string& path() const { return path_; }

 private:
  runtime::Runtime& runtime_;
  std::string folder_;
  std::string path_;
};

// $XDG_STATE_HOME/bellwether/epochs, or that below ~/.local/state; empty without a home.
std::string default_epoch_folder();

}  // namespace bellwether::lead

// Leases in a JSON file that other programs read and write too (`file:PATH`), or in a file for each key of a folder
// (`file:FOLDER/`). Beside each lease file stand `.lock`, which is what we lock and nobody ever removes, and `.epoch`,
// which keeps the highest epoch whatever happens to the lease file.
#pragma once

#include <memory>
#include <string>

#include "store/file/lease_file.h"
#include "store/lease_store.h"
#include "store/store_url.h"

namespace bellwether::store {

struct LeaseFileOptions {
  LeaseFileRulesOptions rules;
  std::string path;     // of the file, or of the folder without the slash at its end
  bool folder = false;  // a file for each key; else there is one key, "default", which the name of the file means too
};

Result<LeaseFileOptions> lease_file_options(StoreUrl url);
runtime::task<Result<std::unique_ptr<LeaseStore>>> open_lease_file_store(runtime::Runtime& runtime,
                                                                         LeaseFileOptions options);

}  // namespace bellwether::store

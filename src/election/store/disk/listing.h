// The keys of a folder that has a file for each, and what is to be known of a folder before it is used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "election/store/lease_store.h"

namespace bellwether::store {

struct FolderOfKeys {
  std::string path;
  std::string_view claim_ending;   // of the files that hold the claims
  std::string_view ledger_ending;  // of the files of ours beside them, which know keys that are no names
};

// As LeaseStore::list(). A key that cannot be looked at is listed with the reason as its evidence. No folder, no keys.
runtime::task<Result<std::vector<ListedKey>>> list_keys(runtime::Runtime& runtime, LeaseStore& store,
                                                        FolderOfKeys folder, std::string prefix, std::size_t most,
                                                        Instant deadline, runtime::Cancellation* cancel);

// The kind of network file system that a path is on, or will be on once it is made; empty for a disk of this host.
runtime::task<Result<std::string>> network_file_system_of(runtime::Runtime& runtime, std::string path);

}  // namespace bellwether::store

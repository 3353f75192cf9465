// Leases among the processes of one host: a lock file for each key in a folder (`flock:DIRECTORY`), which other
// programs can share (profile nip-le). The kernel's lock on the file orders the changes; who holds the key stands in
// the file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "store/environment.h"
#include "store/host/host_claim.h"
#include "store/host/instance_id.h"
#include "store/lease_store.h"
#include "store/store_url.h"

namespace bellwether::store {

struct HostStoreOptions {
  HostRulesOptions rules;
  std::string folder;
  bool allow_network = false;
};

// What the URL says. Without a folder: $XDG_STATE_HOME/bellwether/locks, or ~/.buzz/leader-locks in the profile nip-le.
Result<HostStoreOptions> host_store_options(StoreUrl url, Environment environment);
// Whether this is the URL of a host lock in the profile nip-le.
bool is_nip_le(std::string_view url);
// Refuses a folder on a network file system, unless that is allowed. Makes nothing yet.
runtime::task<Result<std::unique_ptr<LeaseStore>>> open_host_store(runtime::Runtime& runtime, HostStoreOptions options);

}  // namespace bellwether::store

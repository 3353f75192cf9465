// From a URL to a store.
#pragma once

#include <memory>
#include <string_view>

#include "core/base/result.h"
#include "election/store/lease_store.h"

namespace bellwether::store {

// How long a lease in this store is when nobody says: 15 s; of a host lock, where it only bounds how long a holder may
// be silent, 10 s or twice the refresh of its profile.
Duration usual_lease(std::string_view url);

// Fails when the URL is wrong, or when what it names cannot work (a lock directory on a network file system, a file of
// credentials that cannot be read). Does not talk to a server yet. `runtime` must outlive the store.
runtime::task<Result<std::unique_ptr<LeaseStore>>> open_store(runtime::Runtime& runtime, std::string url);

}  // namespace bellwether::store

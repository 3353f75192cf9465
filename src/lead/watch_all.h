// Watches all keys of a store at once and tells each change of holder: one listing a round, a few hundred bytes a key.
#pragma once

#include <string>

#include "core/journal/journal.h"
#include "core/runtime/epoll_runtime.h"
#include "election/store/lease_store.h"

namespace bellwether::lead {

struct WatchAllOptions {
  std::string prefix;  // only keys that begin so
  Duration every = Duration::seconds(1);
  Duration timeout = Duration::seconds(5);
  std::size_t most = 1'000'000;
};

// Until SIGINT or SIGTERM. A listing that fails is told once, and tried again.
runtime::task<void> watch_all(runtime::EpollRuntime& runtime, store::LeaseStore& store, WatchAllOptions options,
                              Journal& journal);

}  // namespace bellwether::lead

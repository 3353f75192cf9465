#include "cli/seen_lease.h"

#include <utility>

#include "election/store/open_store.h"

namespace bellwether::cli {

runtime::task<Result<election::Observation>> look_at_lease(runtime::Runtime& runtime, std::string url, std::string key,
                                                           Duration timeout) {
  BW_CO_TRY(auto store, co_await store::open_store(runtime, std::move(url)));
  BW_CO_TRY(auto opened, store->open(std::move(key)));
  const Instant deadline = runtime.read_clock() + timeout;
  auto seen = co_await opened->look(deadline, nullptr);
  co_return seen;
}

}  // namespace bellwether::cli

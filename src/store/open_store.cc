#include "store/open_store.h"

#include <utility>

#include "store/memory/memory_store.h"
#include "store/store_url.h"

namespace bellwether::store {
namespace {

Result<std::unique_ptr<LeaseStore>> open_memory(runtime::Runtime& runtime, const StoreUrl& url) {
  if (const auto wrong = url.nothing_left(""); !wrong) return tl::unexpected(wrong.error());
  return std::make_unique<MemoryStore>(runtime, MemoryStore::named(url.path));
}

}  // namespace

runtime::task<Result<std::unique_ptr<LeaseStore>>> open_store(runtime::Runtime& runtime, std::string text) {
  auto url = parse_store_url(text);
  if (!url) co_return tl::unexpected(url.error());
  if (url->scheme == "memory") co_return open_memory(runtime, *url);
  co_return fail(Errc::kUnsupported, text + ": this build has no store of the scheme '" + url->scheme + ":'");
}

}  // namespace bellwether::store

#include "jobs/dispatch/bundle_shelf.h"

#include <algorithm>
#include <utility>

namespace bellwether::dispatch {

Status BundleShelf::put(const std::string& hash, std::string bytes) {
  if (find(hash) != nullptr) return {};
  const std::size_t cost = bytes.size() + kOverhead;
  if (cost > bytes_most_) {
    return fail(Errc::kTooLarge, "a bundle of " + std::to_string(bytes.size()) + " bytes, of at most " +
                                     std::to_string(bytes_most_) + " that this worker keeps");
  }
  for (auto at = bundles_.end(); at != bundles_.begin() && bytes_ + cost > bytes_most_;) {
    --at;
    if (at->bytes.use_count() > 1) continue;
    bytes_ -= at->bytes->size() + kOverhead;
    at = bundles_.erase(at);
  }
  if (bytes_ + cost > bytes_most_) {
    return fail(Errc::kExhausted, "the bundles that are in use leave no room for another one");
  }
  bytes_ += cost;
  bundles_.push_front({hash, std::make_shared<const std::string>(std::move(bytes))});
  return {};
}

BundleShelf::Bytes BundleShelf::find(const std::string& hash) {
  const auto at = std::find_if(bundles_.begin(), bundles_.end(), [&](const Bundle& one) { return one.hash == hash; });
  if (at == bundles_.end()) return nullptr;
  bundles_.splice(bundles_.begin(), bundles_, at);
  return at->bytes;
}

}  // namespace bellwether::dispatch

#include "jobs/dispatch/worker_stock.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/check.h"

namespace bellwether::dispatch {

std::optional<std::vector<uint32_t>> WorkerCores::take(uint32_t cores, uint32_t parts, bool squeeze) {
  check(cores > 0 && parts > 0, "an assignment has parts, and runs on something");
  std::vector<uint32_t> chosen(parts_.size());
  std::iota(chosen.begin(), chosen.end(), 0);
  const auto fewer = [this](uint32_t a, uint32_t b) { return parts_[a] < parts_[b]; };
  std::stable_sort(chosen.begin(), chosen.end(), fewer);
  const std::size_t wanted = std::min(cores, parts);
  if (squeeze ? chosen.empty() : free() < wanted) return std::nullopt;
  std::size_t open = std::min(wanted, chosen.size());

  std::vector<uint32_t> taken;
  taken.reserve(parts);
  std::vector<uint32_t> own(parts_.size(), 0);  // of two equal cores, the one with fewer parts of this assignment wins
  for (uint32_t part = 0; part < parts; ++part) {
    const auto emptiest = [&] {
      return *std::min_element(
          chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(open),
          [&](uint32_t a, uint32_t b) { return std::pair(parts_[a], own[a]) < std::pair(parts_[b], own[b]); });
    };
    uint32_t core = emptiest();
    // The owner counts on the room of all cores.
    for (; squeeze && parts_[core] >= kMaxSqueezed && open < chosen.size(); core = emptiest()) ++open;
    ++parts_[core];
    ++own[core];
    taken.push_back(core);
    if (!squeeze || parts_[core] <= kMaxSqueezed) continue;
    give_back(taken);
    return std::nullopt;
  }
  return taken;
}

void WorkerCores::give_back(const std::vector<uint32_t>& core_of_part) {
  for (const uint32_t core : core_of_part) {
    check(parts_.at(core) > 0, "a core is given back once for each part");
    --parts_[core];
  }
}

uint32_t WorkerCores::free() const { return static_cast<uint32_t>(std::count(parts_.begin(), parts_.end(), 0U)); }

Status BundleStore::put(const std::string& hash, std::string bytes) {
  if (find(hash) != nullptr) return {};
  const std::size_t cost = bytes.size() + kOverhead;
  if (cost > bytes_most_) {
    return fail(Errc::kTooLarge, "the bundle has {} bytes; this worker keeps at most {}", bytes.size(), bytes_most_);
  }
  for (auto at = bundles_.end(); at != bundles_.begin() && bytes_ + cost > bytes_most_;) {
    --at;
    if (at->bytes.use_count() > 1) continue;
    bytes_ -= at->bytes->size() + kOverhead;
    at = bundles_.erase(at);
  }
  if (bytes_ + cost > bytes_most_) {
    return fail(Errc::kExhausted, "bundles in use leave no room for another one");
  }
  bytes_ += cost;
  bundles_.push_front({hash, std::make_shared<const std::string>(std::move(bytes))});
  return {};
}

BundleStore::Bytes BundleStore::find(const std::string& hash) {
  const auto at = std::find_if(bundles_.begin(), bundles_.end(), [&](const Bundle& one) { return one.hash == hash; });
  if (at == bundles_.end()) return nullptr;
  bundles_.splice(bundles_.begin(), bundles_, at);
  return at->bytes;
}

}  // namespace bellwether::dispatch

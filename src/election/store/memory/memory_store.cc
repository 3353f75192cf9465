#include "election/store/memory/memory_store.h"

#include <utility>

namespace bellwether::store {
namespace {

class MemoryKey final : public StoreKey {
 public:
  MemoryKey(runtime::Runtime& runtime, std::shared_ptr<Memory> memory, std::string key)
      : runtime_(runtime), memory_(std::move(memory)), key_(std::move(key)) {}

  runtime::task<Result<election::Observation>> look(Instant, runtime::Cancellation*) override {
    co_return memory_->look(key_);
  }
  runtime::task<Result<election::WriteOutcome>> act(election::WriteRequest request, Instant,
                                                    runtime::Cancellation*) override {
    co_return memory_->act(key_, request, runtime_.wall_now());
  }
  runtime::task<bool> changed(runtime::Cancellation*) override { co_return false; }

 private:
  runtime::Runtime& runtime_;
  std::shared_ptr<Memory> memory_;
  std::string key_;
};

}  // namespace

election::Observation Memory::look(const std::string& key) const {
  election::Observation seen;
  const auto found = keys_.find(key);
  if (found == keys_.end()) return seen;
  seen.present = true;
  seen.record = found->second.record;
  seen.version = std::to_string(found->second.version);
  return seen;
}

election::WriteOutcome Memory::act(const std::string& key, const election::WriteRequest& request, WallTime now) {
  election::WriteOutcome outcome;
  if (look(key).version == request.expected) {
    Entry& entry = keys_[key];
    const WallTime acquired = entry.record.acquired_at;
    entry.record = request.record;
    entry.record.acquired_at = request.kind == election::WriteRequest::Kind::kTake ? now : acquired;
    entry.record.renewed_at = now;
    entry.version = next_version_++;
    outcome.applied = true;
  }
  outcome.after = look(key);
  return outcome;
}

std::shared_ptr<Memory> MemoryStore::named(const std::string& name) {
  static thread_local std::map<std::string, std::shared_ptr<Memory>> memories;
  std::shared_ptr<Memory>& memory = memories[name];
  if (memory == nullptr) memory = std::make_shared<Memory>();
  return memory;
}

Result<std::unique_ptr<StoreKey>> MemoryStore::open(std::string key) {
  if (key.empty()) return fail(Errc::kInvalid, "a key must have at least one byte");
  return std::make_unique<MemoryKey>(runtime_, memory_, std::move(key));
}

runtime::task<Result<std::vector<ListedKey>>> MemoryStore::list(std::string prefix, std::size_t most, Instant,
                                                                runtime::Cancellation*) {
  std::vector<ListedKey> found;
  for (auto at = memory_->keys_.lower_bound(prefix); at != memory_->keys_.end() && found.size() < most; ++at) {
    if (!at->first.starts_with(prefix)) break;
    found.push_back({at->first, memory_->look(at->first)});
  }
  co_return found;
}

}  // namespace bellwether::store

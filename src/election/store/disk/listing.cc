#include "election/store/disk/listing.h"

#include <algorithm>
#include <utility>

#include "election/store/disk/key_file.h"
#include "election/store/disk/key_ledger.h"
#include "election/store/disk/small_file.h"

namespace bellwether::store {
namespace {

using runtime::Cancellation;
using runtime::Runtime;
using runtime::task;

// The key of a claim's file; the name itself when nothing tells.
task<std::string> key_of(Runtime& runtime, const FolderOfKeys& folder, std::string name) {
  if (auto key = key_of_file_name(name)) co_return std::move(*key);
  const std::string path = folder.path + "/" + name + std::string(folder.ledger_ending);
  const auto text = co_await read_text(runtime, path);
  const auto ledger = text ? read_ledger(text->text) : tl::unexpected(text.error());
  co_return ledger ? ledger->key : name;
}

task<ListedKey> look_at(LeaseStore& store, std::string key, Instant deadline, Cancellation* cancel) {
  ListedKey listed{key, {}};
  const auto opened = store.open(std::move(key));
  Result<election::Observation> seen = fail(Errc::kInvalid, opened ? std::string() : opened.error().message);
  if (opened) seen = co_await (*opened)->look(deadline, cancel);
  if (seen) {
    listed.seen = std::move(*seen);
  } else {
    listed.seen.evidence = seen.error().message;
  }
  co_return listed;
}

}  // namespace

task<Result<std::vector<ListedKey>>> list_keys(Runtime& runtime, LeaseStore& store, FolderOfKeys folder,
                                               std::string prefix, std::size_t most, Instant deadline,
                                               Cancellation* cancel) {
  const auto names = co_await runtime.list_directory(folder.path);
  if (!names && names.error().code == Errc::kNotFound) co_return std::vector<ListedKey>();
  if (!names) co_return tl::unexpected(names.error());
  std::vector<std::string> keys;
  for (const std::string& name : *names) {
    if (!name.ends_with(folder.claim_ending) || name.starts_with('.')) continue;
    std::string base = name.substr(0, name.size() - folder.claim_ending.size());
    std::string key = co_await key_of(runtime, folder, std::move(base));
    if (key.starts_with(prefix)) keys.push_back(std::move(key));
  }
  std::sort(keys.begin(), keys.end());
  if (keys.size() > most) keys.resize(most);
  std::vector<ListedKey> listed;
  for (std::string& key : keys) {
    if (runtime.now() >= deadline) co_return fail(Errc::kTimeout, "looking at the keys in '" + folder.path + "'");
    ListedKey one = co_await look_at(store, std::move(key), deadline, cancel);
    listed.push_back(std::move(one));
  }
  co_return listed;
}

task<Result<std::string>> network_file_system_of(Runtime& runtime, std::string path) {
  while (true) {
    auto kind = co_await runtime.network_file_system(path);
    const std::string above = folder_of(path);
    if (kind || kind.error().code != Errc::kNotFound || above == path) co_return kind;
    path = above;
  }
}

}  // namespace bellwether::store

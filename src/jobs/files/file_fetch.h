// Fetches data files from managers into the store of this node: each once, for all assignments. A fetch goes on from
// the bytes that are here: with another manager when one fails, and when somebody wants the file again later. It ends
// when nobody has asked for the file for a minute. One thread, that of its runtime.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/net/peer_links.h"
#include "core/base/file_ref.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/scope.h"
#include "jobs/files/file_store.h"

namespace bellwether::node {

class FileFetches {
 public:
  static constexpr Duration kMaxStill = Duration::seconds(30);    // without a byte: the fetch fails
  static constexpr Duration kMaxUnwanted = Duration::minutes(1);  // without want(): it ends
  static constexpr int kMaxDamaged = 3;                           // copies whose bytes do not have the hash

  // All must outlive it.
  FileFetches(runtime::Runtime& runtime, cluster::PeerLinks& links, FileStore& store)
      : runtime_(runtime), links_(links), store_(store) {}
  FileFetches(const FileFetches&) = delete;
  FileFetches& operator=(const FileFetches&) = delete;

  // The bytes of it that are here; the file is whole when they are all. Begins to fetch what is missing from these
  // managers, the first of which is asked first, or goes on. Error: why the last fetch failed; the next call begins
  // again.
  Result<uint64_t> want(const FileRef& file, std::vector<cluster::PeerAddress> from);
  // Ends all fetches. Before it is destroyed.
  runtime::task<void> close();

 private:
  struct Fetch {
    FileRef file;
    std::vector<cluster::PeerAddress> from;
    Instant wanted;
    std::optional<Error> failed;
  };
  static runtime::task<void> run(FileFetches* self, std::shared_ptr<Fetch> fetch);
  runtime::task<Status> fetch_all(std::shared_ptr<Fetch> fetch);
  runtime::task<Result<std::string>> fetch_chunk(FileRef file, cluster::PeerAddress from, uint64_t offset);

  runtime::Runtime& runtime_;
  cluster::PeerLinks& links_;
  FileStore& store_;
  std::map<std::string, std::shared_ptr<Fetch>> fetches_;  // by hash; those that failed until somebody has heard of it
  runtime::Scope scope_;                                   // last: its coroutines use everything above
};

}  // namespace bellwether::node

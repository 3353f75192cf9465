// Data files of jobs on the disk of a node, by content: FOLDER/SHA256. An incomplete file is FOLDER/SHA256.part. Bytes
// are appended in order. After the last ones the store syncs the file, checks its hash, and renames it. So a file under
// its hash is complete, also after a crash of the machine. The total size is limited: the least recently used file
// makes room.
//
// One thread, that of its runtime. The disk works beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/net/peer_links.h"
#include "core/base/hash.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/runtime.h"
#include "core/runtime/scope.h"

namespace bellwether::node {

struct FileStoreSettings {
  std::string folder;                      // empty: the node keeps no files
  uint64_t bytes_most = 0;                 // of all files, whole or not
  Duration in_use = Duration::minutes(2);  // a file is not evicted for this time after its last use
  Duration remember = Duration::hours(1);  // sweep() removes a file this time after its last use
};

class FileStore {
 public:
  FileStore(runtime::Runtime& runtime, FileStoreSettings settings)
      : runtime_(runtime), settings_(std::move(settings)) {}
  FileStore(const FileStore&) = delete;
  FileStore& operator=(const FileStore&) = delete;

  // Call it once, before all others. Finds the files of an earlier process, and removes incomplete ones and those
  // beyond the limit.
  runtime::task<Status> open();

  // The number of bytes, from the beginning, that are here. Counts as a use of the file.
  uint64_t have(const FileRef& file);
  bool is_whole(const FileRef& file);
  std::string path(const FileRef& file) const { return settings_.folder + "/" + file.sha256; }
  // Appends bytes if `offset` is the number of bytes that are here. Returns the number that is here afterwards. Errors:
  //   kExhausted    another append of this file is in progress
  //   kNoSpace      no room; with the sizes and the remedy
  //   kProtocol     the complete file has another hash; it is removed
  //   kInvalid      bytes beyond the end of the file
  //   kUnsupported  the node keeps no files
  //   of the disk   the file is removed
  runtime::task<Result<uint64_t>> append(FileRef file, uint64_t offset, std::string bytes);
  // Up to `most` bytes from `offset`; empty if they are not here yet. kNotFound: nothing of the file is here.
  runtime::task<Result<std::string>> read(FileRef file, uint64_t offset, std::size_t most);
  // Removes the files that were not used for `remember`.
  runtime::task<void> sweep();

  uint64_t bytes() const { return bytes_; }
  uint64_t received() const { return received_; }  // by append(), in total
  uint64_t sent() const { return sent_; }          // by read()

 private:
  struct Entry {
    FileRef file;
    uint64_t have = 0;
    uint64_t unsynced = 0;
    Instant used;
    bool busy = false;
    bool whole = false;
    std::unique_ptr<runtime::File> open;  // while it is not whole
    Sha256 sum;
  };
  using EntryPtr = std::shared_ptr<Entry>;

  Entry* find(const FileRef& file);
  bool make_room(uint64_t most, Duration in_use, std::vector<EntryPtr>& displaced);
  Result<EntryPtr> make(const FileRef& file, std::vector<EntryPtr>& displaced);
  runtime::task<Status> write(EntryPtr entry, std::string bytes);
  runtime::task<Status> complete(EntryPtr entry);
  runtime::task<void> remove(EntryPtr entry);
  EntryPtr take_out(std::map<std::string, EntryPtr>::iterator at);
  std::string place_of(const Entry& entry) const { return path(entry.file) + (entry.whole ? "" : ".part"); }

  runtime::Runtime& runtime_;
  FileStoreSettings settings_;
  std::map<std::string, EntryPtr> entries_;  // by hash
  uint64_t bytes_ = 0;                       // that they have or will have
  uint64_t received_ = 0;
  uint64_t sent_ = 0;
};

// Fetches data files from managers into the store of this node: each once, for all assignments. A fetch goes on from
// the bytes that are here, also with another manager after a failure, and after an end. It ends a minute after the last
// want(). One thread, that of its runtime.
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

  // Returns the number of bytes that are here; the file is complete when it is `file.size`. Starts or continues the
  // fetch of the rest from the managers `from`, in this order. Error: the failure of the last fetch; the next call
  // starts again.
  Result<uint64_t> want(const FileRef& file, std::vector<cluster::PeerAddress> from);
  // Ends all fetches. Await it before destruction.
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
  std::map<std::string, std::shared_ptr<Fetch>> fetches_;  // by hash; failed ones until want() has returned the error
  runtime::Scope scope_;                                   // last: its coroutines use everything above
};

}  // namespace bellwether::node

// Reads and writes files of a few kilobytes in one piece, for the stores on disks. Errors name the file and, if one
// exists, the remedy.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/runtime/runtime.h"
#include "election/store/lease_store.h"

namespace bellwether::store {

struct FileText {
  bool present = false;
  bool too_long = false;  // over 64 KiB: `text` is then only its beginning
  std::string text;
};

// Reads `path`, which must be a regular file or absent.
runtime::task<Result<FileText>> read_text(runtime::Runtime& runtime, std::string path);
runtime::task<Result<FileText>> read_text(runtime::File& file);

// Replaces the file at `path`, so that after a crash either the old text or the whole new one is there: writes the text
// to `path`.new, then renames it. REQUIRES the lock that guards `path`.
runtime::task<Status> write_beside(runtime::Runtime& runtime, std::string path, std::string text, uint32_t mode);
runtime::task<Status> put_in_place(runtime::Runtime& runtime, std::string path);

// Changes the text of an open file that must stay the same file because others lock it. A concurrent reader finds the
// old text, or the new one with blanks behind it, if it sees a single write in one piece.
runtime::task<Status> overwrite_text(runtime::File& file, std::string text);

// Opens `path` and takes its lock; ensures that the locked file is the one that others find there. kTimeout at
// `deadline`.
runtime::task<Result<std::unique_ptr<runtime::File>>> open_locked(runtime::Runtime& runtime, std::string path,
                                                                  runtime::OpenOptions options, Instant deadline);

// The folder of a path, as text.
std::string folder_of(const std::string& path);

// Keys as names of files. A key of plain letters, digits, dots, dashes and underscores is its own name, so that other
// programs and people find it; any other key becomes a readable beginning and its SHA-256.

// Fails for "", "." and "..", which no file can stand for. Never longer than 200 bytes, and different for different
// keys.
Result<std::string> file_name_of_key(std::string_view key);
// The key of such a name; nothing if the name has only its hash, or is not one of ours.
std::optional<std::string> key_of_file_name(std::string_view name);

// Any bytes as printable text without blanks: "a b" is "a%20b". percent_decoded() of core/base/encoding.h restores
// them.
std::string percent_encoded(std::string_view bytes);

// The keys of a folder with one file per key, and the facts about a folder before its use.
struct FolderOfKeys {
  std::string path;
  std::string_view claim_ending;   // of the files that hold the claims
  std::string_view ledger_ending;  // of the files of ours beside them, which know keys that are no names
};

// As LeaseStore::list(). A key that cannot be looked at is listed with the reason as its evidence. No folder, no keys.
runtime::task<Result<std::vector<ListedKey>>> list_keys(runtime::Runtime& runtime, LeaseStore& store,
                                                        FolderOfKeys folder, std::string prefix, std::size_t most,
                                                        Instant deadline, runtime::Cancellation* cancel);

// The kind of network file system that a path is on, or will be on once it is made; empty for a disk of this host.
runtime::task<Result<std::string>> network_file_system_of(runtime::Runtime& runtime, std::string path);

// Unreadable files are put aside for a later diagnosis, up to a limit.

inline constexpr std::size_t kMaxQuarantined = 8;

// Renames `path` to `path`.quarantine-TIME-N and removes the oldest of such files beyond the limit. REQUIRES the lock
// that guards `path`.
runtime::task<Status> put_aside(runtime::Runtime& runtime, std::string path);

// The same with a copy of the content, `text`; `path` itself stays, to be replaced in one step.
runtime::task<Status> copy_aside(runtime::Runtime& runtime, std::string path, std::string text);

}  // namespace bellwether::store

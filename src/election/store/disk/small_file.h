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

// What is at `path`, which must be a regular file or nothing.
runtime::task<Result<FileText>> read_text(runtime::Runtime& runtime, std::string path);
runtime::task<Result<FileText>> read_text(runtime::File& file);

// Replaces the file at `path`, so that after a crash either the old text or the whole new one is there: writes the text
// to `path`.new, then renames it. REQUIRES the lock that guards `path`.
runtime::task<Status> write_beside(runtime::Runtime& runtime, std::string path, std::string text, uint32_t mode);
runtime::task<Status> put_in_place(runtime::Runtime& runtime, std::string path);

// Changes what is in an open file, for files that must stay the same file because others lock it. Who reads meanwhile
// finds the old text, or the new one with blanks behind it, as far as a single write is seen in one piece.
runtime::task<Status> overwrite_text(runtime::File& file, std::string text);

// Opens `path` and takes its lock; sees to it that the file locked is the one that others find there. kTimeout at
// `deadline`.
runtime::task<Result<std::unique_ptr<runtime::File>>> open_locked(runtime::Runtime& runtime, std::string path,
                                                                  runtime::OpenOptions options, Instant deadline);

// The folder of a path, as text.
std::string folder_of(const std::string& path);

// Keys as names of files. A key of plain letters, digits, dots, dashes and underscores is its own name, so that other
// programs and people find it; any other one gets a readable beginning and the SHA-256 of the key.

// Fails for "", "." and "..", which no file can stand for. Never longer than 200 bytes, and different for different
// keys.
Result<std::string> file_name_of_key(std::string_view key);
// The key that such a name stands for; nothing when only its hash is in there, or when it is not a name from here.
std::optional<std::string> key_of_file_name(std::string_view name);

// Any bytes as printable text without blanks: "a b" is "a%20b". percent_decoded() of core/base/encoding.h gives them
// back.
std::string percent_encoded(std::string_view bytes);

// The keys of a folder that has a file for each, and what is to be known of a folder before it is used.
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

inline constexpr std::size_t kMostQuarantined = 8;

// Renames `path` to `path`.quarantine-TIME-N and removes the oldest of such files beyond the limit. REQUIRES the lock
// that guards `path`.
runtime::task<Status> put_aside(runtime::Runtime& runtime, std::string path);

// The same with a copy of what is in there, `text`; `path` itself stays, to be replaced in one step.
runtime::task<Status> copy_aside(runtime::Runtime& runtime, std::string path, std::string text);

}  // namespace bellwether::store

// Reading and writing files of a few kilobytes in one piece, as the stores on disks need it. Errors name the file and,
// where there is one, the remedy.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/runtime/runtime.h"

namespace bellwether::store {

struct FileText {
  bool present = false;
  bool too_long = false;  // over 64 KiB: `text` is then only its beginning
  std::string text;
};

// What is at `path`, which must be a regular file or nothing.
runtime::task<Result<FileText>> read_text(runtime::Runtime& runtime, std::string path);
runtime::task<Result<FileText>> read_text(runtime::File& file);

// Replacing what is at `path`, so that after a crash either the old text or the whole new one is there: the text is
// written to `path`.new first, then put in its place. For whoever has the lock that guards `path`.
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

}  // namespace bellwether::store

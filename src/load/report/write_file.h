// Writes a file so that a reader finds either the old content or the whole new one.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace bellwether::report {

// Replaces `path` by `content`: written beside it, synced, renamed, so that a failure leaves the old file unchanged. A
// path that is no regular file (a pipe, /dev/stdout) is written to directly; a symbolic link is followed. Errors:
// kNoSpace when the disk is full, kRefused without permission, kNotFound without the folder, else kIo; the message
// names the file and the remedy.
Status write_file(const std::string& path, std::string_view content);

// Whether write_file could write there now, without touching the file. The errors are those of write_file.
Status can_write_file(const std::string& path);

// Writes all of `content` to an open descriptor, which stays open. `name` stands in the message of an error; the
// errors are those of write_file.
Status write_to(int fd, std::string_view content, const std::string& name);

}  // namespace bellwether::report

#include "election/store/disk/small_file.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/probe.h"
#include "election/store/disk/disk_claim.h"

namespace bellwether::store {
namespace {

using runtime::File;
using runtime::OpenOptions;
using runtime::Runtime;
using runtime::task;

constexpr const char* kBeside = ".new";
// Each time somebody else replaced the file between our opening and our locking it.
constexpr int kMostReplacements = 100;

Error with_remedy(Error error) {
  switch (error.code) {
    case Errc::kRefused: error.message += "; this user needs the right to read and write there"; break;
    case Errc::kNoSpace: error.message += "; make room on that disk"; break;
    default: break;
  }
  return error;
}

tl::unexpected<Error> refused(Error error) { return tl::unexpected(with_remedy(std::move(error))); }

}  // namespace

task<Result<FileText>> read_text(File& file) {
  FileText found{.present = true, .too_long = false, .text = {}};
  std::vector<std::byte> buffer(kMostClaimBytes + 1);
  const auto size = co_await file.read_at(0, buffer);
  if (!size) co_return refused(size.error());
  found.too_long = *size > kMostClaimBytes;
  found.text = as_text(Bytes(buffer).first(std::min(*size, kMostClaimBytes)));
  co_return found;
}

task<Result<FileText>> read_text(Runtime& runtime, std::string path) {
  const OpenOptions options{.no_follow = true};
  auto opened = co_await runtime.open(std::move(path), options);
  if (!opened && opened.error().code == Errc::kNotFound) co_return FileText{};
  if (!opened) co_return refused(opened.error());
  auto found = co_await read_text(**opened);
  co_return found;
}

task<Status> write_beside(Runtime& runtime, std::string path, std::string text, uint32_t mode) {
  const OpenOptions options{.create = true, .truncate = true, .write = true, .no_follow = true, .mode = mode};
  const auto opened = co_await runtime.open(path + kBeside, options);
  if (!opened) co_return refused(opened.error());
  Status done = co_await (*opened)->write_at(0, as_bytes(text));
  if (!done) co_return refused(done.error());
  done = co_await (*opened)->sync();
  if (!done) co_return refused(done.error());
  co_return Status();
}

task<Status> put_in_place(Runtime& runtime, std::string path) {
  Status done = co_await runtime.rename(path + kBeside, path);
  if (!done) co_return refused(done.error());
  done = co_await runtime.sync_directory(folder_of(path));
  if (!done) co_return refused(done.error());
  co_return Status();
}

task<Status> overwrite_text(File& file, std::string text) {
  const auto before = file.size();
  if (!before) co_return refused(before.error());
  const std::size_t size = text.size();
  const bool shorter = size < *before;
  if (size > 0) {
    if (shorter) text.append(std::min<std::size_t>(*before, kMostClaimBytes) - std::min(size, kMostClaimBytes), ' ');
    const Status written = co_await file.write_at(0, as_bytes(text));
    if (!written) co_return refused(written.error());
  }
  if (shorter) {
    const Status cut = co_await file.truncate(size);
    if (!cut) co_return refused(cut.error());
  }
  const Status synced = co_await file.sync();
  if (!synced) co_return refused(synced.error());
  co_return Status();
}

task<Result<std::unique_ptr<File>>> open_locked(Runtime& runtime, std::string path, OpenOptions options,
                                                Instant deadline) {
  for (int i = 0; i < kMostReplacements; ++i) {
    auto opened = co_await runtime.open(path, options);
    if (!opened) co_return refused(opened.error());
    const Status locked = co_await (*opened)->lock(deadline, nullptr);
    if (!locked) co_return refused(locked.error());
    const auto same = co_await (*opened)->is_at(path);
    if (!same) co_return refused(same.error());
    if (*same) co_return std::move(*opened);
    BW_PROBE("store: a lock file was replaced while it was being locked");
  }
  co_return fail(Errc::kExhausted, "locking '" + path + "': some program replaces the file again and again");
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

}  // namespace bellwether::store

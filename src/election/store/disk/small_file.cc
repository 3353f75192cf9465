#include "election/store/disk/small_file.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/probe.h"
#include "core/base/units.h"
#include "election/store/disk/disk_claim.h"

namespace bellwether::store {
namespace {

using runtime::File;
using runtime::OpenOptions;
using runtime::Runtime;
using runtime::task;

constexpr const char* kBeside = ".new";
// Each time another process replaced the file between our opening and our locking it.
constexpr int kMaxReplacements = 100;

Error with_remedy(Error error) {
  switch (error.code) {
    case Errc::kRefused: error.message += "; this user needs the right to read and write there"; break;
    case Errc::kNoSpace: error.message += "; free some space on that disk"; break;
    default: break;
  }
  return error;
}

tl::unexpected<Error> refused(Error error) { return tl::unexpected(with_remedy(std::move(error))); }

constexpr std::size_t kLongestName = 200;
constexpr std::size_t kReadable = 40;
constexpr char kBeforeHash = '~';  // in no plain name, so that no plain key has the name of a hashed one

bool is_plain(char c) { return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_'; }

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.size() <= kLongestName && std::ranges::all_of(name, &is_plain);
}

using runtime::Cancellation;

// The key of a claim's file; the name itself if the key is unknown.
task<std::string> key_of(Runtime& runtime, const FolderOfKeys& folder, std::string name) {
  if (auto key = key_of_file_name(name)) co_return std::move(*key);
  const std::string path = fmt::format("{}/{}{}", folder.path, name, folder.ledger_ending);
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

constexpr uint32_t kCopyMode = 0600;

// "20260104T193220091Z": sorts as time passes.
std::string compact(WallTime time) {
  std::string text = format_wall(time);
  std::erase_if(text, [](char c) { return c == '-' || c == ':' || c == '.'; });
  return text;
}

// The destination of the file, and its present content.
struct Place {
  std::string target;
  std::vector<std::string> older;  // sorted by age
};

task<Result<Place>> find_place(runtime::Runtime& runtime, std::string path) {
  const std::string folder = folder_of(path);
  BW_CO_TRY(auto names, co_await runtime.list_directory(folder));
  const std::string prefix = path.substr(path.rfind('/') + 1) + ".quarantine-";
  std::erase_if(names, [&](const std::string& name) { return !name.starts_with(prefix) || name.ends_with(".new"); });
  Place place;
  std::string name;
  for (int n = 1; name.empty() || std::find(names.begin(), names.end(), name) != names.end(); ++n) {
    name = fmt::format("{}{}-{}", prefix, compact(runtime.wall_now()), n);
  }
  place.target = fmt::format("{}/{}", folder, name);
  for (const std::string& older : names) place.older.push_back(fmt::format("{}/{}", folder, older));
  co_return place;
}

task<Status> remove_oldest(runtime::Runtime& runtime, Place place) {
  for (std::size_t i = 0; i + kMaxQuarantined <= place.older.size(); ++i) {
    BW_CO_RETURN_IF_ERROR(co_await runtime.remove(place.older[i]));
  }
  co_return Status();
}

}  // namespace

task<Result<FileText>> read_text(File& file) {
  FileText found{.present = true, .too_long = false, .text = {}};
  std::vector<std::byte> buffer(kMaxClaimBytes + 1);
  const auto size = co_await file.read_at(0, buffer);
  if (!size) co_return refused(size.error());
  found.too_long = *size > kMaxClaimBytes;
  found.text = as_text(Bytes(buffer).first(std::min(*size, kMaxClaimBytes)));
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
    if (shorter) text.append(std::min<std::size_t>(*before, kMaxClaimBytes) - std::min(size, kMaxClaimBytes), ' ');
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
  for (int i = 0; i < kMaxReplacements; ++i) {
    auto opened = co_await runtime.open(path, options);
    if (!opened) co_return refused(opened.error());
    const Status locked = co_await (*opened)->lock(deadline, nullptr);
    if (!locked) co_return refused(locked.error());
    const auto same = co_await (*opened)->is_at(path);
    if (!same) co_return refused(same.error());
    if (*same) co_return std::move(*opened);
    BW_PROBE("store: a lock file was replaced while it was being locked");
  }
  co_return fail(Errc::kExhausted, "locking '{}': another program keeps replacing the file", path);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

Result<std::string> file_name_of_key(std::string_view key) {
  if (key.empty() || key == "." || key == "..") {
    return fail(Errc::kInvalid, "'{}' cannot be a key in this store, which names a file after each key", key);
  }
  if (is_plain_name(key)) return std::string(key);
  std::string name;
  for (const char c : key.substr(0, kReadable)) name.push_back(is_plain(c) ? c : '_');
  if (name.front() == '.') name.front() = '_';
  return name + kBeforeHash + sha256_hex(key);
}

std::optional<std::string> key_of_file_name(std::string_view name) {
  if (!is_plain_name(name)) return std::nullopt;
  return std::string(name);
}

std::string percent_encoded(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (c > ' ' && c < 0x7f && c != '%') {
      text.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text += {'%', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
  }
  return text;
}

task<Result<std::vector<ListedKey>>> list_keys(Runtime& runtime, LeaseStore& store, FolderOfKeys folder,
                                               std::string prefix, std::size_t most, Instant deadline,
                                               Cancellation* cancel) {
  auto found = co_await runtime.list_directory(folder.path);
  if (!found && found.error().code == Errc::kNotFound) co_return std::vector<ListedKey>();
  BW_CO_TRY(const auto names, std::move(found));
  std::vector<std::string> keys;
  for (const std::string& name : names) {
    if (!name.ends_with(folder.claim_ending) || name.starts_with('.')) continue;
    std::string base = name.substr(0, name.size() - folder.claim_ending.size());
    std::string key = co_await key_of(runtime, folder, std::move(base));
    if (key.starts_with(prefix)) keys.push_back(std::move(key));
  }
  std::sort(keys.begin(), keys.end());
  if (keys.size() > most) keys.resize(most);
  std::vector<ListedKey> listed;
  for (std::string& key : keys) {
    if (runtime.now() >= deadline) co_return fail(Errc::kTimeout, "listing the keys in '{}' timed out", folder.path);
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

task<Status> put_aside(runtime::Runtime& runtime, std::string path) {
  BW_PROBE("store: a file is put aside");
  BW_CO_TRY(auto place, co_await find_place(runtime, path));
  Status done = co_await runtime.rename(std::move(path), place.target);
  if (!done) co_return done;
  done = co_await remove_oldest(runtime, std::move(place));
  co_return done;
}

task<Status> copy_aside(runtime::Runtime& runtime, std::string path, std::string text) {
  BW_CO_TRY(auto place, co_await find_place(runtime, std::move(path)));
  Status done = co_await write_beside(runtime, place.target, std::move(text), kCopyMode);
  if (done) done = co_await put_in_place(runtime, place.target);
  if (!done) co_return done;
  done = co_await remove_oldest(runtime, std::move(place));
  co_return done;
}

}  // namespace bellwether::store

#include "jobs/files/file_store.h"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include "cluster/net/message_classes.h"
#include "core/base/bytes.h"
#include "core/base/units.h"
#include "jobs/dispatch/codec/messages_codec.h"

namespace bellwether::node {
namespace {

using runtime::task;

// Then the sync at the end takes no longer than an answer may.
constexpr uint64_t kMaxUnsynced = uint64_t{32} << 20;
constexpr std::string_view kPart = ".part";

std::string size_text(uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

}  // namespace

task<Status> FileStore::open() {
  if (settings_.folder.empty()) co_return Status{};
  auto names = co_await runtime_.list_directory(settings_.folder);
  if (!names && names.error().code == Errc::kNotFound) co_return Status{};
  if (!names) co_return tl::unexpected(names.error());
  for (const std::string& name : *names) {
    const std::string place = settings_.folder + "/" + name;
    if (name.ends_with(kPart)) {
      BW_CO_RETURN_IF_ERROR(co_await runtime_.remove(place));
      continue;
    }
    if (!is_sha256_hex(name)) continue;
    BW_CO_TRY(const auto file, co_await runtime_.open(place, {.no_follow = true}));
    BW_CO_TRY(const uint64_t size, file->size());
    auto entry = std::make_shared<Entry>();
    entry->file = {name, size};
    entry->have = size;
    entry->whole = true;
    entry->used = runtime_.now();
    bytes_ += size;
    entries_[name] = std::move(entry);
  }
  // The limit may be lower than in that life.
  std::vector<EntryPtr> displaced;
  static_cast<void>(make_room(settings_.bytes_most, Duration::zero(), displaced));
  for (EntryPtr& one : displaced) co_await remove(std::move(one));
  co_return Status{};
}

FileStore::Entry* FileStore::find(const FileRef& file) {
  const auto at = entries_.find(file.sha256);
  if (at == entries_.end() || at->second->file != file) return nullptr;
  at->second->used = runtime_.now();
  return at->second.get();
}

uint64_t FileStore::have(const FileRef& file) {
  const Entry* const entry = find(file);
  return entry == nullptr ? 0 : entry->have;
}

bool FileStore::is_whole(const FileRef& file) {
  const Entry* const entry = find(file);
  return entry != nullptr && entry->whole;
}

FileStore::EntryPtr FileStore::take_out(std::map<std::string, EntryPtr>::iterator at) {
  EntryPtr entry = std::move(at->second);
  entries_.erase(at);
  bytes_ -= entry->file.size;
  return entry;
}

// Takes out those that were used least recently until at most `most` are left; none of them if that is not enough.
bool FileStore::make_room(uint64_t most, Duration in_use, std::vector<EntryPtr>& displaced) {
  const Instant now = runtime_.now();
  std::vector<std::map<std::string, EntryPtr>::iterator> idle;
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    if (!at->second->busy && now - at->second->used >= in_use) idle.push_back(at);
  }
  std::sort(idle.begin(), idle.end(), [](auto a, auto b) { return a->second->used < b->second->used; });
  uint64_t left = bytes_;
  std::size_t count = 0;
  for (; count < idle.size() && left > most; ++count) left -= idle[count]->second->file.size;
  if (left > most) return false;
  for (std::size_t i = 0; i < count; ++i) displaced.push_back(take_out(idle[i]));
  return true;
}

// Its place among the others, and those that must go for it.
Result<FileStore::EntryPtr> FileStore::make(const FileRef& file, std::vector<EntryPtr>& displaced) {
  if (settings_.folder.empty()) {
    return fail(Errc::kUnsupported, "this node has no folder for data files: set 'data' in its settings");
  }
  if (!is_sha256_hex(file.sha256) || file.size == 0) return fail(Errc::kInvalid, "this is no hash of a file");
  if (entries_.contains(file.sha256)) return fail(Errc::kInvalid, "a file with this hash has another size");
  if (file.size > settings_.bytes_most || !make_room(settings_.bytes_most - file.size, settings_.in_use, displaced)) {
    return fail(Errc::kNoSpace,
                "the file has {}, and this node keeps at most {} of data files, of which {} are in use; end jobs that "
                "use others, or remove columns or rows that the run does not need",
                size_text(file.size), size_text(settings_.bytes_most), size_text(bytes_));
  }
  auto entry = std::make_shared<Entry>();
  entry->file = file;
  entry->used = runtime_.now();
  bytes_ += file.size;
  entries_[file.sha256] = entry;
  return entry;
}

task<Result<uint64_t>> FileStore::append(FileRef file, uint64_t offset, std::string bytes) {
  if (find(file) == nullptr) {
    if (offset != 0) co_return 0;
    std::vector<EntryPtr> displaced;
    const Result<EntryPtr> made = make(file, displaced);
    for (EntryPtr& one : displaced) co_await remove(std::move(one));
    if (!made) co_return tl::unexpected(made.error());
  }
  const auto at = entries_.find(file.sha256);
  if (at == entries_.end()) co_return 0;  // it has made room for another one meanwhile
  const EntryPtr entry = at->second;
  if (entry->whole || bytes.empty() || offset != entry->have) co_return entry->have;
  if (entry->busy) co_return fail(Errc::kExhausted, "other bytes of this file are being written");
  if (bytes.size() > file.size - entry->have) co_return fail(Errc::kInvalid, "there are bytes beyond the file's end");
  const std::size_t count = bytes.size();
  entry->busy = true;
  const Status written = co_await write(entry, std::move(bytes));
  entry->busy = false;
  if (written) {
    received_ += count;
    co_return entry->have;
  }
  const auto there = entries_.find(file.sha256);
  if (there != entries_.end() && there->second == entry) take_out(there);
  co_await remove(entry);
  co_return fail(written.error().code, "the file ({}): {}", size_text(file.size), written.error().message);
}

task<Status> FileStore::write(EntryPtr entry, std::string bytes) {
  if (entry->open == nullptr) {
    BW_CO_RETURN_IF_ERROR(co_await runtime_.make_directory(settings_.folder, 0700));
    const runtime::OpenOptions options{
        .create = true, .truncate = true, .write = true, .no_follow = true, .mode = 0600};
    BW_CO_TRY(entry->open, co_await runtime_.open(place_of(*entry), options));
  }
  BW_CO_RETURN_IF_ERROR(co_await entry->open->write_at(entry->have, as_bytes(bytes)));
  entry->sum.add(bytes);
  entry->unsynced += bytes.size();
  const bool last = entry->have + bytes.size() == entry->file.size;
  if (last || entry->unsynced >= kMaxUnsynced) {
    BW_CO_RETURN_IF_ERROR(co_await entry->open->sync());
    entry->unsynced = 0;
  }
  entry->have += bytes.size();
  if (!last) co_return Status{};
  const Status done = co_await complete(entry);
  co_return done;
}

task<Status> FileStore::complete(EntryPtr entry) {
  entry->open.reset();
  if (entry->sum.hex() != entry->file.sha256) {
    co_return fail(Errc::kProtocol, "its bytes do not match its hash: it has changed since, or is damaged");
  }
  BW_CO_RETURN_IF_ERROR(co_await runtime_.rename(place_of(*entry), path(entry->file)));
  BW_CO_RETURN_IF_ERROR(co_await runtime_.sync_directory(settings_.folder));
  entry->whole = true;
  co_return Status{};
}

task<void> FileStore::remove(EntryPtr entry) {
  entry->open.reset();
  const Status removed = co_await runtime_.remove(place_of(*entry));
  static_cast<void>(removed);  // what stays on the disk goes at the next start, or is used again
}

task<Result<std::string>> FileStore::read(FileRef file, uint64_t offset, std::size_t most) {
  const Entry* const entry = find(file);
  if (entry == nullptr) co_return fail(Errc::kNotFound, "this node does not have the file");
  if (offset >= entry->have) co_return std::string();
  std::string bytes(std::min<uint64_t>(most, entry->have - offset), '\0');
  BW_CO_TRY(const auto from, co_await runtime_.open(place_of(*entry), {.no_follow = true}));
  BW_CO_TRY(const std::size_t got, co_await from->read_at(offset, std::as_writable_bytes(std::span(bytes))));
  bytes.resize(got);
  sent_ += got;
  co_return bytes;
}

task<void> FileStore::sweep() {
  std::vector<EntryPtr> old;
  const Instant now = runtime_.now();
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto next = std::next(at);
    if (!at->second->busy && now - at->second->used >= settings_.remember) old.push_back(take_out(at));
    at = next;
  }
  for (EntryPtr& one : old) co_await remove(std::move(one));
}

namespace {

using runtime::task;

constexpr Duration kMaxChunkAnswer = Duration::seconds(10);
constexpr Duration kFetchPause = Duration::millis(50);  // after all managers have been asked in vain

}  // namespace

Result<uint64_t> FileFetches::want(const FileRef& file, std::vector<cluster::PeerAddress> from) {
  if (store_.is_whole(file)) return file.size;
  const auto at = fetches_.find(file.sha256);
  if (at != fetches_.end() && at->second->failed) {
    Error why = std::move(*at->second->failed);
    fetches_.erase(at);
    return tl::unexpected(std::move(why));
  }
  if (at != fetches_.end()) {
    at->second->from = std::move(from);
    at->second->wanted = runtime_.now();
  } else {
    auto fetch = std::make_shared<Fetch>(Fetch{file, std::move(from), runtime_.now(), std::nullopt});
    fetches_[file.sha256] = fetch;
    scope_.spawn(run(this, std::move(fetch)));
  }
  return store_.have(file);
}

task<void> FileFetches::close() {
  scope_.cancel();
  co_await scope_.join();
}

task<void> FileFetches::run(FileFetches* self, std::shared_ptr<Fetch> fetch) {
  co_await self->runtime_.yield();  // want() has not returned yet
  const Status done = co_await self->fetch_all(fetch);
  if (!done && done.error().code != Errc::kCancelled) {
    fetch->failed = done.error();
    co_return;
  }
  self->fetches_.erase(fetch->file.sha256);
}

task<Status> FileFetches::fetch_all(std::shared_ptr<Fetch> fetch) {
  const FileRef file = fetch->file;
  runtime::Cancellation* const cancel = scope_.cancellation();
  Instant heard = runtime_.read_clock();
  std::size_t asked = 0;
  int damaged = 0;
  std::string last = "no manager is known";
  while (!cancel->cancelled()) {
    const Instant now = runtime_.read_clock();
    if (now - fetch->wanted >= kMaxUnwanted) co_return fail(Errc::kCancelled, "nobody wants it any more");
    if (now - heard >= kMaxStill) {
      co_return fail(Errc::kTimeout, "no manager has sent a byte of the data file {} for {}: {}",
                     file.sha256.substr(0, 12), format_duration(kMaxStill), last);
    }
    const std::size_t managers = fetch->from.size();
    if (managers > 0) {
      const cluster::PeerAddress from = fetch->from[asked % managers];
      const uint64_t offset = store_.have(file);
      auto chunk = co_await fetch_chunk(file, from, offset);
      if (chunk && !chunk->empty()) {
        const auto added = co_await store_.append(file, offset, std::move(*chunk));
        if (store_.is_whole(file)) co_return Status{};
        if (added) {
          heard = runtime_.read_clock();
          continue;
        }
        const bool is_damaged = added.error().code == Errc::kProtocol;
        damaged += is_damaged ? 1 : 0;
        if (damaged >= kMaxDamaged || (!is_damaged && added.error().code != Errc::kExhausted)) {
          co_return fail(added.error().code, "the data file {} cannot be stored: {}", file.sha256.substr(0, 12),
                         added.error().message);
        }
      }
      if (!chunk) last = fmt::format("'{}': {}", from.name, chunk.error().message);
      ++asked;
    }
    if (managers > 0 && asked % managers != 0) continue;
    co_await runtime_.sleep(kFetchPause, cancel);
  }
  co_return fail(Errc::kCancelled, "this node ends");
}

task<Result<std::string>> FileFetches::fetch_chunk(FileRef file, cluster::PeerAddress from, uint64_t offset) {
  std::string body = dispatch::encode(dispatch::JobMessage(dispatch::FetchFile{std::move(file), offset}));
  BW_CO_TRY(const auto answer,
            co_await links_.request(std::move(from), cluster::message_type::kDispatch, wire::Priority::kBulk,
                                    std::move(body), kMaxChunkAnswer, scope_.cancellation()));
  BW_CO_TRY(auto response, dispatch::decode_response(answer));
  if (auto* const chunk = std::get_if<dispatch::FileChunk>(&response)) co_return std::move(chunk->bytes);
  const auto* const refusal = std::get_if<dispatch::Refusal>(&response);
  co_return fail(Errc::kNotFound, refusal != nullptr ? refusal->why : "its answer does not match the request");
}

}  // namespace bellwether::node

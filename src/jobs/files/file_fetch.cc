#include "jobs/files/file_fetch.h"

#include <utility>
#include <variant>

#include "cluster/net/message_classes.h"
#include "core/base/units.h"
#include "jobs/dispatch/codec/messages_codec.h"

namespace bellwether::node {
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

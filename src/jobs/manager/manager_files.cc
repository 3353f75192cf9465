#include "jobs/manager/manager_files.h"

#include <algorithm>
#include <utility>

#include "core/base/units.h"

namespace bellwether::node {

using dispatch::FileState;
using dispatch::Refusal;
using dispatch::refusal;
using runtime::task;

namespace {

constexpr Duration kNeeded = Duration::minutes(1);        // since the last need()
constexpr Duration kSpreadAgain = Duration::millis(200);  // while a manager lacks it
constexpr Duration kRenewEvery = Duration::seconds(5);    // else
constexpr Duration kMaxKeepAnswer = Duration::seconds(2);
constexpr Duration kStoreAgain = Duration::millis(20);

// An error of the store to the sender of a chunk.
Refusal refusal_of(const Error& error) {
  if (error.code == Errc::kExhausted) return refusal(Refusal::Kind::kBusy, error.message, kStoreAgain);
  const bool passes = error.code == Errc::kIo;
  return refusal(passes ? Refusal::Kind::kUnavailable : Refusal::Kind::kInvalid, error.message);
}

}  // namespace

task<dispatch::Response> ManagerFiles::put(dispatch::PutFile message) {
  const FileRef file = message.file;
  const auto added = co_await store_.append(file, message.offset, std::move(message.bytes));
  if (!added) co_return refusal_of(added.error());
  copies_of(file);
  co_return FileState{*added, is_kept(file)};
}

dispatch::Response ManagerFiles::keep(const std::string& from, const dispatch::KeepFile& message) {
  const auto have = fetches_.want(message.file, others(from));
  if (!have) return refusal(Refusal::Kind::kUnavailable, have.error().message);
  return FileState{*have, false};
}

task<dispatch::Response> ManagerFiles::fetch(dispatch::FetchFile message) {
  auto bytes = co_await store_.read(std::move(message.file), message.offset, dispatch::kMaxFileChunk);
  if (!bytes) co_return refusal(Refusal::Kind::kUnknown, bytes.error().message);
  co_return dispatch::FileChunk{std::move(*bytes)};
}

ManagerFiles::Copies& ManagerFiles::copies_of(const FileRef& file) {
  const auto [at, is_new] = copies_.try_emplace(file.sha256);
  at->second.needed = runtime_.now();
  if (is_new) {
    at->second.file = file;
    scope_.spawn(spread(this, file));
  }
  return at->second;
}

bool ManagerFiles::is_kept(const FileRef& file) {
  const auto at = copies_.find(file.sha256);
  if (at == copies_.end()) return false;
  const std::vector<std::string> keepers = around_.keepers();
  const auto has = [&](const std::string& name) {
    return name == around_.self() ? store_.is_whole(file) : at->second.on.contains(name);
  };
  const auto with = static_cast<std::size_t>(std::count_if(keepers.begin(), keepers.end(), has));
  return store_.is_whole(file) && with * 2 > keepers.size();
}

Status ManagerFiles::kept(const std::vector<FileRef>& files) {
  for (const FileRef& file : files) {
    const Copies& copies = copies_of(file);
    need(file);
    if (is_kept(file)) continue;
    return fail(Errc::kNotFound, "a majority of the managers does not have the data file {} ({}) yet{}{}",
                file.sha256.substr(0, 12), format_bytes(static_cast<double>(file.size)), copies.why.empty() ? "" : ": ",
                copies.why);
  }
  return {};
}

std::vector<cluster::PeerAddress> ManagerFiles::others(const std::string& first) const {
  std::vector<cluster::PeerAddress> out;
  for (const std::string& name : around_.manager_names()) {
    if (name == around_.self()) continue;
    if (auto address = around_.find(name)) out.push_back(std::move(*address));
  }
  std::stable_partition(out.begin(), out.end(), [&](const auto& one) { return one.name == first; });
  return out;
}

task<void> ManagerFiles::spread(ManagerFiles* self, FileRef file) {
  runtime::Cancellation* const cancel = self->scope_.cancellation();
  co_await self->runtime_.yield();
  while (!cancel->cancelled()) {
    const Copies& copies = self->copies_[file.sha256];
    if (self->runtime_.now() - copies.needed >= kNeeded) break;
    std::string why;
    if (copies.by_job && !self->store_.is_whole(file)) {
      const auto have = self->fetches_.want(file, self->others({}));
      if (!have) why = have.error().message;
    }
    bool all = self->store_.is_whole(file);
    for (const std::string& keeper : self->around_.keepers()) {
      const auto at = self->around_.find(keeper);
      if (keeper == self->around_.self() || !at || self->around_.is_gone(keeper)) continue;
      dispatch::JobMessage message = dispatch::KeepFile{file};
      const auto answer = co_await ask(self->links_, *at, std::move(message), kMaxKeepAnswer, cancel);
      const auto* const state = answer ? std::get_if<FileState>(&*answer) : nullptr;
      std::set<std::string>& on = self->copies_[file.sha256].on;
      if (state != nullptr && state->have == file.size) {
        on.insert(keeper);
        continue;
      }
      on.erase(keeper);
      all = false;
      if (state == nullptr) why = fmt::format("'{}': {}", keeper, words_of(answer));
    }
    self->copies_[file.sha256].why = std::move(why);
    co_await self->runtime_.sleep(all ? kRenewEvery : kSpreadAgain, cancel);
  }
  self->copies_.erase(file.sha256);
}

task<void> ManagerFiles::close() {
  scope_.cancel();
  co_await scope_.join();
  co_await fetches_.close();
}

}  // namespace bellwether::node

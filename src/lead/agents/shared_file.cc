#include "lead/agents/shared_file.h"

#include <vector>

#include "core/base/bytes.h"
#include "core/base/probe.h"
#include "election/store/disk/small_file.h"
#include "election/store/file/quarantine.h"

namespace bellwether::lead {

using runtime::OpenOptions;
using runtime::task;

namespace {

// A program that writes in place is seen in the middle of it, once.
constexpr Duration kReadAgainAfter = Duration::millis(100);
constexpr uint32_t kMode = 0600;

// A disk that refuses says nothing about what the change asked for.
tl::unexpected<Error> of_the_disk(Error error) {
  switch (error.code) {
    case Errc::kRefused:
    case Errc::kNotFound:
    case Errc::kExists:
    case Errc::kInvalid: error.code = Errc::kIo; break;
    default: break;
  }
  return tl::unexpected(std::move(error));
}

}  // namespace

task<Result<std::optional<std::string>>> SharedFile::read() {
  const OpenOptions options{.no_follow = true};
  const auto opened = co_await runtime_.open(path_, options);
  if (!opened && opened.error().code == Errc::kNotFound) co_return std::nullopt;
  if (!opened) co_return of_the_disk(opened.error());
  const auto size = (*opened)->size();
  if (!size) co_return of_the_disk(size.error());
  if (*size > kBytesMax) co_return fail(Errc::kTooLarge, "'" + path_ + "' is larger than 256 MiB");
  std::vector<std::byte> buffer(*size);
  const auto count = co_await (*opened)->read_at(0, buffer);
  if (!count) co_return of_the_disk(count.error());
  co_return std::string(as_text(Bytes(buffer).first(*count)));
}

// What could not be understood is looked at once more, and then set aside or refused.
task<Result<std::string>> SharedFile::read_again_if_broken(FileChange& change, Result<std::string> made) {
  if (made || made.error().code != Errc::kProtocol) co_return made;
  co_await runtime_.sleep(kReadAgainAfter);
  BW_CO_TRY(const auto text, co_await read());
  made = change.apply(text);
  if (made || made.error().code != Errc::kProtocol) co_return made;
  if (when_broken_ == WhenBroken::kRefuse) {
    co_return fail(Errc::kProtocol, "'" + path_ + "': " + made.error().message +
                                        ". Nothing was changed: mend it, or move it away to begin anew");
  }
  BW_PROBE("lead: a file of agents is set aside");
  const std::string why = made.error().message;
  Status aside;
  if (when_broken_ == WhenBroken::kQuarantine) {
    aside = co_await store::put_aside(runtime_, path_);
  } else {
    aside = co_await store::copy_aside(runtime_, path_, text.value_or(std::string()));
  }
  if (!aside) co_return of_the_disk(aside.error());
  quarantined_ = true;
  co_return change.begin_anew(why);
}

task<Status> SharedFile::change(FileChange& change, Instant deadline) {
  const OpenOptions lock_options{.create = true, .write = true, .no_follow = true, .mode = kMode};
  const auto lock = co_await store::open_locked(runtime_, path_ + ".lock", lock_options, deadline);
  if (!lock) co_return of_the_disk(lock.error());
  BW_CO_TRY(const auto text, co_await read());
  Result<std::string> first = change.apply(text);
  BW_CO_TRY(const auto made, co_await read_again_if_broken(change, std::move(first)));
  if (made == text) {
    // Perhaps whoever wrote it died before it was safe; it must be, for this change builds on it.
    const Status safe = co_await runtime_.sync_directory(store::folder_of(path_));
    if (!safe) co_return of_the_disk(safe.error());
    co_return Status();
  }
  Status done = co_await store::write_beside(runtime_, path_, made, kMode);
  if (done) done = co_await store::put_in_place(runtime_, path_);
  if (!done) co_return of_the_disk(done.error());
  co_return Status();
}

}  // namespace bellwether::lead
